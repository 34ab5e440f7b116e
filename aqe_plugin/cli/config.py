"""``config``, which shows what is set and by what, and ``completion``."""

from __future__ import annotations

import json
import os
from enum import Enum
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from aqe_plugin.cli.settings import settings_of
from aqe_plugin.cli.settings_file import find_settings
from aqe_plugin.errors import ConfError
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.terminal import stdout_console, visible


class Shell(str, Enum):
    """The shells that completion is offered for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


config = typer.Typer(
    name="config",
    no_args_is_help=True,
    help="Look at the settings of all options. The command line comes first, then variables "
    "(AQE_PLUGIN__EXPLAIN__FORMAT=json), then ~/.config/aqe-plugin/config.toml, else /etc/aqe-plugin/config.toml "
    '([explain], a line format = "json").',
)


@config.command()
def show(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="Only settings of this command, e.g. export.")] = None,
    output: Annotated[TableOrJson, typer.Option("--format", help="A table or JSON lines.")] = TableOrJson.TABLE,
) -> None:
    """Show every setting, its value, and what sets it: environment, file or default.

    Every option is a setting. --port of export is AQE_PLUGIN__EXPORT__PORT in the environment, and port below
    [export] in the file: ~/.config/aqe-plugin/config.toml, else /etc/aqe-plugin/config.toml, unless --config names
    another. The command line wins over the environment, and the environment over the file.

    Example: aqe-plugin config show export
    """
    root = context.find_root()
    path = find_settings(root.params.get("config"), os.environ)
    settings = settings_of(root.command, os.environ, path)
    rows = [one for one in settings if command in (None, one.command)]
    if not rows:
        raise ConfError(f"{command}: no such command, or none with options; aqe-plugin --help lists all.")
    if output is TableOrJson.JSON:
        for one in rows:
            row = {
                "setting": f"{one.command}.{one.name}",
                "value": one.shown,
                "from": one.origin,
                "where": one.place or None,
            }
            typer.echo(json.dumps(row))
        return
    table = Table("setting", "value", "from", "where", box=box.SIMPLE_HEAD)
    for one in rows:
        cells = (f"{one.command}.{one.name}", _in_cell(one.shown), one.origin, one.place)
        table.add_row(*(Text(visible(cell)) for cell in cells), style="bold" if one.place else "dim")
    stdout_console().print(table)


def completion(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell to complete in.")]
) -> None:
    """Print the script with which a shell completes commands, options and their values.

    Example: aqe-plugin completion bash > ~/.local/share/bash-completion/completions/aqe-plugin
    """
    from typer.completion import shell_complete

    shell_complete(context.find_root().command, {}, "aqe-plugin", "_AQE_PLUGIN_COMPLETE", f"source_{shell.value}")


def _in_cell(value: Any) -> str:
    return "(not set)" if value is None else value if isinstance(value, str) else json.dumps(value)
