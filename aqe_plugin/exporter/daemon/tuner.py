"""Runs ``recommend``, or ``apply``, every so often in a process of its own, and writes down what it said.

In a process of its own, because it starts a JVM and holds the history of all logs in memory, neither of which the
daemon's memory limit is for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import WriteError
from aqe_plugin.events.json_values import Json, encode
from aqe_plugin.exporter.daemon.checkpoint import Checkpoint
from aqe_plugin.machine.disk import append_line

__all__ = ["SCHEMA_VERSION", "Tuner", "TuningRun"]

SCHEMA_VERSION = 1
_NOTE = "tunedAtSeconds"
_PATIENCE_SECONDS = 10
_MOST_SAID_CHARS = 2000


@dataclass(frozen=True, slots=True)
class TuningRun:
    """One run of ``recommend`` or ``apply``, as it stands in the journal.

    Attributes:
        at_millis: when it began, milliseconds since 1970.
        command: words after ``aqe-plugin``.
        said: what it told a person, the end of it.
    """

    schema_version: int
    at_millis: int
    seconds: float
    command: tuple[str, ...]
    exit_code: int
    said: str


@dataclass(frozen=True, slots=True)
class _Started:
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    said: IO[bytes]
    files: ExitStack
    at_seconds: float


class Tuner:
    """Starts the command when it is due, and journals its answer when it has ended; never waits for it.

    Args:
        words: the command's words after ``aqe-plugin``; its standard output is JSON lines.
        every_seconds: from start to start; the time of the last one is kept in the checkpoint.
        journal: JSON lines, only ever added to.
        environment: what its environment has besides this process's.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        every_seconds: float,
        checkpoint: Checkpoint,
        journal: Path,
        log: FilteringBoundLogger,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._words = words
        self._every_seconds = every_seconds
        self._checkpoint = checkpoint
        self._journal = journal
        self._log = log
        self._environment = dict(environment or {})
        self._started: _Started | None = None

    def look(self) -> None:
        """Does what there is to do now; what goes wrong is logged, and tried again when it is due again."""
        try:
            if self._started is not None:
                self._end(self._started)
            elif self._is_due(time.time()):
                self._start()
        except (OSError, WriteError) as error:
            self._log.error("tuning not carried out", error=str(error))

    def close(self) -> None:
        """Stops the command if it runs; a step of ``apply`` that is cut off is finished by the next."""
        if self._started is not None:
            self._started.process.terminate()
            try:
                self._started.process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._started.process.kill()
                self._started.process.wait()
            self._started.files.close()
            self._started = None

    def _is_due(self, now_seconds: float) -> bool:
        noted = self._checkpoint.note(_NOTE)
        last = float(noted) if noted is not None else 0.0
        # A last time in the future is of a clock that was set back since.
        return last > now_seconds or now_seconds - last >= self._every_seconds

    def _start(self) -> None:
        now_seconds = time.time()
        self._checkpoint.take_note(_NOTE, str(now_seconds))
        with ExitStack() as opening:
            out, said = (opening.enter_context(tempfile.TemporaryFile(dir=self._journal.parent)) for _ in range(2))
            command = [sys.executable, "-m", "aqe_plugin", *self._words]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, env={**os.environ, **self._environment}
            )
            self._started = _Started(process, out, said, opening.pop_all(), now_seconds)
        self._log.info("tuning", command=" ".join(self._words))

    def _end(self, started: _Started) -> None:
        code = started.process.poll()
        if code is None:
            return
        self._started = None
        with started.files:
            out, said = _text(started.out), _text(started.said)[-_MOST_SAID_CHARS:]
        seconds = round(max(0.0, time.time() - started.at_seconds), 1)
        run = TuningRun(SCHEMA_VERSION, int(started.at_seconds * 1000), seconds, self._words, code, said)
        answers = [answer for line in out.splitlines() if (answer := _json(line)) is not None]
        told = encode(run)
        assert isinstance(told, dict)
        append_line(self._journal, json.dumps({**told, "answers": answers}).encode())
        self._log.info("tuned", exit_code=code, **_outcome(answers, said if code else ""), journal=str(self._journal))


def _outcome(answers: Sequence[Json], said: str) -> dict[str, str]:
    """What it comes to, for the log: the group that is recommended or rolled out, and in which ring; or the error."""
    groups = [answer for answer in answers if isinstance(answer, dict) and answer.get("chosen", True)]
    if said.strip():
        return {"said": said.strip().splitlines()[-1]}
    told: dict[str, str] = {}
    for group in groups:
        told |= {name: str(group[name]) for name in ("group", "ring") if name in group}
    return told or {"group": "none"}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _json(line: str) -> Json:
    try:
        value: Json = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value
