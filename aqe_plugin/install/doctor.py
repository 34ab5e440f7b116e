"""Checks whether everything the plugin needs is here and works, with a fix for whatever does not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from aqe_plugin.conf.keys import problem_of
from aqe_plugin.errors import AqePluginError, EventLogError, SessionError
from aqe_plugin.events.lines import Event
from aqe_plugin.events.model import JoinDecided, QueryEnded, TrialArm
from aqe_plugin.install.jars import jar_for, spark_line
from aqe_plugin.install.session import MODE_KEY, PLUGIN_CLASS
from aqe_plugin.install.session_probe import Probe, events_folder, read_answer
from aqe_plugin.logs import Skipped, find_event_logs, read_log
from aqe_plugin.machine.java import find_java
from aqe_plugin.machine.pyspark import import_pyspark

__all__ = ["PROBE_ROWS", "Check", "Verdict", "checks", "plugin_check", "probe_checks", "session_check"]

_SESSION_SECONDS = 300
PROBE_ROWS = 100
# How every warning of the JVM half begins.
_WARNING = "aqe-plugin: "


class Verdict(str, Enum):
    """How a check came out."""

    OK = "ok"
    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the answer; a failed check's ``finding`` says how to mend it."""

    name: str
    verdict: Verdict
    finding: str


def checks(event_log: Path | None, with_session: bool) -> Iterator[Check]:
    """Every check in order, each as soon as it is made.

    Args:
        event_log: the user's own event log or folder of logs, to be read as well.
        with_session: start a short real session; takes some ten seconds.
    """
    setup = [_check("Java", _java), _check("PySpark", _pyspark), _check("jar", _jar)]
    yield from setup
    if not with_session:
        yield Check("session", Verdict.NOT_RUN, "left out by --no-session")
    elif any(check.verdict is Verdict.FAILED for check in setup):
        yield Check("session", Verdict.NOT_RUN, "needs all of the above")
    else:
        yield from _session()
    if event_log is not None:
        yield _check("event log", lambda: _event_log(event_log))


def _check(name: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, Verdict.OK, find())
    except AqePluginError as error:
        return Check(name, Verdict.FAILED, str(error))


def _java() -> str:
    java = find_java()
    return f"Java {java.release} at {java.path}"


def _pyspark() -> str:
    return f"PySpark {import_pyspark().__version__}"


def _jar() -> str:
    version = import_pyspark().__version__
    return f"{jar_for(version).name} fits Spark {spark_line(version)}"


def _session() -> Iterator[Check]:
    with tempfile.TemporaryDirectory(prefix="aqe-plugin-doctor-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "aqe_plugin.install.session_probe", str(folder)]
        yield from probe_checks(command, os.environ, folder, import_pyspark().__version__)


def probe_checks(
    command: list[str], environment: Mapping[str, str], folder: Path, spark_version: str
) -> Iterator[Check]:
    """What a probe showed, in order; when no session came up that is the one check.

    Args:
        command: starts a session probe that answers into ``folder``.
        spark_version: the Spark that should come up.
    """
    try:
        probe, driver_log = _run_probe(command, environment, folder)
    except SessionError as error:
        yield Check("session", Verdict.FAILED, str(error))
        return
    yield session_check(probe, spark_version)
    yield plugin_check(probe, driver_log)
    problem = problem_of(MODE_KEY, probe.mode)
    found = f"{MODE_KEY} = {probe.mode}: {problem}" if problem else probe.mode
    yield Check("mode", Verdict.FAILED if problem else Verdict.OK, found)
    yield _check("events", lambda: _event_log(events_folder(folder)))


def _run_probe(command: list[str], environment: Mapping[str, str], folder: Path) -> tuple[Probe, str]:
    """What the probe saw, and the driver's log.

    Raises:
        SessionError: no session came up.
    """
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=_SESSION_SECONDS, check=False, env=dict(environment)
        )
    except OSError as error:
        raise SessionError(f"{command[0]} does not run ({error.strerror}).") from error
    except subprocess.TimeoutExpired as error:
        message = f"no session within {_SESSION_SECONDS} s. Is the machine overloaded, or SPARK_LOCAL_IP wrong?"
        raise SessionError(message) from error
    probe = read_answer(folder)
    if probe is None:
        last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        raise SessionError(f"the session ended before it could answer: {last}")
    if probe.error:
        raise SessionError(
            f"{probe.error}. Try the same with plain PySpark; `aqe-plugin jar-path` names the jar in use."
        )
    return probe, ran.stderr


def session_check(probe: Probe, pyspark_version: str) -> Check:
    """Whether the session is the one PySpark belongs to, and works."""
    expected = spark_line(pyspark_version)
    if spark_line(probe.spark_version) != expected:
        fix = f"PySpark is of line {expected}, it started Spark {probe.spark_version}. Unset SPARK_HOME or mend it."
        return Check("session", Verdict.FAILED, fix)
    if probe.rows != PROBE_ROWS:
        return Check("session", Verdict.FAILED, f"a join gave {probe.rows} rows instead of {PROBE_ROWS}: report this.")
    return Check("session", Verdict.OK, f"Spark {probe.spark_version} started and joined two small tables")


def plugin_check(probe: Probe, driver_log: str) -> Check:
    """Whether the plugin's rules are in force; if it stood down, the driver's log says why."""
    loaded = PLUGIN_CLASS in probe.plugins.split(",")
    if loaded and any(extension.startswith("io.aqeplugin.") for extension in probe.extensions.split(",")):
        return Check("plugin", Verdict.OK, f"{PLUGIN_CLASS} is loaded and its rules are in force")
    if not loaded:
        fix = f"{PLUGIN_CLASS} is not in spark.plugins ({probe.plugins}): something overrules the session's conf."
        return Check("plugin", Verdict.FAILED, fix)
    said = [line[line.index(_WARNING) :] for line in driver_log.splitlines() if _WARNING in line]
    return Check(
        "plugin", Verdict.FAILED, said[0] if said else "it was loaded and stood down without a word: report this."
    )


def _event_log(path: Path) -> str:
    logs = find_event_logs(path)
    readable, decisions, skipped, arms = 0, 0, list[Skipped](), Counter[TrialArm]()
    for log in logs:
        records: Iterator[Event | Skipped] = read_log(log)
        unread = 0
        for record in records:
            decisions += isinstance(record, JoinDecided)
            if isinstance(record, QueryEnded) and record.arm is not None:
                arms[record.arm] += 1
            if isinstance(record, Skipped):
                skipped.append(record)
                unread += record.line is None
        readable += unread < len(log.parts)
    if readable == 0:
        raise EventLogError(f"{skipped[0]}.")
    left_out = f"; {len(skipped)} skipped, first: {skipped[0]}" if skipped else ""
    sides = ", ".join(f"{arms[arm]} {arm.value}" for arm in TrialArm)
    tried = f"; queries of a canary: {sides}" if arms else ""
    return f"{readable} readable, {decisions} decisions in them{tried}{left_out}"
