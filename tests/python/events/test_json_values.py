"""Dataclasses to JSON and back."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.json_values import decode, decode_text, encode
from aqe_plugin.events.model import JoinDecided, JoinDecision, QueryEnded, Reason
from samples import DECISION, decided, ended, line

finite = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, finite)
st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))
values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["NaN", "inner", "apply"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def members(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all members of a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [found for key, one in inner for found in members(one, (*path, key))]


def changed(path: tuple[str | int, ...] | list[str | int], value: object) -> Any:
    """A decision's JSON with another value at ``path``."""
    whole = holder = json.loads(line(decided()))
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return whole


def error_of(value: object) -> str:
    """The error for a decision in JSON, the same for the text and for the parsed value; empty when it is read."""
    errors = []
    for read in (decode, lambda shape, _: decode_text(shape, json.dumps(value).encode())):
        try:
            read(JoinDecided, value)
            errors.append("")
        except EventSchemaError as error:
            errors.append(str(error))
    assert errors[0] == errors[1]
    return errors[0]


@given(st.from_type(JoinDecided) | st.from_type(QueryEnded))
def test_every_event_survives_its_own_json(event: JoinDecided | QueryEnded) -> None:
    text = json.dumps(encode(event)).encode()
    assert decode(type(event), json.loads(text)) == decode_text(type(event), text) == event


@given(st.text(), st.none() | finite, st.none() | finite)
def test_a_reason_may_leave_its_numbers_out_or_null(code: str, measured: float | None, limit: float | None) -> None:
    expected = Reason(code, measured, limit, "", "")
    members = {"code": code, "measured": measured, "limit": limit, "unit": "", "confKey": ""}
    assert decode(Reason, members) == expected
    assert decode(Reason, {name: value for name, value in members.items() if value is not None}) == expected


def test_a_float_member_accepts_whole_numbers() -> None:
    assert decode(Reason, {"code": "X", "measured": 3, "unit": "", "confKey": ""}).measured == 3.0


@pytest.mark.parametrize(("text", "measured"), [(b"1e400", math.inf), (b"123456789012345678901234567890", 1.2345e29)])
def test_a_float_member_accepts_numbers_of_any_size(text: bytes, measured: float) -> None:
    event = decode_text(Reason, b'{"code":"X","unit":"","confKey":"","measured":' + text + b"}")
    assert event.measured == pytest.approx(measured, rel=1e-3)


def test_half_a_character_is_text() -> None:
    assert decode_text(Reason, b'{"code":"\\ud800","unit":"","confKey":""}').code == "\ud800"


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_a_whole_number_beyond_a_scala_long_is_an_error(number: int) -> None:
    with pytest.raises(EventSchemaError, match=r"^QueryEnded: "):
        decode_text(QueryEnded, line(ended(), durationMillis=number))


def test_unknown_members_are_ignored() -> None:
    known = encode(DECISION)
    assert isinstance(known, dict)
    assert decode(JoinDecision, {**known, "somethingNew": {"a": [1]}}) == DECISION


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (["facts", "build", "rows"], "many", 'Expected `int`, got `str` "many" - at `$.decision.facts.build.rows`'),
        (["facts", "build", "rows"], True, "Expected `int`, got `bool` true - at `$.decision.facts.build.rows`"),
        (["facts", "build", "rows"], None, "Expected `int`, got `null` - at `$.decision.facts.build.rows`"),
        (["passRate"], "0.5", 'Expected `float`, got `str` "0.5" - at `$.decision.passRate`'),
        (["facts", "joinId"], 7, "Expected `str`, got `int` 7 - at `$.decision.facts.joinId`"),
        (["buildFilter"], 1, "Expected `bool`, got `int` 1 - at `$.decision.buildFilter`"),
        (["options"], {}, "Expected `array`, got `object` {} - at `$.decision.options`"),
        (["options", 1, "reason"], [], "Expected `object`, got `array` [] - at `$.decision.options[1].reason`"),
        (["options"], "x" * 100, f'Expected `array`, got `str` "{"x" * 79}... - at `$.decision.options`'),
        (["choice"], "nested_loop", "Invalid enum value 'nested_loop' - at `$.decision.choice`"),
    ],
)
def test_an_error_names_the_expected_type_the_value_and_the_path(
    where: list[str | int], value: object, message: str
) -> None:
    assert error_of(changed(["decision", *where], value)) == f"JoinDecided: {message}"


def test_a_value_that_is_no_object_is_shown() -> None:
    with pytest.raises(EventSchemaError) as error:
        decode(Reason, [1])
    assert str(error.value) == "Reason: Expected `object`, got `array` [1]"


def test_a_missing_member_is_named() -> None:
    with pytest.raises(EventSchemaError) as error:
        decode(Reason, {"unit": "", "confKey": ""})
    assert str(error.value) == "Reason: Object missing required field `code`"


@pytest.mark.parametrize("text", [b'{"code":"X","unit":"\xff","confKey":""}', b'{"code":"X"', b"[" * 100_000, b""])
def test_text_that_is_not_json_is_an_error(text: bytes) -> None:
    with pytest.raises(EventSchemaError, match=r"^Reason: "):
        decode_text(Reason, text)


@given(st.sampled_from(members(json.loads(line(decided())))), values)
def test_any_other_value_of_a_member_is_read_or_an_error(path: tuple[str | int, ...], value: object) -> None:
    error_of(changed(path, value))


@given(st.data())
def test_any_damage_to_the_bytes_is_read_or_an_error(data: st.DataObject) -> None:
    text = line(ended())
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.binary(max_size=3)) + text[at + data.draw(st.integers(0, 2)) :]
    with suppress(EventSchemaError):
        assert isinstance(decode_text(QueryEnded, damaged), QueryEnded)
