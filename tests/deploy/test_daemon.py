"""The daemon under a real Prometheus: a kill is nothing that a counter shows."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from daemons import daemon
from samples import log_bytes, query_lines
from tests.deploy.prometheus_server import prometheus_server

pytestmark = pytest.mark.process


def test_prometheus_sees_no_reset_over_a_kill_and_a_restart(programs: Path, tmp_path: Path) -> None:
    folder, checkpoint, data = (tmp_path / name for name in ("logs", "checkpoint.db", "prometheus"))
    folder.mkdir()
    data.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with prometheus_server(programs, data, port) as server:
        with daemon(folder, checkpoint, "--port", str(port)) as running:
            server.wait_until("aqe_plugin_queries_total == 0")
            (folder / "app-1.inprogress").write_bytes(log_bytes(query_lines(1), query_lines(2)))
            server.wait_until("aqe_plugin_queries_total == 2")
            running.process.kill()
        with (folder / "app-1.inprogress").open("ab") as log:
            log.write(b"".join(query_lines(3)))
        with daemon(folder, checkpoint, "--port", str(port)):
            server.wait_until("aqe_plugin_queries_total == 3")
        scraped = server.query("aqe_plugin_queries_total[5m]")
        values = [float(value) for series in scraped for _, value in series["values"]]
        assert values == sorted(values)
        (resets,) = server.query("resets(aqe_plugin_queries_total[5m])")
        assert float(resets["value"][1]) == 0
        (starts,) = server.query("changes(process_start_time_seconds[5m])")
        assert float(starts["value"][1]) == 1
