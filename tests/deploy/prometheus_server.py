"""A real Prometheus over the configuration in deploy/prometheus, for as long as a test needs it."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DEPLOY", "PrometheusServer", "prometheus_server", "promtool"]

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_START_SECONDS = 30
_STOP_SECONDS = 10


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """Its HTTP API."""

    port: int

    def query(self, promql: str) -> list[dict[str, Any]]:
        """What ``promql`` is now: an instant vector, or the samples of a range."""
        result: list[dict[str, Any]] = self.api("query", query=promql)["result"]
        return result

    def api(self, path: str, **parameters: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            raise AssertionError(f"{parameters}: {refusal.read().decode()}") from refusal

    def wait_until(self, promql: str, seconds: float = 30) -> list[dict[str, Any]]:
        """The first result of ``promql`` that is not empty."""
        result: list[dict[str, Any]] = _until(lambda: self.query(promql), seconds, promql)
        return result


def promtool(folder: Path, *words: str) -> str:
    """What promtool says, the exit code being 0."""
    done = subprocess.run([str(folder / "promtool"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def prometheus_server(
    programs: Path, folder: Path, *exporter_ports: int, alert_at_once: bool = False
) -> Iterator[PrometheusServer]:
    """Runs deploy/prometheus against the exporters on those ports, scraping every second; data and log in ``folder``.

    With ``alert_at_once`` an alert whose condition holds for a second fires; without it as long as the rules say.
    """
    shutil.copytree(DEPLOY / "prometheus", folder / "conf")
    conf = folder / "conf" / "prometheus.yml"
    conf.write_text(_quickened(conf.read_text(), exporter_ports))
    if alert_at_once:
        alerts = folder / "conf" / "rules" / "alerts.yml"
        alerts.write_text(re.sub(r"(?m)^( +for): \d+[mh]$", r"\1: 1s", alerts.read_text()))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        str(programs / "prometheus"),
        f"--config.file={conf}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
    ]
    server = PrometheusServer(port)
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _until(lambda: process.poll() is not None or _answers(port), _START_SECONDS, "Prometheus")
            assert process.poll() is None, (folder / "log").read_text()
            yield server
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _quickened(conf: str, exporter_ports: Sequence[int]) -> str:
    """The same configuration with seconds for half minutes; fails when the file no longer says what is replaced."""
    for written, here in (
        ("  scrape_interval: 30s", "  scrape_interval: 1s"),
        ("evaluation_interval: 30s", "evaluation_interval: 1s"),
        ("scrape_timeout: 25s", "scrape_timeout: 1s"),
        ('"localhost:9417"', ", ".join(f'"127.0.0.1:{port}"' for port in exporter_ports)),
    ):
        assert conf.count(written) == 1, written
        conf = conf.replace(written, here)
    return conf


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=1):
            return True
    except OSError:
        return False


def _until(look: Callable[[], Any], seconds: float, what: str) -> Any:
    end = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.1)
    return seen
