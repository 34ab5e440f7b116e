"""``python -m tests.tour.worth FILE``: the panels of *Is it worth it*, from a real Prometheus over a real event log.

The log of 20 TPC-DS queries is written anew, a query every three seconds, while ``aqe-plugin run`` reads it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import zstandard

from monitoring.worth_page import main as draw_page
from tests.deploy.prometheus_server import prometheus_server
from tests.tour.shell import exporter

_ROOT = Path(__file__).resolve().parents[2]
_LOG = _ROOT / "tests" / "deploy" / "recorded" / "tpcds.zstd"
_SECONDS = 3.0
_QUERY_ENDED = b'{"Event":"io.aqeplugin.tell.QueryEnded"'


def main(file: str) -> None:
    found = subprocess.run([str(_ROOT / "project" / "prometheus")], cwd=_ROOT, stdout=subprocess.PIPE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        logs, data = Path(folder, "logs"), Path(folder, "prometheus")
        logs.mkdir()
        data.mkdir()
        with (
            exporter(logs) as port,
            prometheus_server(Path(found.stdout.decode().strip()), data, port) as server,
        ):
            server.wait_until("aqe_plugin_queries_total == 0")
            began = time.time()
            with (logs / "local-1.inprogress").open("wb", buffering=0) as log:
                for line in zstandard.ZstdDecompressor().decompress(_LOG.read_bytes()).splitlines(keepends=True):
                    log.write(line)
                    if line.startswith(_QUERY_ENDED):
                        time.sleep(_SECONDS)
            hours = (time.time() - began) / 3600
            draw_page([f"http://127.0.0.1:{server.port}", file, f"--hours={hours}", "--scrape-seconds=1"])


if __name__ == "__main__":
    main(sys.argv[1])
