"""The command ``compare``: one query under Spark alone and with the plugin."""

from __future__ import annotations

import runpy
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqe_plugin.api.sql_script import statements_of
from aqe_plugin.cli.settings import path_option
from aqe_plugin.errors import InputError, StatementError, WriteError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.lines import FORCE_KEY
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.messages import say
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console
from aqe_plugin.tuning.spark_session import job_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXIT_CODES = {"equal": 0, "differ": 1, "failed": 1, "unsettled": InputError.exit_code}


def compare(
    query: Annotated[
        Path,
        typer.Argument(
            metavar="QUERY", readable=False, help="A file of SQL; of several statements the last is compared."
        ),
    ],
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each side, after one that warms up.")] = 3,
    setup: Annotated[
        Path | None, path_option("SQL, or a .py that finds the session as `spark`, to run first: views and functions.")
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of the session; may be repeated."),
    ] = None,
    report: Annotated[
        Path, path_option("What is written where rows differ: both plans, examples, and the decisions.")
    ] = Path("aqe-plugin-compare.txt"),
    output: Annotated[TableOrJson, typer.Option("--format", help="A table, or JSON.")] = "table",
) -> None:
    """Run a query with the plugin off and on: equal rows, seconds, and what changed.

    The session has the settings of spark-defaults.conf, or of spark-submit. Rows are compared by number and checksums
    that Spark adds up, in any order, and in order as well after ORDER BY; doubles may differ in their last digits. In a
    notebook: AqePlugin(spark).compare(query).

    Exit code 1: rows differ, or the query fails with the plugin alone. Exit code 4: it is no query, or one that leaves
    open which rows it has.

    Example: aqe-plugin compare query.sql --conf spark.driver.memory=4g --runs 5
    """
    *before, compared = _statements(query)
    confs = dict(map(_setting, conf or []))
    say("Starting Spark ...")
    with job_session("aqe-plugin compare", confs=confs) as spark:
        from aqe_plugin.api.plugin import AqePlugin

        if setup is not None and setup.suffix == ".py":
            runpy.run_path(str(setup), init_globals={"spark": spark})
        for statement in (*(_statements(setup) if setup is not None and setup.suffix != ".py" else ()), *before):
            _run(spark, statement)
        found = AqePlugin(spark).compare(compared, runs, progress=say)
    stdout = stdout_console(soft_wrap=True)
    if output == "json":
        print_json({**encode(found), "gain": None if found.gain is None else encode(found.gain)}, stdout)
    else:
        print_lines([repr(found)], stdout)
        if found.suspects and found.off_seconds:
            force = f"{FORCE_KEY}={found.suspects[0].decision.join_id}=leave_to_spark"
            again = shlex.join([str(query), *(["--setup", str(setup)] if setup is not None else []), "--conf", force])
            say(f"Without the first of these joins: aqe-plugin compare {again}")
    if found.report:
        _write(report, f"{compared}\n\n{found.report}")
        say(f"Wrote {report}: both plans, examples, and the decisions.")
        if found.rows.verdict != "unsettled":
            say("Please report it with that file, and keep the mode off for this query until it is mended.", "red")
    if code := _EXIT_CODES[found.rows.verdict]:
        raise typer.Exit(code)


def _statements(path: Path) -> list[str]:
    try:
        found = statements_of(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StatementError(f"{path}: the file cannot be read ({error}).") from error
    if not found:
        raise StatementError(f"{path}: there is no statement in it.")
    return found


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE.", param_hint="--conf")
    return key, value


def _run(spark: SparkSession, statement: str) -> None:
    from pyspark.errors import PySparkException

    try:
        spark.sql(statement)
    except PySparkException as error:
        first = next(iter(str(error).strip().splitlines()), "")
        raise StatementError(f"{' '.join(statement.split())[:60]}: {first}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WriteError(f"{path}: it cannot be written ({error.strerror}).") from error
