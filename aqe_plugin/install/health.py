"""Which checks ``doctor`` and ``verify`` make, in which order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aqe_plugin.conf.keys import JARS_KEY
from aqe_plugin.conf.stores.file_store import FileStore, Where
from aqe_plugin.conf.stores.locate import Target, home_version, read_target
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import SessionError, SetupError, TargetError
from aqe_plugin.install.checks import (
    ADAPTIVE_KEY,
    NOT_ADAPTIVE,
    Check,
    CheckVerdict,
    adaptive_problem,
    classes_there,
    deciding,
    event_log,
    jar_fits,
    jars_exist,
    java_works,
    key_checks,
    mode_set,
    outcome_of,
    plugin_loaded,
    pyspark_installed,
    session_started,
)
from aqe_plugin.install.plan import our_jars
from aqe_plugin.install.session_probe import events_folder, run_probe, submit_command, submit_environment
from aqe_plugin.install.status import status_of
from aqe_plugin.machine.pyspark import import_pyspark

# Keys that cannot hold on this machine, or would split the application into several processes.
_NOT_HERE = ("spark.kubernetes.", "spark.master", "spark.submit.", "spark.dynamicAllocation.")


def doctor(log: Path | None, with_session: bool, spark: Path | None = None) -> Iterator[Check]:
    """Checks this machine; yields each check as soon as it is made.

    Args:
        log: the user's own event log or folder of logs, to be read as well.
        with_session: start a short real session, which takes some ten seconds.
        spark: the Spark whose classes are compared with what the jar needs, as :func:`jars_folder` takes it;
            without it, the one that a session here would start.
    """
    machine = [java_works(), pyspark_installed(), jar_fits()]
    yield from machine
    if spark is None and os.environ.get("SPARK_HOME"):
        spark = Path(os.environ["SPARK_HOME"])
    if spark is None and machine[1].ok:
        spark = Path(str(import_pyspark().__file__)).parent
    yield from [Check("classes", CheckVerdict.NOT_RUN, "needs PySpark")] if spark is None else classes_there(spark)
    if not with_session:
        yield Check("session", CheckVerdict.NOT_RUN, "left out by --no-session")
    elif not all(check.ok for check in machine):
        yield Check("session", CheckVerdict.NOT_RUN, "needs all of the above")
    else:
        with TemporaryDirectory(prefix="aqe-plugin-doctor-") as name:
            folder = Path(name)
            command = [sys.executable, "-m", "aqe_plugin.install.session_probe", str(folder)]
            checks = _session(command, os.environ, folder, import_pyspark().__version__)
            # A mode that is off is no fault of this machine.
            yield from (check for check in checks if check.name != "deciding")
    if log is not None:
        yield event_log("event log", log)


def verify(where: Where, home: Path, jar: Path | None, environment: Mapping[str, str]) -> Iterator[Check]:
    """Checks an installed plugin by a short real application; yields each check as soon as it is made.

    The application runs on this machine with one thread, whatever master the conf names.

    Args:
        home: the Spark to start.
        jar: replaces the jar that the conf names, if that is in a container image.

    Raises:
        SetupError: ``home`` has no Spark.
    """
    status, target = status_of(where), read_target(where)
    if not status.plugin_listed:
        found = f"{status.file}: the plugin is not installed in it{'' if status.exists else ', as it does not exist'}."
        yield Check("conf", CheckVerdict.FAILED, found, "aqe-plugin install does that.")
        return
    checks = [*(jars_exist(status.jars) if jar is None else ()), *key_checks(target.conf.items())]
    bad = "; ".join(
        check.found if check.name == "jar" else f"{check.name} = {check.found}" for check in checks if not check.ok
    )
    # What follows is started with the conf, as an application may not be.
    note = "" if target.conf.runs_on_this_machine or not target.conf.not_read_by else f". {target.conf.not_read_by}"
    yield outcome_of(
        "conf", not bad, bad or f"{status.file} names the plugin{', and its jar' if status.jars else ''}{note}"
    )
    if adaptive_problem(target.conf.items()) == NOT_ADAPTIVE:
        # Spark would hang without a word.
        yield Check("session", CheckVerdict.NOT_RUN, f"not run because of {ADAPTIVE_KEY}")
        return
    with TemporaryDirectory(prefix="aqe-plugin-verify-") as name:
        folder = Path(name)
        command = submit_command(home, _properties(target, jar, folder), folder)
        version = home_version(home)
        if version is None:
            raise SetupError(
                f"{home}: there is no jars/spark-core_*.jar in it, so it is not a Spark. Give --spark-home."
            )
        for check in _session(command, submit_environment(home, environment), folder, version):
            # Nothing is proved in a mode that is off.
            yield replace(check, verdict=CheckVerdict.FAILED) if check.verdict is CheckVerdict.NOT_RUN else check


def spark_home_of(where: Where, given: Path | None, environment: Mapping[str, str]) -> Path:
    """The Spark to start: ``given``, else the one whose ``conf`` holds the file, else ``SPARK_HOME``, else PySpark's.

    Raises:
        SessionError: there is no ``bin/spark-submit`` in it.
    """
    own = where.parent.parent if isinstance(where, Path) and where.parent.name == "conf" else None
    if given is None and own is not None and (own / "bin" / "spark-submit").is_file():
        given = own
    if given is None and environment.get("SPARK_HOME"):
        given = Path(environment["SPARK_HOME"])
    home = given if given is not None else Path(str(import_pyspark().__file__)).parent
    if not (home / "bin" / "spark-submit").is_file():
        raise SessionError(
            f"{home}: there is no bin/spark-submit in it. Give --spark-home, the folder that Spark was unpacked to."
        )
    return home


def _session(command: list[str], environment: Mapping[str, str], folder: Path, spark_version: str) -> Iterator[Check]:
    """The checks of the application that ``command`` starts, of which ``spark_version`` is expected."""
    try:
        probe, driver_log = run_probe(command, environment, folder)
    except SessionError as error:
        yield Check("session", CheckVerdict.FAILED, str(error))
        return
    yield session_started(probe, spark_version)
    yield plugin_loaded(probe, driver_log)
    yield mode_set(probe.mode)
    yield event_log("events", events_folder(folder))
    yield deciding(probe.decisions, probe.mode, probe.foreign)


def _properties(target: Target, jar: Path | None, folder: Path) -> Path:
    """A properties file for Spark: the target itself if it is one, else the part of its conf that can hold here."""
    here = target.conf.runs_on_this_machine
    if isinstance(target.store, FileStore) and here and jar is None:
        return target.store.path
    made = parse_properties(None, "verify")
    for key, value in target.conf.items().items():
        if key.startswith("spark.") and not key.startswith(_NOT_HERE):
            made = made.with_value(key, value)
    for listed in our_jars(target.conf):
        if jar is not None:
            made = made.with_value(JARS_KEY, (made.get(JARS_KEY) or "").replace(listed, str(jar)))
        elif not here and not Path(listed.removeprefix("local://")).is_file():
            raise TargetError(f"{target.store.name}: {listed} is not on this machine. Give --jar with a copy of it.")
    path = folder / "verify.conf"
    path.write_bytes(made.render())
    return path
