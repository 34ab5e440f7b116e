"""How the package's code is built: what a reader may rely on in every module."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import typer

import aqe_plugin
from aqe_plugin import errors
from aqe_plugin.cli.app import app

PACKAGE = Path(aqe_plugin.__file__).parent
MODULES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
MOST_POSITIONAL = 5


def commands(group: typer.Typer) -> Iterator[str]:
    """The functions that Typer calls, by name, and never by position."""
    for command in (*group.registered_commands, group.registered_callback):
        if command is not None and command.callback is not None:
            yield command.callback.__name__
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield from commands(inner.typer_instance)


def test_no_function_takes_more_than_five_positional_parameters() -> None:
    exempt = set(commands(app))
    too_many = []
    for module, tree in MODULES.items():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            positional = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
            count = len(positional) - (positional[:1] in (["self"], ["cls"]))
            if count > MOST_POSITIONAL and not (module.startswith("cli/") and function.name in exempt):
                too_many.append(f"{module}: {function.name} takes {count}")
    assert too_many == []


def test_no_two_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for module, tree in MODULES.items():
        for one in ast.walk(tree):
            if isinstance(one, ast.ClassDef):
                homes[one.name].append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_the_drawn_tree_of_errors_is_that_of_the_classes() -> None:
    drawn = re.findall(r"(\w+Error)\b", (errors.__doc__ or "").partition("Messages are")[0])
    classes = [one.__name__ for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    assert sorted(drawn) == sorted(classes)
