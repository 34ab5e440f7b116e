"""All commands of ``aqe-plugin``; those of one room stand in modules of their own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from aqe_plugin.cli.calibrate import calibrate
from aqe_plugin.cli.check import check
from aqe_plugin.cli.compare import compare
from aqe_plugin.cli.config import config
from aqe_plugin.cli.explain import explain
from aqe_plugin.cli.install import history, install, rollback, uninstall
from aqe_plugin.cli.pipeline import PIPELINE_SCRIPT, pipeline
from aqe_plugin.cli.recommend import recommend_command
from aqe_plugin.cli.rollout import rollout
from aqe_plugin.cli.run import run
from aqe_plugin.cli.settings import CONFIG_VARIABLE, of_a_setting, path_option, use_settings
from aqe_plugin.errors import EXIT_CODES
from aqe_plugin.install.jars import PACKAGE_VERSION, jar_for
from aqe_plugin.machine.pyspark import import_pyspark

_EXIT_CODES = f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."

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
app.command(rich_help_panel=TRY)(explain)


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
