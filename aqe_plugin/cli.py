"""The ``aqe-plugin`` command."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from aqe_plugin.errors import AqePluginError
from aqe_plugin.jars import PACKAGE_VERSION, jar_for
from aqe_plugin.session import import_pyspark

__all__ = ["app", "main"]

_EXIT_CODES = (
    "Exit codes: 0 done, 1 a fault of aqe-plugin itself, 2 command line not understood, "
    "3 this machine or installation lacks something, 4 the input cannot be read or holds no data, "
    "5 a value is not allowed, 6 the port is taken."
)

app = typer.Typer(
    name="aqe-plugin",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Explains and exports what aqe-plugin decided for the joins of Spark queries.",
    epilog=_EXIT_CODES,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(PACKAGE_VERSION)
        raise typer.Exit


@app.callback()
def _all_commands(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before the command."""


@app.command("jar-path")
def jar_path(
    spark: Annotated[
        str | None, typer.Option(help="Spark version or line, e.g. 4.1; the installed PySpark's when left out.")
    ] = None,
) -> None:
    """Print the path of the jar for a Spark line: spark-submit --jars $(aqe-plugin jar-path)."""
    typer.echo(jar_for(spark if spark is not None else import_pyspark().__version__))


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; errors become one red line on stderr and an exit code (see ``aqe_plugin.errors``)."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words
    try:
        # typer itself answers a command line that it does not understand, and leaves by SystemExit.
        app([word for word in words if word != "--debug"])
    except AqePluginError as error:
        _fail(str(error), error.exit_code, debug)
    except Exception as error:  # noqa: BLE001 - the last resort: a user never sees a traceback unasked
        _fail(f"{type(error).__name__}: {error} (a fault of aqe-plugin; --debug shows where)", 1, debug)


def _fail(message: str, exit_code: int, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    Console(stderr=True, soft_wrap=True).print(Text(message, style="red"))
    sys.exit(exit_code)
