"""Prometheus itself, and one server that watched the exporter while real event logs came in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from commands import answer
from exporting import serve
from samples import APPLICATION_START, LOG_START, OUTCOME, PASSED_ALL, decided, ended, inferred, limited, line
from tests.deploy.prometheus_server import PrometheusServer, prometheus_server
from tests.programs import program_of

__all__ = ["answer"]

_ROOT = Path(__file__).resolve().parents[2]
_RECORDED = Path(__file__).with_name("recorded") / "tpcds.zstd"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with prometheus and promtool; where there is none, the tests that ask it are skipped."""
    return program_of(_ROOT / "project" / "prometheus", os.environ)


@pytest.fixture(scope="session")
def watched(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """A Prometheus that scraped the exporter before, and after, event logs came into its folder.

    The logs: 8 TPC-DS queries as the plugin wrote them, and one made by hand with what goes wrong.
    """
    logs, data = tmp_path_factory.mktemp("logs"), tmp_path_factory.mktemp("prometheus")
    with (
        serve(str(logs), 0) as port,
        prometheus_server(programs, data, port) as server,
    ):
        recorded = zstandard.ZstdDecompressor().decompress(_RECORDED.read_bytes()).splitlines(keepends=True)
        faulty = replace(ended(2, (OUTCOME, PASSED_ALL)), planned=3, errors=1)
        by_hand = [LOG_START, APPLICATION_START, line(inferred(2)), line(limited(2)), line(decided(2)), line(faulty)]
        running = {logs / "local-1.inprogress": recorded, logs / "app-1.inprogress": by_hand}
        for log, lines in running.items():
            log.write_bytes(b"".join(lines[:2]))
        server.wait_until("aqe_plugin_applications_total == 2")
        for log, lines in running.items():
            log.write_bytes(b"".join(lines))
        # A rate needs two scrapes that saw a series.
        server.wait_until("count_over_time((aqe_plugin_queries_total == 9)[1m:1s]) >= 3")
        # Recording rules build on each other, one evaluation later.
        server.wait_until("job_application:aqe_plugin_query_seconds:mean6h > 0")
        yield server
