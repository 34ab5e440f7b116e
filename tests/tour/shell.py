"""Commands as a user types them, and what the terminal then shows."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

__all__ = ["Shown", "exporter", "free_port", "run", "spark_home"]

_ROOT = Path(__file__).resolve().parents[2]
_LEFT_OUT = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "NO_COLOR")
_WIDTH = 132


@dataclass(frozen=True, slots=True)
class Shown:
    """A command and all that it printed, colours and all.

    Attributes:
        command: as a user would type it.
    """

    command: str
    output: str

    @property
    def plain(self) -> str:
        return Text.from_ansi(self.output).plain


def run(command: str, words: Sequence[str], environment: Mapping[str, str] | None = None) -> Shown:
    """Runs ``words`` to the end, which must be a good one; ``command`` is how a user would write them."""
    done = subprocess.run(
        list(words),
        env=_environment(environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return Shown(command, done.stdout)


def spark_home(folder: Path) -> Path:
    """A Spark in ``folder`` whose ``conf`` is empty and its own; everything else is that of the installed PySpark."""
    import pyspark

    conf = folder / "conf"
    conf.mkdir(parents=True)
    for part in Path(pyspark.__file__).parent.iterdir():
        if part.name != "conf":
            (folder / part.name).symlink_to(part)
    return folder


@contextmanager
def exporter(events: Path) -> Iterator[int]:
    """``aqe-plugin run`` over ``events``, and its port."""
    port = free_port()
    options = ["--no-checkpoint", "--every", "0.1", "--port", str(port)]
    words = [sys.executable, "-m", "aqe_plugin", "run", str(events), *options]
    with subprocess.Popen(words, env=_environment({}), stderr=subprocess.DEVNULL) as process:
        try:
            yield port
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    here = {
        "PYTHONPATH": f"{_ROOT}:{_ROOT / 'python'}",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "FORCE_COLOR": "1",
        "COLUMNS": str(_WIDTH),
    }
    return {**kept, **here, **more}
