"""Reading JSON in native code: the values that the careful reader gives, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.codec import decode, encode
from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import JoinDecided, QueryEnded, Reason
from aqe_plugin.events.native_json import read_text
from samples import decided, ended, line

finite = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, finite)
values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["NaN", "inner", "apply"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def carefully(shape: type[Any], text: bytes) -> object:
    """What the careful reader makes of it; an error when it says one."""
    try:
        return decode(shape, json.loads(text))
    except (ValueError, RecursionError, EventSchemaError) as error:
        return error


def members(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all members of a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [found for key, one in inner for found in members(one, (*path, key))]


@given(st.from_type(JoinDecided) | st.from_type(QueryEnded), st.booleans())
def test_every_event_is_taken_as_it_is(event: JoinDecided | QueryEnded, ascii_alone: bool) -> None:
    text = json.dumps(encode(event), ensure_ascii=ascii_alone)
    if not ascii_alone or not any("\ud800" <= char <= "\udfff" for char in str(event)):
        assert read_text(type(event), text.encode("utf-8", "surrogatepass")) in (event, None)
    assert read_text(JoinDecided, line(decided())) == decided()
    assert read_text(QueryEnded, line(ended())) == ended()


@given(st.sampled_from(members(json.loads(line(decided())))), values, st.booleans())
def test_any_other_member_is_read_as_the_careful_reader_does_or_not_at_all(
    path: tuple[str | int, ...], value: object, absent: bool
) -> None:
    damaged = holder = json.loads(line(decided()))
    for step in path[:-1]:
        holder = holder[step]
    if absent:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    text = json.dumps(damaged).encode()
    found = read_text(JoinDecided, text)
    assert found is None or found == carefully(JoinDecided, text)


@given(st.data())
def test_any_other_byte_is_read_as_the_careful_reader_does_or_not_at_all(data: st.DataObject) -> None:
    text = line(ended())
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.binary(max_size=3)) + text[at + data.draw(st.integers(0, 2)) :]
    found = read_text(QueryEnded, damaged)
    assert found is None or found == carefully(QueryEnded, damaged)


@pytest.mark.parametrize(
    "text",
    [
        b'{"code":"X","unit":"","confKey":"","more":"\xff"}',
        b'{"code":"X","unit":"","confKey":"","\xff":1}',
        b'{"code":"X","unit":"\xff","confKey":""}',
        b'{"code":"X","unit":"","confKey":""',
        b"[" * 100_000,
    ],
)
def test_what_is_no_json_is_declined(text: bytes) -> None:
    assert read_text(Reason, text) is None


@pytest.mark.parametrize(("number", "taken"), [(2**63 - 1, True), (-(2**63), True), (2**63, False), (-(2**80), False)])
def test_a_number_beyond_a_long_is_left_to_the_careful_reader(number: int, taken: bool) -> None:
    assert (read_text(QueryEnded, line(ended(), durationMillis=number)) is not None) is taken


@pytest.mark.parametrize("measured", [b'"NaN"', b"1e400", b"123456789012345678901234567890"])
def test_an_event_that_is_declined_for_an_odd_number_is_read_all_the_same(measured: bytes) -> None:
    text = line(decided()).replace(b'"measured":812.0', b'"measured":' + measured)
    assert text != line(decided())
    event = parse_event(text)
    assert isinstance(event, JoinDecided)
    assert repr(event.decision.reason.measured) == repr(float(json.loads(measured)))
