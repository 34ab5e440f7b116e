"""One scrape of the exporter, the way Prometheus does it."""

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

_START_SECONDS = 30.0


def scrape_exporter(event_logs: Path, port: int = 0) -> str:
    """Starts `aqe-plugin run` over `event_logs`, fetches `/metrics` once they are read, stops it.

    Args:
        port: 0 takes any free one.

    Raises:
        RuntimeError: the exporter did not answer; the message carries what it said.
    """
    chosen = port or _free_port()
    command = [sys.executable, "-m", "aqe_plugin", "run", str(event_logs), "--no-checkpoint", "--port", str(chosen)]
    exporter = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        _fetch(f"http://127.0.0.1:{chosen}/readyz", exporter)
        return _fetch(f"http://127.0.0.1:{chosen}/metrics", exporter)
    finally:
        exporter.terminate()
        exporter.wait(timeout=10)


def _fetch(url: str, exporter: "subprocess.Popen[str]") -> str:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=_START_SECONDS) as answer:
                text: str = answer.read().decode()
                return text
        except (urllib.error.URLError, ConnectionError) as refused:
            if exporter.poll() is not None or time.monotonic() > deadline:
                exporter.terminate()
                said = re.sub(r"\s+", " ", exporter.communicate()[0]).strip()
                raise RuntimeError(f"the exporter did not answer on {url}: {said or refused}") from refused
            time.sleep(0.2)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
