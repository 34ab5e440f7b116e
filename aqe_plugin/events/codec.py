"""Turns the plugin's JSON into frozen dataclasses and back.

A dataclass is its own schema: a field ``build_bytes: int`` is the JSON member ``buildBytes``. Members that no field
asks for are ignored, so newer plugins may add some; an ``X | None`` field may be absent or ``null``; every other field
must be there with the right type. Supported field types: ``int``, ``float``, ``str``, ``bool``, string enums,
dataclasses, ``tuple[X, ...]`` and ``X | None`` of them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from aqe_plugin.errors import EventSchemaError

__all__ = ["Json", "camel_case", "decode", "encode"]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
T = TypeVar("T")
_Decoder = Callable[[object, str], Any]

_ABSENT = object()
# JSON has no such numbers; Jackson writes them as these strings.
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
# What is beyond a Long of Scala is damage, and Spark's own reader of the same lines takes it for nothing.
_LONG = 2**63


def decode(shape: type[T], value: object, path: str = "") -> T:
    """Reads ``value``, parsed JSON, as a ``shape``.

    Raises:
        EventSchemaError: naming the member by its path (``decision.facts.build.rows``), what was expected, what came.
    """
    read = _decoder(cast("Any", shape))
    return cast("T", read(value, path or shape.__name__))


def encode(value: object) -> Json:
    """The JSON of a dataclass value; ``decode`` of it is the same value. ``None`` fields are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((camel_case(field.name), getattr(value, field.name)) for field in fields(value))
        return {name: encode(member) for name, member in members if member is not None}
    if isinstance(value, Enum):
        return cast("str", value.value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


@cache
def _decoder(shape: Any) -> _Decoder:
    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        return _optional(_decoder(next(option for option in get_args(shape) if option is not types.NoneType)))
    if origin is tuple:
        return _sequence(_decoder(get_args(shape)[0]))
    if isinstance(shape, type) and issubclass(shape, Enum):
        return _enum(shape)
    if is_dataclass(shape):
        return _dataclass(cast("type[Any]", shape))
    return _SCALARS[shape]


def _dataclass(shape: type[Any]) -> _Decoder:
    hints = get_type_hints(shape)
    members = [(field.name, camel_case(field.name), _decoder(hints[field.name])) for field in fields(shape)]

    def read(value: object, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise _mismatch(path, "an object", value)
        return shape(**{name: decoder(value.get(key, _ABSENT), f"{path}.{key}") for name, key, decoder in members})

    return read


def _optional(inner: _Decoder) -> _Decoder:
    return lambda value, path: None if value is None or value is _ABSENT else inner(value, path)


def _sequence(inner: _Decoder) -> _Decoder:
    def read(value: object, path: str) -> Any:
        if not isinstance(value, list):
            raise _mismatch(path, "a list", value)
        return tuple(inner(item, f"{path}[{index}]") for index, item in enumerate(value))

    return read


def _enum(shape: type[Enum]) -> _Decoder:
    allowed = {member.value: member for member in shape}

    def read(value: object, path: str) -> Enum:
        if not isinstance(value, str) or value not in allowed:
            raise _mismatch(path, f"one of {', '.join(allowed)}", value)
        return allowed[value]

    return read


def _integer(value: object, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -_LONG <= value < _LONG:
        return value
    raise _mismatch(path, "a whole number", value)


def _number(value: object, path: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _mismatch(path, "a number", value) from None
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    raise _mismatch(path, "a number", value)


def _text(value: object, path: str) -> str:
    if isinstance(value, str):
        return value
    raise _mismatch(path, "a string", value)


def _truth(value: object, path: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _mismatch(path, "true or false", value)


_SCALARS: dict[object, _Decoder] = {int: _integer, float: _number, str: _text, bool: _truth}


def _mismatch(path: str, expected: str, value: object) -> EventSchemaError:
    found = "nothing" if value is _ABSENT else repr(value)
    return EventSchemaError(f"{path}: expected {expected}, found {found[:80]}")


def camel_case(name: str) -> str:
    """The JSON member of a field."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
