"""All commands of ``aqe-plugin``; those of one room stand in modules of their own."""

from __future__ import annotations

import inspect
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from typer.core import TyperGroup

from aqe_plugin.cli.calibrate import calibrate
from aqe_plugin.cli.check import check
from aqe_plugin.cli.compare import compare
from aqe_plugin.cli.config import config
from aqe_plugin.cli.install import history, install, rollback, uninstall
from aqe_plugin.cli.log_options import LOGS_HELP, HadoopConfOption
from aqe_plugin.cli.pipeline import PIPELINE_SCRIPT, pipeline
from aqe_plugin.cli.recommend import recommend_command
from aqe_plugin.cli.rollout import rollout
from aqe_plugin.cli.run import run
from aqe_plugin.cli.settings import CONFIG_VARIABLE, of_a_setting, path_option, use_settings
from aqe_plugin.errors import EXIT_CODES, EventLogError, NoDataError
from aqe_plugin.events.json_values import encode
from aqe_plugin.install.jars import PACKAGE_VERSION, jar_for
from aqe_plugin.install.log_checks import first_undecided
from aqe_plugin.logs import Skipped
from aqe_plugin.logs.addresses import conf_of
from aqe_plugin.logs.queries import queries_of
from aqe_plugin.machine.pyspark import import_pyspark
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.messages import warn
from aqe_plugin.render.progress import log_progress
from aqe_plugin.render.queries import plain_lines, query_lines, query_table
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console

_EXIT_CODES = f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."

_SKIPPED_SHOWN = 20
TRY, INSTALL, WATCH, TUNE = "Try", "Install", "Watch", "Tune"


_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class _Commands(TyperGroup):
    """The commands in panels; a wrong value of a setting is an error of ours, which names the setting."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands below the names of their panels."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panels.setdefault(getattr(command, "rich_help_panel", ""), []).append((name, command.short_help or ""))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if (refused := of_a_setting(error)) is not None:
                raise refused from error
            raise
        except _UsageError as error:
            usage: Any = error
            option = getattr(error, "option_name", "")
            if option in ("--config", "--version"):
                usage.message = f"{usage.message} here; it stands before the command: aqe-plugin {option} ..."
            raise


app = typer.Typer(
    name="aqe-plugin",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Try, install, watch and tune aqe-plugin, which decides how Spark joins.",
    epilog=_EXIT_CODES,
    context_settings={"max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(PACKAGE_VERSION)
        raise typer.Exit


@app.callback()
def _all_commands(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    config: Annotated[
        Path | None,
        path_option("The settings file to read; see aqe-plugin config --help.", envvar=CONFIG_VARIABLE),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before the command."""
    use_settings(context, config)


app.command(rich_help_panel=TRY)(check)


@app.command(rich_help_panel=TRY)
def explain(
    log: Annotated[str, typer.Argument(help=LOGS_HELP)],
    output: Annotated[
        TableOrJson, typer.Option("--format", help="A table, or one JSON object a line for each query.")
    ] = "table",
    query: Annotated[
        int | None, typer.Option(help="Only the query with this number, Spark's SQL execution id.")
    ] = None,
    why: Annotated[
        bool,
        typer.Option("--why", help="Also sizes, price, every option not taken, flip points, wait, and filters."),
    ] = False,
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Show a line for each query and for each of its joins, limits and inferred predicates: the choice and its reason.

    Spark writes event logs to spark.eventLog.dir when spark.eventLog.enabled is true. Single and rolling logs are
    read, plain or compressed (zstd; lz4 and snappy need the extra "codecs"), also while the application runs.

    Example: aqe-plugin explain /tmp/spark-events --query 7 --why
    """
    skipped: list[Skipped] = []
    stdout = stdout_console()
    with log_progress(Console(stderr=True)) as progress:
        conf = conf_of(hadoop_conf or [])
        printed = 0
        known: set[int] = set()
        for found in queries_of(log, skipped.append, conf, progress.track):
            known.add(found.execution_id)
            if query is not None and found.execution_id != query:
                continue
            printed += 1
            if stdout.is_terminal:
                progress.hide()
            if output == "json":
                print_json(encode(found), stdout)
            elif stdout.is_terminal:
                stdout.print(query_table(found) if why else query_lines(found))
            else:
                print_lines(plain_lines(found, why), stdout)
    whole = [one for one in skipped if one.line is None]
    if printed == 0 and Path(log).is_file() and whole:
        raise EventLogError(f"{whole[0]}.")
    if printed == 0 and len(whole) == progress.read > 0:
        raise NoDataError(
            f"{log}: no event log in it: {len(whole):,} {'file is' if len(whole) == 1 else 'files are'} something "
            f"else, the first: {whole[0]}. Give the folder that spark.eventLog.dir names."
        )
    _report_skipped(skipped)
    if printed == 0:
        raise _no_decision(log, query, known, "" if known else first_undecided(log, conf))


app.command(rich_help_panel=TRY)(compare)


@app.command(rich_help_panel=INSTALL)
def path(
    carried: Annotated[
        Literal["jar", "script"],
        typer.Argument(metavar="jar|script", help="The plugin's jar, or the script of `aqe-plugin pipeline`."),
    ],
    spark: Annotated[
        str | None, typer.Option(help="The jar's Spark version or line, e.g. 4.1; without it, that of PySpark.")
    ] = None,
) -> None:
    """Print the path of a file that spark-submit takes: the jar for a Spark line, or the script of the pipeline.

    Example: spark-submit --jars "$(aqe-plugin path jar)" --conf spark.plugins=io.aqeplugin.AqePlugin job.py
    """
    if carried == "script":
        typer.echo(PIPELINE_SCRIPT)
    else:
        typer.echo(jar_for(spark if spark is not None else import_pyspark().__version__))


for command in (install, rollback, uninstall, history):
    app.command(rich_help_panel=INSTALL)(command)
app.command(rich_help_panel=INSTALL)(config)
app.command(rich_help_panel=WATCH)(run)
app.add_typer(pipeline, rich_help_panel=WATCH)
app.command("recommend", rich_help_panel=TUNE)(recommend_command)
app.command(rich_help_panel=TUNE)(calibrate)
app.command(rich_help_panel=TUNE)(rollout)


def _flow(group: typer.Typer) -> None:
    """Joins the lines of each paragraph of help, which a terminal breaks at its own width, but breaks no example."""
    for command in group.registered_commands:
        text = inspect.getdoc(command.callback) or ""
        paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
        command.help = "\n\n".join(f"\b\n{one}" if one.startswith("Example:") else one for one in paragraphs)
        # Without it the list of commands cuts sentences off.
        command.short_help = paragraphs[0]
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            inner.short_help = inner.typer_instance.info.help
            _flow(inner.typer_instance)


_flow(app)


def _report_skipped(skipped: list[Skipped]) -> None:
    for item in skipped[:_SKIPPED_SHOWN]:
        warn(f"skipped {item}")
    if len(skipped) > _SKIPPED_SHOWN:
        warn(f"skipped {len(skipped) - _SKIPPED_SHOWN} more")


def _no_decision(log: str, query: int | None, known: Set[int], why: str) -> NoDataError:
    if query is not None and known:
        found = (
            f"query {min(known)}" if len(known) == 1 else f"{len(known):,} queries from {min(known)} to {max(known)}"
        )
        return NoDataError(f"{log}: no decision of aqe-plugin for query {query} in it; it has those of {found}.")
    if why:
        return NoDataError(f"{log}: no decision of aqe-plugin in it. {why}.")
    return NoDataError(
        f"{log}: no decision of aqe-plugin in it. Were the queries run with the plugin (aqe-plugin check looks), "
        "spark.aqePlugin.mode observe or apply, and spark.sql.adaptive.enabled true?"
    )
