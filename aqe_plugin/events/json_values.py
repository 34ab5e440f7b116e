"""JSON into frozen dataclasses, by msgspec, and back.

A dataclass is its own schema: a field ``build_bytes: int`` is the JSON member ``buildBytes``. Unknown members are
ignored, so a newer plugin may add some. A field of type ``X | None`` may be absent or ``null``; every other member is
required, with its type. Field types are ``int``, ``float``, ``str``, ``bool``, string enums, dataclasses,
``tuple[X, ...]`` and ``X | None`` of them.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Optional, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from aqe_plugin.errors import EventSchemaError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
T = TypeVar("T")

# The range of a Scala Long. A number outside is damage, and Spark's own reader of the same lines refuses it too.
_LONG = 2**63
_AT_PATH = re.compile(r"(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)


def decode(shape: type[T], value: object, name: str = "") -> T:
    """``value``, parsed JSON, as a ``shape``.

    Args:
        name: what error messages call the value; the name of ``shape`` when empty.

    Raises:
        EventSchemaError: names the member by its path (``decision.facts.build.rows``), with the expected type
            and the value.
    """
    _, convert = _readers(cast("Any", shape))
    try:
        return cast("T", convert(value))
    except (ValueError, OverflowError, RecursionError) as error:
        raise EventSchemaError(_problem(error, value, name or shape.__name__)) from error


def decode_text(shape: type[T], text: bytes, name: str = "") -> T:
    """``text``, one JSON value, as a ``shape``; arguments and errors are those of ``decode``."""
    parse, _ = _readers(cast("Any", shape))
    try:
        value: T = parse(text)
    except (ValueError, RecursionError):
        return _decode_slowly(shape, text, name)
    return value


def encode(value: object) -> Json:
    """The JSON of a dataclass value, which ``decode`` turns back into an equal value; ``None`` fields are left out."""
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


def encode_object(value: object) -> dict[str, Json]:
    """The JSON object of a dataclass value; see :func:`encode`."""
    members = encode(value)
    assert isinstance(members, dict)
    return members


def camel_case(name: str) -> str:
    """The JSON member of a field."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _decode_slowly(shape: type[T], text: bytes, name: str) -> T:
    # By Python's parser, so that errors show the value, and numbers that msgspec refuses (1e400) are accepted.
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventSchemaError(f"{name or shape.__name__}: not valid JSON") from error
    return decode(shape, value, name)


@cache
def _readers(shape: Any) -> tuple[Callable[[bytes], Any], Callable[[object], Any]]:
    """Readers of JSON text and of parsed JSON."""
    # Imported here because sessions and `jar-path` work without msgspec.
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


def is_optional(hint: Any) -> bool:
    """Whether a type is ``X | None``."""
    return get_origin(hint) in (Union, types.UnionType)


def required(hint: Any) -> Any:
    """``X`` of the type ``X | None``, and any other type as it is."""
    return next(one for one in get_args(hint) if one is not types.NoneType) if is_optional(hint) else hint


def _problem(error: Exception, value: Any, name: str) -> str:
    """msgspec's message with the path before it and the value behind it."""
    match = _AT_PATH.fullmatch(str(error))
    assert match is not None
    problem, path = match["problem"], match["path"] or ""
    found = value
    with suppress(KeyError, IndexError, TypeError):
        for member, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
            found = found[member] if member else found[int(index)]
    shown = "" if problem.startswith("Object missing") else f", found {repr(found)[:80]}"
    return f"{name}{path}: {problem[:1].lower()}{problem[1:]}{shown}"
