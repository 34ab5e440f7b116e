"""The command ``config``, which shows what is set and by what."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from aqe_plugin.cli.settings import PREFIX, Setting, find_settings, settings_of
from aqe_plugin.conf.credentials import HIDDEN, without_credentials, without_secret_value
from aqe_plugin.errors import ConfError
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.terminal import drawn_table, stdout_console, visible


def config(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="Only settings of this command, e.g. run.")] = None,
    output: Annotated[TableOrJson, typer.Option("--format", help="A table or JSON lines.")] = "table",
) -> None:
    """Show the settings of all options, their values, and what sets them: environment, file or default.

    Every option is a setting. --port of run is AQE_PLUGIN__RUN__PORT in the environment, and port below [run] in the
    file: ~/.config/aqe-plugin/config.toml, else /etc/aqe-plugin/config.toml, unless --config names another. The command
    line wins over the environment, and the environment over the file.

    Example: aqe-plugin config run
    """
    root = context.find_root()
    path = find_settings(root.params.get("config"), os.environ)
    settings = settings_of(root.command, os.environ, path)
    rows = [one for one in settings if command in (None, one.command)]
    if not rows:
        raise ConfError(f"{command}: no such command, or none with options; aqe-plugin --help lists all.")
    if output == "json":
        for one in rows:
            row = {
                "setting": f"{one.command}.{one.name}",
                "value": _shown(one),
                "from": _origin(one),
                "where": one.place or None,
            }
            typer.echo(json.dumps(row))
        return
    table = drawn_table("setting", "value", "from", "where")
    for one in rows:
        cells = (f"{one.command}.{one.name}", _in_cell(_shown(one)), _origin(one), one.place)
        table.add_row(*(Text(visible(cell)) for cell in cells), style="bold" if one.place else "dim")
    stdout_console().print(table)


def _origin(one: Setting) -> str:
    return "default" if not one.place else "environment" if one.place.startswith(PREFIX) else "file"


def _shown(one: Setting) -> Any:
    """The value for anybody's eyes, fit for JSON."""
    if one.option.hidden and one.value is not None:
        return HIDDEN
    return [_plain(each) for each in one.value] if isinstance(one.value, list) else _plain(one.value)


def _plain(value: Any) -> Any:
    return without_credentials(without_secret_value(str(value))) if isinstance(value, str | Path) else value


def _in_cell(value: Any) -> str:
    return "(not set)" if value is None else value if isinstance(value, str) else json.dumps(value)
