"""``aqe-plugin run`` in its own process; tests wait for its output, not for a time."""

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

_PATIENCE_SECONDS = 180


class Daemon:
    """One running process."""

    def __init__(self, process: subprocess.Popen[str], stderr_path: Path) -> None:
        self.process = process
        self._stderr_path = stderr_path
        until(lambda: "Serving http://" in self.stderr or process.poll() is not None, self)
        assert process.poll() is None, self.stderr
        self.port = int(self.stderr.split("/metrics", 1)[0].rpartition(":")[2])

    @property
    def stderr(self) -> str:
        """Standard error so far."""
        return self._stderr_path.read_text()

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
    """Runs it over ``source``, polling every tenth of a second, and kills it at the end."""
    stderr_path = checkpoint.with_name("stderr.txt")
    command = [sys.executable, "-m", "aqe_plugin", "run", str(source), "--checkpoint", str(checkpoint)]
    command += ["--port", "0", "--every", "0.1", *words]
    with (
        stderr_path.open("w") as file,
        subprocess.Popen(command, stderr=file, text=True, preexec_fn=preexec_fn) as process,
    ):
        try:
            yield Daemon(process, stderr_path)
        finally:
            process.kill()


def until(true: Callable[[], bool], running: Daemon) -> None:
    """Waits for a condition, for as long as a JVM may take to start on a busy machine."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, running.stderr
        time.sleep(0.02)
