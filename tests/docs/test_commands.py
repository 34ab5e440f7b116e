"""Commands that the documentation has people type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from aqe_plugin.cli.app import app

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^(?:\w+=\S+ )*aqe-plugin (.*)$", re.MULTILINE)
COMMANDS: Any = typer.main.get_command(app)


def typed() -> Iterator[tuple[str, str]]:
    """Page and words of every command line that begins a line of a block."""
    for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]):
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            yield from ((page.relative_to(ROOT).as_posix(), words) for words in _TYPED.findall(block))


@pytest.mark.parametrize(("page", "words"), sorted(set(typed())))
def test_every_command_of_a_page_exists_with_its_options(page: str, words: str) -> None:
    name, *rest = given_words = shlex.split(words, comments=True)
    if name.startswith("-"):
        command, rest = COMMANDS, given_words
    else:
        command = COMMANDS.commands[name]
    if command is not COMMANDS and hasattr(command, "commands"):
        command, *rest = command.commands[rest[0]], *rest[1:]
    known = {spelling for option in command.params for spelling in option.opts + option.secondary_opts}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    assert given - known - {"--help"} == set()
