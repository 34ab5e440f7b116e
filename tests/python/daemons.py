"""``aqe-plugin run`` as a process of its own, waited for by what it says and serves, never by time alone."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import Metric as Family

from scraping import scrape, value

__all__ = ["Daemon", "daemon", "until"]

_PATIENCE_SECONDS = 60


class Daemon:
    """One running process."""

    def __init__(self, process: subprocess.Popen[str], said: Path) -> None:
        self.process = process
        self._said = said
        until(lambda: "Serving http://" in self.said or process.poll() is not None, self)
        assert process.poll() is None, self.said
        self.port = int(self.said.split("/metrics", 1)[0].rpartition(":")[2])

    @property
    def said(self) -> str:
        """Standard error so far."""
        return self._said.read_text()

    def scrape(self) -> dict[str, Family]:
        return scrape(self.port)

    def value(self, name: str, **labels: str) -> float:
        return value(self.scrape(), name, **labels)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10):
                return True
        except urllib.error.HTTPError:
            return False

    def wait_until(self, true: Callable[[], bool]) -> None:
        until(true, self)


@contextmanager
def daemon(
    source: Path | str, checkpoint: Path, *words: str, preexec_fn: Callable[[], None] | None = None
) -> Iterator[Daemon]:
    """Runs it over ``source`` with a look every tenth of a second; killed at the end, if it still runs."""
    said = checkpoint.with_name("said.txt")
    command = [sys.executable, "-m", "aqe_plugin", "run", str(source), "--checkpoint", str(checkpoint)]
    command += ["--port", "0", "--every", "0.1", *words]
    with (
        said.open("w") as file,
        subprocess.Popen(command, stderr=file, text=True, preexec_fn=preexec_fn) as process,
    ):
        try:
            yield Daemon(process, said)
        finally:
            process.kill()


def until(true: Callable[[], bool], running: Daemon) -> None:
    """Waits for a condition, as long as a busy machine may take."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, running.said
        time.sleep(0.02)
