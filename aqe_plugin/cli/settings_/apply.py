"""Puts what is set in the place of the commands' defaults, before an option is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aqe_plugin.cli.settings_.description import describe
from aqe_plugin.cli.settings_.file import find_file, read_file

if TYPE_CHECKING:
    from aqe_plugin.cli.settings_.resolve import Resolved

__all__ = ["defaults_of", "resolved"]

_PREFIX = "AQE_PLUGIN__"
# Which file is meant: whoever names one of the two nearer by means it instead of the other.
_TARGET, _HOME = "target", "spark-home"


def resolved(app: typer.Typer, environment: Mapping[str, str], given: Path | None) -> dict[tuple[str, str], Resolved]:
    """What is set for the commands of ``app``, by command and name.

    Args:
        given: the settings file to read, ``None`` for the one that is found.

    Raises:
        TargetError: the settings file cannot be read.
        ConfError: it, or the environment, sets something that there is not, or a value that is not allowed.
    """
    path = find_file(given, environment)
    if path is None and not any(name.startswith(_PREFIX) for name in environment):
        return {}
    # Most commands run without any of it, and pydantic takes longer to import than they take.
    from aqe_plugin.cli.settings_.resolve import resolve

    return resolve(describe(app), environment, None if path is None else read_file(path))


def defaults_of(settings: Mapping[tuple[str, str], Resolved], command: str, words: Sequence[str]) -> dict[str, Any]:
    """What takes the place of the defaults of ``command``, by parameter, as a parser takes it.

    Args:
        words: the command line, on which one of ``--target`` and ``--spark-home`` puts aside a setting of the other.
    """
    mine = {name: found for (owner, name), found in settings.items() if owner == command}
    if _TARGET in mine and (_named(_HOME, words) or _nearer(mine.get(_HOME), mine[_TARGET])):
        del mine[_TARGET]
    return {found.setting.parameter: _written(found.value) for found in mine.values()}


def _named(option: str, words: Sequence[str]) -> bool:
    return any(word == f"--{option}" or word.startswith(f"--{option}=") for word in words)


def _nearer(one: Resolved | None, other: Resolved) -> bool:
    order = list(type(other.origin))
    return one is not None and order.index(one.origin) < order.index(other.origin)


def _written(value: Any) -> Any:
    if isinstance(value, list):
        return [_written(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
