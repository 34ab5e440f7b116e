"""Runs ``recommend`` or ``rollout`` on a schedule, in a process of its own, and journals the result.

The command starts a JVM and holds the history of all logs in memory; the daemon's memory limit is for neither.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from structlog.typing import FilteringBoundLogger

from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.errors import WriteError
from aqe_plugin.events.json_values import Json
from aqe_plugin.exporter.daemon.checkpoint import Checkpoint
from aqe_plugin.machine.disk import append_line

SCHEMA_VERSION = 1
_PATIENCE_SECONDS = 10
_MAX_STDERR_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Schedule:
    """A command that runs again and again.

    Attributes:
        words: the command, as its words after ``aqe-plugin``.
        every_seconds: the time from one start to the next.
        environment: added to the environment of this process; unlike ``words``, it is not journaled.
        target: the name of the conf that the command changes, without secrets; empty when it changes none. The journal
            shows it as an option of the command, which reads the target from ``environment``.
    """

    words: tuple[str, ...]
    every_seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)
    target: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The command as the journal and the log show it."""
        target = ("--target", self.target) if self.target else ()
        return tuple(map(without_credentials, (*self.words, *target)))


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    files: ExitStack
    at_seconds: float


class Tuner:
    """Starts the command when it is due, and journals its result when it has ended; never waits for it.

    It is started again whatever its result was. An error is logged once, until there is another one or none.

    Args:
        schedule: the standard output of its command is JSON lines. The time of the last start is in ``checkpoint``.
        journal: JSON lines; each run appends one with ``schemaVersion, atMillis`` (its start, since 1970), ``seconds,
            command, exitCode, stderr`` (the end of it) and ``answers``.
    """

    def __init__(
        self,
        schedule: Schedule,
        checkpoint: Checkpoint,
        journal: Path,
        log: FilteringBoundLogger,
    ) -> None:
        self._schedule = schedule
        self._checkpoint = checkpoint
        self._journal = journal
        self._log = log
        self._running: _Running | None = None
        self._error = ""

    def poll(self) -> None:
        """Starts or ends the command if it is time to; an error is logged, and the command tried again when due."""
        try:
            if self._running is not None:
                self._end(self._running)
            elif self._is_due(time.time()):
                self._start()
        except (OSError, WriteError) as error:
            self._log.error("tuning not carried out", error=str(error))

    def close(self) -> None:
        """Stops the command if it runs; the next ``rollout`` finishes a step that was cut off."""
        if self._running is not None:
            self._running.process.terminate()
            try:
                self._running.process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._running.process.kill()
                self._running.process.wait()
            self._running.files.close()
            self._running = None

    def _is_due(self, now_seconds: float) -> bool:
        last = self._checkpoint.state.tuned_at_seconds
        # A last start in the future means that the clock was set back since.
        return last > now_seconds or now_seconds - last >= self._schedule.every_seconds

    def _start(self) -> None:
        now_seconds = time.time()
        self._checkpoint.put(replace(self._checkpoint.state, tuned_at_seconds=now_seconds))
        with ExitStack() as opening:
            out, err = (opening.enter_context(tempfile.TemporaryFile(dir=self._journal.parent)) for _ in range(2))
            command = [sys.executable, "-m", "aqe_plugin", *self._schedule.words]
            environment = {**os.environ, **self._schedule.environment}
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
            self._running = _Running(process, out, err, opening.pop_all(), now_seconds)
        self._log.info("tuning", command=" ".join(self._schedule.shown))

    def _end(self, running: _Running) -> None:
        code = running.process.poll()
        if code is None:
            return
        self._running = None
        with running.files:
            # A cut through an address would leave a password without what shows that it is one.
            out, err = _text(running.stdout), without_credentials(_text(running.stderr))[-_MAX_STDERR_CHARS:]
        answers = [answer for line in out.splitlines() if (answer := _json(line)) is not None]
        run = {
            "schemaVersion": SCHEMA_VERSION,
            "atMillis": int(running.at_seconds * 1000),
            "seconds": round(max(0.0, time.time() - running.at_seconds), 1),
            "command": self._schedule.shown,
            "exitCode": code,
            "stderr": err,
            "answers": answers,
        }
        append_line(self._journal, json.dumps(run).encode())
        found = _summary(answers, err if code else "")
        error, self._error = self._error, found.get("error", "")
        if error and error == self._error:
            # An object that is gone may stay so for days.
            found = {"error": "the same as before"}
        self._log.info("tuned", exit_code=code, **found, journal=str(self._journal))


def _summary(answers: Sequence[Json], error: str) -> dict[str, str]:
    """For the log: the last line of the error, else the group that is recommended or rolled out, and its ring."""
    if error.strip():
        return {"error": error.strip().splitlines()[-1]}
    chosen = [answer for answer in answers if isinstance(answer, dict) and answer.get("chosen", True)]
    named: dict[str, str] = {name: str(one[name]) for one in chosen for name in ("group", "ring") if name in one}
    return named or {"group": "none"}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _json(line: str) -> Json:
    try:
        value: Json = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value
