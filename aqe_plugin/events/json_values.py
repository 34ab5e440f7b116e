"""JSON into frozen dataclasses, by msgspec, and back.

A dataclass is its own schema: a field ``build_bytes: int`` is the JSON member ``buildBytes``. Unknown members are
ignored, so a newer plugin may add some. A field of type ``X | None`` may be absent or ``null``; every other member is
required, with its type. Field types are ``int``, ``float``, ``str``, ``bool``, string enums, literals, dataclasses,
``tuple[X, ...]`` and ``X | None`` of them.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Optional, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from aqe_plugin.errors import EventSchemaError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
T = TypeVar("T")

# What msgspec says of a value of another type; the path has members and the numbers of items.
_WRONG_TYPE = re.compile(r"(?P<types>Expected `\w+`, got `(?!null`)\w+`)(?P<where>(?: - at `\$(?P<path>[\w.\[\]]+)`)?)")
_STEPS = re.compile(r"\.(?P<member>\w+)|\[(?P<item>\d+)\]")
_MAX_FOUND = 80

# The range of a Scala Long. A number outside is damage, and Spark's own reader of the same lines refuses it too.
_LONG = 2**63


def decode(shape: type[T], value: object) -> T:
    """``value``, parsed JSON, as a ``shape``.

    Raises:
        EventSchemaError: names the member by its path, and the expected type.
    """
    _, convert = _readers(cast("Any", shape))
    found: T = _read(convert, value, shape.__name__)
    return found


def decode_text(shape: type[T], text: bytes, name: str = "") -> T:
    """``text``, one JSON value, as a ``shape``; errors are those of ``decode``.

    Args:
        name: what error messages call the value; the name of ``shape`` when empty.
    """
    parse, convert = _readers(cast("Any", shape))
    name = name or shape.__name__
    found: T
    try:
        found = parse(text)
    except (ValueError, RecursionError):
        # Python's parser accepts what msgspec refuses, half a character or 1e400, and what both refuse is an error.
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise EventSchemaError(f"{name}: not valid JSON") from error
        found = _read(convert, value, name)
    return found


def _read(read: Callable[[Any], Any], value: object, name: str) -> Any:
    try:
        return read(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise EventSchemaError(f"{name}: {_with_found(str(error), value)}") from error


def _with_found(problem: str, value: Any) -> str:
    """``problem``, one of msgspec's, with the found value after its type."""
    told = _WRONG_TYPE.fullmatch(problem)
    if told is None:
        return problem
    for step in _STEPS.finditer(told["path"] or ""):
        value = value[step["member"] if step["item"] is None else int(step["item"])]
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return problem
    shown = text if len(text) <= _MAX_FOUND else f"{text[:_MAX_FOUND]}..."
    return f"{told['types']} {shown}{told['where']}"


def encode(value: object) -> Any:
    """The JSON of a dataclass value, which ``decode`` turns back into an equal value; ``None`` fields are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        members = ((camel_case(field.name), getattr(value, field.name)) for field in fields(value))
        return {name: encode(member) for name, member in members if member is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def camel_case(name: str) -> str:
    """The JSON member of a field."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def _readers(shape: Any) -> tuple[Callable[[bytes], Any], Callable[[object], Any]]:
    """Readers of JSON text and of parsed JSON."""
    # Imported here because sessions work without msgspec.
    import msgspec

    # msgspec renames members for structs only, so a struct is read first and then made into the dataclass.
    struct = _struct(shape)
    parse, convert = msgspec.json.Decoder(struct).decode, msgspec.convert
    return (
        lambda text: convert(parse(text), shape, from_attributes=True),
        lambda value: convert(convert(value, struct), shape, from_attributes=True),
    )


def _struct(shape: Any) -> Any:
    """``shape`` with a struct in the place of each dataclass."""
    import msgspec

    if is_optional(shape):
        return Optional[_struct(required(shape))]  # noqa: UP045 - `|` is for types that are known when the code is written
    if get_origin(shape) is tuple:
        return tuple[_struct(get_args(shape)[0]), ...]  # type: ignore[misc]
    if shape is int:
        return Annotated[int, msgspec.Meta(ge=-_LONG, le=_LONG - 1)]
    if not is_dataclass(shape):
        return shape
    members = [
        (name, _struct(hint), None) if is_optional(hint) else (name, _struct(hint))
        for name, hint in get_type_hints(shape).items()
    ]
    return msgspec.defstruct(cast("type", shape).__name__, members, rename=camel_case, kw_only=True)


def words_of(hint: Any) -> tuple[str, ...]:
    """The words that a type allows, of a ``Literal``; empty for other types."""
    return get_args(hint) if get_origin(hint) is Literal else ()


def is_optional(hint: Any) -> bool:
    """Whether a type is ``X | None``."""
    return get_origin(hint) in (Union, types.UnionType)


def required(hint: Any) -> Any:
    """``X`` of the type ``X | None``, and any other type as it is."""
    return next(one for one in get_args(hint) if one is not types.NoneType) if is_optional(hint) else hint
