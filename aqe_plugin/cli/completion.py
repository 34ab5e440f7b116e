"""Shell completion: a script that knows every command, option and value, so that no TAB starts Python."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from enum import Enum
from typing import Any

import shtab

from aqe_plugin.cli.settings_.description import CommandSettings, Setting

__all__ = ["completion_script"]

_PROGRAM = "aqe-plugin"
_GROUP_HELP = "More commands."


def completion_script(commands: Sequence[CommandSettings], shell: str) -> str:
    """The script to be read by ``shell`` (bash, zsh, fish); what it offers is what ``commands`` say."""
    parser = _with_help(argparse.ArgumentParser(prog=_PROGRAM, add_help=False))
    parser.add_argument("--debug", action="store_true", help="Show the traceback of an error.")
    parser.add_argument("--version", action="store_true", help="Print the version and stop.")
    _with_files(parser.add_argument("--config", help="The settings file to read."))
    below = parser.add_subparsers(dest="command")
    groups: dict[str, Any] = {}
    for command in commands:
        *group, word = command.words
        for name in group:
            if name not in groups:
                made = _with_help(below.add_parser(name, help=_GROUP_HELP, add_help=False))
                groups[name] = made.add_subparsers(dest="job")
        place = groups[group[0]] if group else below
        inner = _with_help(place.add_parser(word, help=_plain(command.help), add_help=False))
        for setting in (one for one in command.settings if not one.secret):
            _add_option(inner, setting)
        for argument in command.arguments:
            added = inner.add_argument(argument.name, nargs="*", choices=argument.choices or None)
            if argument.is_path:
                _with_files(added)
    return str(shtab.complete(parser, shell=shell))


def _add_option(parser: argparse.ArgumentParser, setting: Setting) -> None:
    names = [f"--{setting.name}"]
    if setting.shape is bool:
        # As typer names them: a switch that is on has a name to turn it off.
        names += [f"--no-{setting.name}"] if setting.default is True else []
        for name in names:
            parser.add_argument(name, action="store_true", help=_plain(setting.help))
        return
    choices = [str(one.value) for one in setting.shape] if issubclass(setting.shape, Enum) else None
    added = parser.add_argument(*names, choices=choices, help=_plain(setting.help))
    if setting.is_path:
        _with_files(added)


def _with_help(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """argparse's own would offer -h, which is no option here."""
    parser.add_argument("--help", action="store_true", help="Show this message and exit.")
    return parser


def _with_files(action: argparse.Action) -> None:
    action.complete = shtab.FILE  # type: ignore[attr-defined]


def _plain(text: str) -> str:
    """``text`` without what argparse would fill in."""
    return text.replace("%", "%%")
