"""JSON text into frozen dataclasses by msgspec: what :mod:`aqe_plugin.events.codec` does, some seven times faster.

It takes a text or declines it, and never says why: whoever is declined asks ``codec`` instead, whose answer, value or
error, is the one that counts. Whatever is taken here, ``codec`` would have read as the same value.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Optional, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from aqe_plugin.events.codec import camel_case

__all__ = ["read_text"]

T = TypeVar("T")
_LONG = 2**63


def read_text(shape: type[T], text: bytes) -> T | None:
    """``text`` as a ``shape``; ``None`` when it is none, or something in it is odd.

    Odd are half of a character, and a number beyond a Long or a double.
    """
    value: T | None = _reader(cast("Any", shape))(text)
    return value


@cache
def _reader(shape: Any) -> Callable[[bytes], Any]:
    # Only what reads events needs it, and a command that reads none starts sooner without.
    import msgspec

    # msgspec renames members for its own structs alone, so a struct is read and made into the dataclass.
    parse = msgspec.json.Decoder(_twin(shape)).decode
    convert = msgspec.convert

    def read(text: bytes) -> Any:
        try:
            # Members that are passed over are not looked at for UTF-8.
            if not text.isascii():
                text.decode()
            return convert(parse(text), shape, from_attributes=True)
        except (ValueError, RecursionError):
            return None

    return read


def _twin(shape: Any) -> Any:
    """``shape`` with a struct in the place of each dataclass; made anew each time, as a reader is made once."""
    import msgspec

    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        inner = _twin(next(option for option in get_args(shape) if option is not types.NoneType))
        return Optional[inner]  # noqa: UP045 - `|` is for types that are known when the code is written
    if origin is tuple:
        return tuple[_twin(get_args(shape)[0]), ...]  # type: ignore[misc]
    if shape is int:
        # More than a Long of Scala is damage, which is the careful reader's matter.
        return Annotated[int, msgspec.Meta(ge=-_LONG, le=_LONG - 1)]
    if not is_dataclass(shape):
        return shape
    hints = get_type_hints(shape)
    members = [(field.name, _twin(hints[field.name]), *_absent(hints[field.name])) for field in fields(shape)]
    return msgspec.defstruct(f"{getattr(shape, '__name__', '')}Twin", members, rename=camel_case, kw_only=True)


def _absent(hint: Any) -> tuple[None, ...]:
    """What an absent member counts as, if it may be absent."""
    return (None,) if get_origin(hint) in (Union, types.UnionType) else ()
