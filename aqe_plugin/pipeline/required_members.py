"""The members that an event needs, those of its dataclass in :mod:`aqe_plugin.events.model`, as SQL conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from aqe_plugin.events.json_values import camel_case, is_optional, required, words_of

# A member, and a condition that holds unless it is missing.
Rule = tuple[str, str]


def rules_of(model: Any, column: str) -> list[Rule]:
    """The rules of the dataclass ``model``, read into the struct ``column``; all hold for a complete event."""
    return list(_of_members(model, column, model.__name__))


def _of_members(model: Any, column: str, path: str) -> Iterator[Rule]:
    hints = get_type_hints(model)
    for field in fields(model):
        name = camel_case(field.name)
        hint = hints[field.name]
        # A member with a default is absent in events of older plugins.
        may_be_absent = hint if field.default is MISSING else hint | None
        yield from _of_value(may_be_absent, f"{column}.`{name}`", f"{path}.{name}")


def _of_value(model: Any, column: str, path: str) -> Iterator[Rule]:
    if is_optional(model):
        # It may be absent, or else is complete.
        _, *rest = _of_value(required(model), column, path)
        yield from ((member, f"({column} IS NULL OR {condition})") for member, condition in rest)
        return
    yield path, f"{column} IS NOT NULL"
    if get_origin(model) is tuple:
        # A variable for each level, so that an array in an array keeps its own.
        item = f"i{path.count('.')}"
        yield from (
            (member, f"forall({column}, {item} -> {condition})")
            for member, condition in _of_value(get_args(model)[0], item, f"{path}[]")
        )
    elif words := words_of(model):
        allowed = ", ".join(f"'{word}'" for word in words)
        yield path, f"{column} IN ({allowed})"
    elif is_dataclass(model):
        yield from _of_members(model, column, path)
