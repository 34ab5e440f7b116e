"""What is set, where, and what could be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqe_plugin.cli.settings_.description import CommandSettings, Setting
from aqe_plugin.cli.settings_.file import toml_value
from aqe_plugin.conf.stores.session_address import without_secrets
from aqe_plugin.render.terminal import shown

if TYPE_CHECKING:
    from aqe_plugin.cli.settings_.resolve import Resolved

__all__ = ["print_settings", "print_settings_json", "settings_as_toml"]

_Settings = Mapping[tuple[str, str], "Resolved"]
_DEFAULT = "default"


def print_settings(commands: Sequence[CommandSettings], settings: _Settings, console: Console) -> None:
    """One row for each setting, those that are set in bold."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("setting", "value", "from", "where"):
        table.add_column(name, overflow="fold")
    for command, setting in _each(commands):
        found = settings.get((command.name, setting.name))
        value = setting.default if found is None else setting.shown(found.value)
        cells = (
            f"{command.name}.{setting.name}",
            "(not set)" if value is None else _told(value),
            _DEFAULT if found is None else found.origin.value,
            "" if found is None else found.place,
        )
        table.add_row(*(Text(shown(cell)) for cell in cells), style="dim" if found is None else "bold")
    console.print(table)


def print_settings_json(commands: Sequence[CommandSettings], settings: _Settings, console: Console) -> None:
    """One JSON object a line (JSON Lines), one for each setting."""
    for command, setting in _each(commands):
        found = settings.get((command.name, setting.name))
        told = {
            "setting": f"{command.name}.{setting.name}",
            "value": _json(setting.default if found is None else setting.shown(found.value)),
            "from": _DEFAULT if found is None else found.origin.value,
            "where": None if found is None else found.place,
            "default": _json(setting.default),
            "allowed": setting.allowed,
        }
        console.file.write(json.dumps(told) + "\n")


def settings_as_toml(commands: Sequence[CommandSettings], settings: _Settings) -> str:
    """A settings file that sets what is set now, passwords left out; what is not set stands in it as a comment."""
    blocks = []
    for command in commands:
        lines = [f"[{command.name}]"] if command.settings else []
        for setting in command.settings:
            found = settings.get((command.name, setting.name))
            lines.append(f"# {setting.help}" if setting.help else f"# {setting.allowed}")
            if found is not None and setting.shown(found.value) != found.value:
                lines.append(f"# {setting.name} = (set, and not shown; {found.place})")
            elif found is not None:
                lines.append(f"{setting.name} = {toml_value(_json(found.value))}")
            elif setting.default is None:
                lines.append(f"# {setting.name} = (not set; {setting.allowed})")
            else:
                lines.append(f"# {setting.name} = {toml_value(setting.default)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _each(commands: Sequence[CommandSettings]) -> Iterator[tuple[CommandSettings, Setting]]:
    return ((command, setting) for command in commands for setting in command.settings)


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return without_secrets(str(value)) if isinstance(value, Path) else value


def _told(value: object) -> str:
    return json.dumps(_json(value)) if isinstance(value, list | bool) else str(_json(value))
