"""From a Spark session to Prometheus: nothing by hand in between."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from aqe_plugin.install.session_probe import events_folder, read_answer
from exporting import serve
from tests.deploy.prometheus_server import prometheus_server
from tests.extent import only_in_test_all

pytestmark = [pytest.mark.spark, only_in_test_all]


def test_what_a_session_decided_is_in_prometheus_two_scrapes_after_it(programs: Path, tmp_path: Path) -> None:
    events = events_folder(tmp_path)
    events.mkdir()
    (tmp_path / "prometheus").mkdir()
    with (
        serve(str(events), 0) as port,
        prometheus_server(programs, tmp_path / "prometheus", port) as server,
    ):
        server.wait_until("aqe_plugin_queries_total == 0")
        subprocess.run(
            [sys.executable, "-m", "aqe_plugin.install.session_probe", str(tmp_path)], check=True, timeout=180
        )
        ended = time.time()
        answer = read_answer(tmp_path)
        assert answer is not None
        assert (answer.error, answer.rows) == ("", 100)
        server.wait_until("aqe_plugin_queries_total > 0")
        # The samples as they were scraped: a subquery would see only those before its last whole second.
        scraped = server.query("aqe_plugin_queries_total[1m]")
        first = min(float(at) for series in scraped for at, value in series["values"] if float(value) > 0)
        # The test's Prometheus scrapes every second; the session may have been seen before its process was gone.
        assert first - ended < 2
        (decided,) = server.query('sum(aqe_plugin_application_join_decisions_total{application="aqe-plugin check"})')
        assert float(decided["value"][1]) >= 1
        assert server.query("sum(aqe_plugin_errors_total) == 0")
