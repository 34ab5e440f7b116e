"""What ``check`` looks at: this machine, a conf, a real session, event logs; each check is yielded as it is made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aqe_plugin.conf.keys import JARS_KEY, MODE_KEY
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import Target, core_version, read_target
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import SessionError, SetupError, StateError, TargetError
from aqe_plugin.install.checks import (
    ADAPTIVE_KEY,
    NO_ADAPTIVE,
    NOT_ADAPTIVE,
    Check,
    adaptive_problem,
    deciding,
    key_checks,
    loading,
    mode_set,
    tried,
)
from aqe_plugin.install.controller import was_carried_out
from aqe_plugin.install.jars import jar_for, spark_line
from aqe_plugin.install.journal import journal_of
from aqe_plugin.install.links import classes_there, jars_folder
from aqe_plugin.install.log_checks import event_log
from aqe_plugin.install.plan import our_jars, times_listed
from aqe_plugin.install.session_probe import (
    events_folder,
    plugin_loaded,
    run_probe,
    session_started,
    submit_command,
    submit_environment,
)
from aqe_plugin.machine.java import find_java
from aqe_plugin.machine.pyspark import import_pyspark

# Keys that cannot hold on this machine, or would split the application into several processes.
_NOT_HERE = ("spark.kubernetes.", "spark.master", "spark.submit.", "spark.dynamicAllocation.")


def machine_checks() -> Iterator[Check]:
    """This machine, without starting Spark; the classes are those of ``SPARK_HOME``, else of PySpark."""
    yield tried("Java", lambda: "Java {1} at {0}".format(*find_java()))
    home = os.environ.get("SPARK_HOME")
    spark = (
        tried("Spark", lambda: f"Spark {_version_in(Path(home))} at {home} (SPARK_HOME)")
        if home
        else tried("PySpark", lambda: f"PySpark {import_pyspark().__version__}")
    )
    yield spark
    if not spark.ok:
        yield from (Check(name, "not run", f"needs {spark.name}") for name in ("jar", "classes"))
        return
    folder = Path(home or str(Path(str(import_pyspark().__file__)).parent))
    yield tried("jar", lambda: _jar_that_fits(_version_in(folder)))
    yield from classes_there(folder)


def _version_in(spark: Path) -> str:
    version = core_version(jars_folder(spark))
    assert version is not None
    return version


def _jar_that_fits(version: str) -> str:
    return f"{jar_for(version).name} fits Spark {spark_line(version)}"


def conf_checks(store: ConfStore) -> Iterator[Check]:
    """What a conf says, without starting Spark."""
    target = read_target(store)
    conf = target.conf.items()
    listed = times_listed(target.conf)
    there = "" if target.content is not None else " (does not exist)"
    yield Check("conf", "ok", f"{target.store.name}{there}")
    yield from loading(target.conf)
    for check in key_checks(conf):
        if check.name == "mode" and not listed and MODE_KEY not in conf:
            continue
        # Whoever switches it off may do without the plugin's joins; a value that Spark does not take serves nobody.
        if check.name == ADAPTIVE_KEY and adaptive_problem(conf) == NO_ADAPTIVE:
            yield replace(check, verdict="remark")
        elif check.ok and not listed:
            yield replace(check, verdict="remark", found=f"{check.found}: left over, no effect")
        else:
            yield check
    remarks = [*target.conf.remarks(), *_interruptions(target)]
    if not target.conf.runs_on_this_machine and target.conf.not_read_by:
        remarks.append(target.conf.not_read_by)
    yield from (Check("conf", "remark", remark) for remark in remarks)


def is_installed(store: ConfStore) -> bool:
    """Whether the conf names the plugin."""
    return times_listed(read_target(store).conf) > 0


def is_switched_off(store: ConfStore) -> bool:
    """Whether there is a conf without the plugin, or was one with it."""
    target = read_target(store)
    if target.content is not None:
        return times_listed(target.conf) == 0
    try:
        return bool(journal_of(store).records)
    except (TargetError, StateError):
        return False


def own_session_checks() -> Iterator[Check]:
    """A session as ``configure`` makes it, in which a small join is run."""
    with TemporaryDirectory(prefix="aqe-plugin-check-") as name:
        command = [sys.executable, "-m", "aqe_plugin.install.session_probe", name]
        yield from _session(command, os.environ, Path(name), import_pyspark().__version__)


def session_checks(store: ConfStore, jar: Path | None, environment: Mapping[str, str]) -> Iterator[Check]:
    """A short application that ``spark-submit`` starts with the conf, on this machine with one thread.

    Args:
        jar: replaces the jar that the conf names, if that is in a container image.

    Raises:
        SetupError: there is no Spark to start.
    """
    target = read_target(store)
    if not times_listed(target.conf):
        yield Check("session", "failed", "the conf does not name the plugin.", "aqe-plugin install does that.")
        return
    if adaptive_problem(target.conf.items()) == NOT_ADAPTIVE:
        # Spark would hang without a word.
        yield Check("session", "not run", f"not run because of {ADAPTIVE_KEY}")
        return
    home = spark_home_of(store, environment)
    version = core_version(home / "jars")
    if version is None:
        raise SetupError(f"{home}: there is no jars/spark-core_*.jar in it, so it is not a Spark. Set SPARK_HOME.")
    with TemporaryDirectory(prefix="aqe-plugin-check-") as name:
        folder = Path(name)
        command = submit_command(home, _properties(target, jar, folder), folder)
        for check in _session(command, submit_environment(home, environment), folder, version):
            # Nothing is proved in a mode that is off.
            yield replace(check, verdict="failed") if check.verdict == "not run" else check


def spark_home_of(store: ConfStore, environment: Mapping[str, str]) -> Path:
    """The Spark to start: the one whose ``conf`` holds the file, else ``SPARK_HOME``, else PySpark's.

    Raises:
        SessionError: there is no ``bin/spark-submit`` in it.
    """
    folder = store.path.parent if isinstance(store, FileStore) else None
    home = folder.parent if folder is not None and folder.name == "conf" else None
    if home is None or not (home / "bin" / "spark-submit").is_file():
        home = Path(environment.get("SPARK_HOME") or Path(str(import_pyspark().__file__)).parent)
    if not (home / "bin" / "spark-submit").is_file():
        raise SessionError(
            f"{home}: there is no bin/spark-submit in it. Set SPARK_HOME to the folder that Spark was unpacked to."
        )
    return home


def _session(command: list[str], environment: Mapping[str, str], folder: Path, spark_version: str) -> Iterator[Check]:
    """The checks of the application that ``command`` starts, of which ``spark_version`` is expected."""
    try:
        probe, driver_log = run_probe(command, environment, folder)
    except SessionError as error:
        yield Check("session", "failed", str(error))
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
    made = parse_properties(None, "check")
    for key, value in target.conf.items().items():
        if key.startswith("spark.") and not key.startswith(_NOT_HERE):
            made = made.with_value(key, value)
    for listed in our_jars(target.conf):
        if jar is not None:
            made = made.with_value(JARS_KEY, (made.get(JARS_KEY) or "").replace(listed, str(jar)))
        elif not here and not Path(listed.removeprefix("local://")).is_file():
            raise TargetError(f"{target.store.name}: {listed} is not on this machine. Give --jar with a copy of it.")
    path = folder / "check.conf"
    path.write_bytes(made.render())
    return path


def _interruptions(target: Target) -> list[str]:
    """What writers that were killed left behind."""
    found = [
        f"{left.name} was left by an interrupted writer; the next change removes it."
        for left in target.store.leftovers()
    ]
    try:
        journal = journal_of(target.store)
    except (TargetError, StateError) as error:
        # Only its owner may read it, and others may look at the conf.
        return [*found, f"{error} So whether a change was interrupted is not known."]
    cut_off = journal.interrupted
    if cut_off is not None:
        state = "new" if was_carried_out(cut_off, target.store, target.content) else "old"
        found.append(
            f"{cut_off.action} no. {cut_off.number} of {cut_off.at} was interrupted; the file holds the {state} "
            "state, and the next change records that."
        )
    if journal.damaged_lines:
        found.append(journal.damage)
    return found
