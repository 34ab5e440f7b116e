"""A short real Spark application that reports what the plugin did in it, for ``check``.

``python -m aqe_plugin.install.session_probe FOLDER`` configures a session itself; with the word ``submitted``, as
``spark-submit`` runs this file, it takes the session as it is. Both write ``FOLDER/probe.json`` and an event log in
``FOLDER/events``. The application is a process of its own, because a JVM writes to the terminal and can hang.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aqe_plugin.conf.keys import MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, conf_keys, entries_of
from aqe_plugin.errors import AqePluginError, SessionError
from aqe_plugin.install.checks import Check, right_rows, small_join
from aqe_plugin.install.jars import spark_line
from aqe_plugin.install.session import configure

_SESSION_SECONDS = 300
# The start of every warning of the JVM half.
_WARNING = "aqe-plugin: "
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
_SUBMITTED = "submitted"


@dataclass(frozen=True, slots=True)
class Probe:
    """What the application reported; with an ``error`` the other values are meaningless.

    Attributes:
        extensions: ``spark.sql.extensions`` after the plugin's driver half ran.
        rows: rows of the join that it ran.
        decisions: joins that were decided.
        foreign: the operator of another engine for which one was left alone.
    """

    error: str = ""
    spark_version: str = ""
    plugins: str = ""
    extensions: str = ""
    mode: str = ""
    rows: int = 0
    decisions: int = 0
    foreign: str = ""


def session_started(probe: Probe, spark_version: str) -> Check:
    """Whether the session is of the expected Spark, and joins right.

    Args:
        spark_version: the version of the Spark that was to start.
    """
    expected = spark_line(spark_version)
    if spark_line(probe.spark_version) != expected:
        found = f"Spark {probe.spark_version} started in place of line {expected}."
        return Check("session", "failed", found, "Unset SPARK_HOME or correct it.")
    rows = right_rows(probe.rows)
    return replace(rows, name="session", found=f"Spark {probe.spark_version} started; {rows.found}")


def plugin_loaded(probe: Probe, driver_log: str) -> Check:
    """Whether the plugin's rules are loaded; if it stood down, the driver's log says why."""
    if PLUGIN_CLASS not in entries_of(probe.plugins):
        found = f"{PLUGIN_CLASS} is not in spark.plugins ({probe.plugins}): something overrides the session's conf."
        return Check("plugin", "failed", found)
    if any(extension.startswith("io.aqeplugin.") for extension in entries_of(probe.extensions)):
        return Check("plugin", "ok", f"{PLUGIN_CLASS} and its rules are loaded")
    warnings = [line[line.index(_WARNING) :] for line in driver_log.splitlines() if _WARNING in line]
    return Check("plugin", "failed", *(warnings[:1] or ["it was loaded and stood down silently.", "Report this."]))


def answer_file(folder: Path) -> Path:
    return folder / "probe.json"


def events_folder(folder: Path) -> Path:
    return folder / "events"


def read_answer(folder: Path) -> Probe | None:
    """What the application reported, ``None`` when it ended before that."""
    try:
        return Probe(**json.loads(answer_file(folder).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def run_probe(command: list[str], environment: Mapping[str, str], folder: Path) -> tuple[Probe, str]:
    """The report of the application that ``command`` starts, and the driver's log.

    Raises:
        SessionError: no session started.
    """
    try:
        stderr = _ran(command, environment)
    except OSError as error:
        raise SessionError(f"{command[0]} does not run ({error.strerror}).") from error
    except subprocess.TimeoutExpired as error:
        message = f"no session within {_SESSION_SECONDS} s. Is the machine overloaded, or SPARK_LOCAL_IP wrong?"
        raise SessionError(message) from error
    probe = read_answer(folder)
    if probe is None:
        last = (stderr.strip().splitlines() or ["no message"])[-1]
        raise SessionError(f"the session ended before it could report: {last}")
    if probe.error:
        raise SessionError(
            f"{probe.error}. `aqe-plugin check` says whether the jar that the file names is there; "
            "if it is, see whether plain PySpark starts with this file."
        )
    return probe, stderr


def _ran(command: list[str], environment: Mapping[str, str]) -> str:
    """The standard error of ``command``. Nothing that it started, such as a JVM, outlives an interrupt or this call."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(environment),
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=_SESSION_SECONDS)[1]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def submit_command(home: Path, properties: Path, folder: Path) -> list[str]:
    """Starts the application by the ``spark-submit`` of ``home`` and the conf ``properties``, with one thread here."""
    events_folder(folder).mkdir()
    confs = {"spark.dynamicAllocation.enabled": "false", **_settings(folder)}
    settings = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    submit = [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--deploy-mode", "client"]
    return [*submit, "--properties-file", str(properties), *settings, __file__, str(folder), _SUBMITTED]


def submit_environment(home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` with this Python, this package and the Spark of ``home``."""
    left_out = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONF_DIR")
    return {
        **{name: value for name, value in environment.items() if name not in left_out},
        "PYTHONPATH": ":".join([str(_PACKAGE_FOLDER), *filter(None, [environment.get("PYTHONPATH")])]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
    }


def _session(folder: Path, is_submitted: bool) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("aqe-plugin check")
    if not is_submitted:
        builder = configure(builder.master("local[1]").config(map=dict(_settings(folder))))
    return builder.getOrCreate()


def _settings(folder: Path) -> dict[str, str]:
    """What the application needs besides the plugin: an event log, and a small join that is not broadcast at once."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events_folder(folder).as_uri(),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }


def _look(spark: Any) -> Probe:
    try:
        rows = small_join(spark).count()
        decided = _decided(spark)
        return Probe(
            spark_version=spark.version,
            plugins=spark.sparkContext.getConf().get(PLUGINS_KEY, ""),
            extensions=spark.conf.get("spark.sql.extensions", "") or "",
            mode=spark.conf.get(MODE_KEY, "") or conf_keys()[MODE_KEY].default,
            rows=rows,
            decisions=len(decided),
            foreign=next((row["reason_subject"] for row in decided if row["reason"] == "FOREIGN_NODE"), ""),
        )
    finally:
        spark.stop()


def _decided(spark: Any) -> Sequence[Mapping[str, Any]]:
    loaded = spark.catalog.functionExists("aqe_decide")
    return [row.asDict() for row in spark.sql("SELECT * FROM aqe_decisions()").collect()] if loaded else []


def _report(folder: Path, is_submitted: bool) -> None:
    try:
        events_folder(folder).mkdir(exist_ok=True)
        probe = _look(_session(folder, is_submitted))
    except AqePluginError as error:
        probe = Probe(error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever Spark throws is the report
        probe = Probe(error=_cause(str(error)) or type(error).__name__)
    answer_file(folder).write_text(json.dumps(asdict(probe)), encoding="utf-8")


def _cause(text: str) -> str:
    """The line of a Py4J error that names the plugin, else its first two: the second has the Java exception."""
    lines = [line.strip(": ") for line in text.splitlines() if line.strip(": ")]
    return next((line for line in lines if PLUGIN_CLASS in line), "") or " ".join(lines[:2])


if __name__ == "__main__":
    _report(Path(sys.argv[1]), _SUBMITTED in sys.argv)
