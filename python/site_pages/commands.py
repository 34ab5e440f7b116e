"""A page for each command of ``aqe-plugin``, from what its ``--help`` is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import typer

from aqe_plugin.cli.app import app

__all__ = ["command_list", "command_pages"]

_PROGRAM = "aqe-plugin"
_FOLDER = "reference/commands"
_EXAMPLE = re.compile(r"^(?:\x08\n)?Examples?:\s*", re.DOTALL)


@cache
def _program() -> Any:
    return typer.main.get_command(app)


def command_pages() -> dict[str, str]:
    """Name of the page → its text, in the order of ``--help``."""
    return {f"{_FOLDER}/{name}": "\n".join(_page(command, name)) for name, command in _program().commands.items()}


def command_list(page: str) -> str:
    """A table of all commands, for the page of that name, and the options that stand before them."""
    folder = PurePosixPath(_FOLDER).relative_to(PurePosixPath(page).parent)
    rows = [
        f"| [`{name}`]({folder}/{name}.md) | {command.rich_help_panel} | {_escaped(command.short_help or '')} |"
        for name, command in _program().commands.items()
    ]
    lines = ["## Commands", "", "| Command | For | What it does |", "|---|---|---|", *rows, ""]
    lines += ["Before the command:", "", *_parameters(_program(), typer.Context(_program()), "option")]
    return "\n".join([*lines, _escaped(_program().epilog)])


def _page(command: Any, name: str) -> Iterator[str]:
    yield from (f"# {_PROGRAM} {name}", "")
    if not hasattr(command, "commands"):
        yield from _described(command, name)
        return
    yield from (_escaped(command.help or ""), "")
    for inner_name, inner in command.commands.items():
        yield from (f"## {name} {inner_name}", "")
        yield from _described(inner, f"{name} {inner_name}")


def _described(command: Any, name: str) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    first, *others = (command.help or "").split("\n\n")
    usage = " ".join([_PROGRAM, name, *command.collect_usage_pieces(context)])
    yield from (_escaped(first), "", "```text", usage, "```", "")
    for paragraph in others:
        if found := _EXAMPLE.match(paragraph):
            yield from ("```bash", paragraph[found.end() :], "```", "")
        else:
            yield from (_escaped(paragraph.removeprefix("\x08\n")), "")
    for kind in ("argument", "option"):
        yield from _parameters(command, context, kind)


def _parameters(command: Any, context: typer.Context, kind: str) -> Iterator[str]:
    records = [one.get_help_record(context) for one in command.get_params(context) if one.param_type_name == kind]
    rows = [record for record in records if record is not None]
    if rows:
        yield from (f"| {kind.capitalize()} | |", "|---|---|")
        yield from (f"| `{_in_table(names)}` | {_in_table(_escaped(text))} |" for names, text in rows)
        yield ""


def _escaped(text: str) -> str:
    """Text in which only what stands between backticks means something to Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]{}$#])", r"\\\1", part) for part in parts)


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")
