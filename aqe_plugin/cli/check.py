"""The command ``check``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.cli.install import TableOrJsonOption, TargetOption, place_of
from aqe_plugin.cli.settings import path_option
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import ConfError, SetupError
from aqe_plugin.install.checks import Check
from aqe_plugin.install.chosen_jar import require_jar
from aqe_plugin.install.health import (
    conf_checks,
    is_installed,
    is_switched_off,
    machine_checks,
    own_session_checks,
    session_checks,
)
from aqe_plugin.install.log_checks import log_checks
from aqe_plugin.render.checks import print_checks
from aqe_plugin.render.messages import say
from aqe_plugin.render.terminal import stdout_console


def check(
    target: TargetOption = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="Also run a small join in a real session, and check that the plugin is loaded, decides it, and keeps "
            "its rows: one thread on this machine, whatever master the conf names.",
        ),
    ] = False,
    jar: Annotated[
        Path | None,
        path_option("For --run: a copy of the jar on this machine, when the conf names one in a container image."),
    ] = None,
    event_log: Annotated[
        Path | None,
        path_option(
            "Also check that this event log, or folder of logs, can be read, and that its applications loaded the "
            "plugin."
        ),
    ] = None,
    output: TableOrJsonOption = "table",
) -> None:
    """Check this machine (Java, PySpark, jar, Spark's classes) and a conf; each failure says how to fix it.

    Without --target, the conf is spark-defaults.conf in $SPARK_CONF_DIR, else in $SPARK_HOME/conf, if one of these is
    set; with it, the conf alone is checked. No Spark is started without --run.

    Exit code 3: something keeps the plugin from working. Exit code 5: a key has a value that is not allowed.

    Example: aqe-plugin check --target /etc/spark/spark-defaults.conf --run
    """
    if jar is not None:
        if not run:
            raise typer.BadParameter("is of use with --run alone.", param_hint="--jar")
        require_jar(jar)
    where = _where(target)
    failed = print_checks(_checks(where, target is None, run, jar, event_log), output, stdout_console(soft_wrap=True))
    if failed:
        raise typer.Exit(ConfError.exit_code if all(map(_is_of_key, failed)) else SetupError.exit_code)


def _where(target: str | None) -> ConfStore | None:
    has_conf = target is not None or os.environ.get("SPARK_CONF_DIR") or os.environ.get("SPARK_HOME")
    return place_of(target) if has_conf else None


def _checks(where: ConfStore | None, machine: bool, run: bool, jar: Path | None, log: Path | None) -> Iterator[Check]:
    fine = True
    for one in machine_checks() if machine else ():
        fine = fine and one.ok
        yield one
    if where is not None:
        yield from conf_checks(where)
    installed = where is not None and is_installed(where)
    if run and fine and (machine or installed):
        say("Starting Spark ...")
    if run and fine and where is not None and (installed or not machine):
        yield from session_checks(where, jar, os.environ)
    elif run and fine:
        yield from own_session_checks()
    elif run:
        yield Check("session", "not run", "needs all of the above")
    if log is not None:
        yield from log_checks(log, where is not None and is_switched_off(where))


def _is_of_key(failed: Check) -> bool:
    return failed.name == "mode" or failed.name.lower().startswith(PREFIX.lower())
