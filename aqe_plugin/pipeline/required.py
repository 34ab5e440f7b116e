"""What makes an event whole: every member that a dataclass of :mod:`aqe_plugin.events.model` asks for, in SQL."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from aqe_plugin.events.json_values import camel_case

__all__ = ["Rule", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that holds for a whole event, and the member that lacks when it does not."""

    member: str
    condition: str


def rules_of(shape: Any, column: str) -> tuple[Rule, ...]:
    """The rules of the dataclass ``shape``, read into the struct ``column``."""
    return tuple(_of_members(shape, column, shape.__name__))


def _of_members(shape: Any, column: str, path: str) -> Iterator[Rule]:
    hints = get_type_hints(shape)
    for field in fields(shape):
        name = camel_case(field.name)
        yield from _of_value(hints[field.name], f"{column}.`{name}`", f"{path}.{name}")


def _of_value(shape: Any, column: str, path: str) -> Iterator[Rule]:
    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        inner = next(option for option in get_args(shape) if option is not types.NoneType)
        # It may be absent; what is there is whole.
        _, *rest = _of_value(inner, column, path)
        yield from (Rule(rule.member, f"({column} IS NULL OR {rule.condition})") for rule in rest)
        return
    yield Rule(path, f"{column} IS NOT NULL")
    if origin is tuple:
        # A variable for each level, so that an array in an array keeps its own.
        item = f"i{path.count('.')}"
        yield from (
            Rule(rule.member, f"forall({column}, {item} -> {rule.condition})")
            for rule in _of_value(get_args(shape)[0], item, f"{path}[]")
        )
    elif isinstance(shape, type) and issubclass(shape, Enum):
        allowed = ", ".join(f"'{member.value}'" for member in shape)
        yield Rule(path, f"{column} IN ({allowed})")
    elif is_dataclass(shape):
        yield from _of_members(shape, column, path)
