"""All commands of ``aqe-plugin``; those of one room stand in modules of their own."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Set
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from aqe_plugin.cli.calibrate import calibrate
from aqe_plugin.cli.config import completion, config
from aqe_plugin.cli.install import (
    TableOrJsonOption,
    history,
    install,
    rollback,
    status,
    uninstall,
    verify_command,
)
from aqe_plugin.cli.log_options import LOGS_HELP, AddressOption, ApplicationsOption, HadoopConfOption, PortOption
from aqe_plugin.cli.pipeline import pipeline
from aqe_plugin.cli.recommend import recommend_command
from aqe_plugin.cli.rollout import rollout
from aqe_plugin.cli.run import run
from aqe_plugin.cli.settings import PATH, message_with_value, use_settings
from aqe_plugin.cli.settings_file import CONFIG_VARIABLE
from aqe_plugin.errors import EXIT_CODES, EventLogError, NoDataError, SetupError
from aqe_plugin.events.json_values import encode
from aqe_plugin.install.health import doctor as doctor_checks
from aqe_plugin.install.jars import PACKAGE_VERSION, jar_for
from aqe_plugin.install.undecided import first_undecided
from aqe_plugin.logs import Skipped
from aqe_plugin.logs.addresses import conf_of
from aqe_plugin.logs.queries import queries_of
from aqe_plugin.machine.pyspark import import_pyspark
from aqe_plugin.render.checks import print_checks
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.progress import log_progress
from aqe_plugin.render.queries import plain_lines, query_lines, query_table
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console

_EXIT_CODES = f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."

_SKIPPED_SHOWN = 20


_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class _Commands(TyperGroup):
    """The commands; what is wrong with a value is said in plain words."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = message_with_value(error)
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
    help="Install and tune aqe-plugin, and explain or export its decisions on the joins of Spark queries.",
    epilog=_EXIT_CODES,
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
        typer.Option(
            envvar=CONFIG_VARIABLE,
            readable=False,
            metavar=PATH,
            help="The settings file to read; see aqe-plugin config --help.",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before the command."""
    use_settings(context, config)


@app.command("jar-path")
def jar_path(
    spark: Annotated[
        str | None, typer.Option(help="Spark version or line, e.g. 4.1; without it, that of the installed PySpark.")
    ] = None,
) -> None:
    """Print the path of the jar for a Spark line.

    Example: spark-submit --jars "$(aqe-plugin jar-path)" --conf spark.plugins=io.aqeplugin.AqePlugin job.py
    """
    typer.echo(jar_for(spark if spark is not None else import_pyspark().__version__))


@app.command()
def explain(
    log: Annotated[str, typer.Argument(help=LOGS_HELP)],
    output: Annotated[
        TableOrJson, typer.Option("--format", help="A table, or one JSON object a line for each query.")
    ] = (TableOrJson.TABLE),
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
            if output is TableOrJson.JSON:
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


@app.command()
def export(
    folder: Annotated[
        str, typer.Argument(help="The folder of event logs (spark.eventLog.dir), or its hdfs:// or s3a:// address.")
    ],
    port: PortOption = 9417,
    address: AddressOption = "127.0.0.1",
    applications: ApplicationsOption = 100,
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Serve the decisions in a folder of event logs to Prometheus, until stopped.

    Each scrape of /metrics reads new lines and new logs; /healthz and /readyz answer probes. For one that survives
    restarts see run.

    Example: aqe-plugin export /tmp/spark-events --port 9417
    """
    # Nothing else needs its libraries, which take longer to import than the rest.
    from aqe_plugin.exporter import on_signals, serve

    with ExitStack() as held:
        held.enter_context(on_signals(lambda *_: sys.exit(0)))
        conf = conf_of(hadoop_conf or [])
        served = held.enter_context(serve(folder, port, address, applications=applications, hadoop_conf=conf))
        say(f"Serving http://{address}:{served}/metrics - Ctrl-C stops.")
        threading.Event().wait()


@app.command()
def doctor(
    event_log: Annotated[
        Path | None,
        typer.Option(readable=False, metavar=PATH, help="Also check that this event log or folder can be read."),
    ] = None,
    session: Annotated[bool, typer.Option(help="Start a short real session with the plugin.")] = True,
    spark_home: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar=PATH,
            help="Another Spark, or a folder of its jars, in which to look up the classes that the jar needs.",
        ),
    ] = None,
    output: TableOrJsonOption = TableOrJson.TABLE,
) -> None:
    """Check Java, PySpark, the jar, Spark's classes, and the plugin in a real session; failures say how to fix them.

    A build of Spark that differs from its release is told which of its classes the jar misses, before a query does.
    """
    if not print_checks(doctor_checks(event_log, session, spark_home), output, stdout_console(soft_wrap=True)):
        raise typer.Exit(SetupError.exit_code)


app.command()(run)
app.command()(install)
app.command()(status)
app.command("verify")(verify_command)
for command in (rollback, uninstall, history):
    app.command()(command)
app.command("recommend")(recommend_command)
app.command()(calibrate)
app.command()(rollout)
app.add_typer(config)
app.command()(completion)
app.add_typer(pipeline)


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
        f"{log}: no decision of aqe-plugin in it. Were the queries run with the plugin (aqe-plugin doctor checks it), "
        "spark.aqePlugin.mode observe or apply, and spark.sql.adaptive.enabled true?"
    )
