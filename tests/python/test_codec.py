"""Dataclasses to JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.codec import decode, encode
from aqe_plugin.events.model import JoinDecided, JoinDecision, QueryEnded, Reason
from samples import DECISION, ended

finite = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(float, finite)
st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))


@given(st.from_type(JoinDecided) | st.from_type(QueryEnded))
def test_every_event_survives_its_own_json(event: JoinDecided | QueryEnded) -> None:
    assert decode(type(event), json.loads(json.dumps(encode(event)))) == event


@given(st.text(), st.none() | finite, st.none() | finite)
def test_a_reason_may_leave_its_numbers_out_or_null(code: str, measured: float | None, limit: float | None) -> None:
    expected = Reason(code, measured, limit, "", "")
    members = {"code": code, "measured": measured, "limit": limit, "unit": "", "confKey": ""}
    assert decode(Reason, members) == expected
    assert decode(Reason, {name: value for name, value in members.items() if value is not None}) == expected


def test_whole_numbers_are_good_where_a_number_is_asked_for() -> None:
    assert decode(Reason, {"code": "X", "measured": 3, "unit": "", "confKey": ""}).measured == 3.0


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_a_whole_number_beyond_a_long_is_told(number: int) -> None:
    with pytest.raises(EventSchemaError, match="schemaVersion: expected a whole number, found"):
        decode(QueryEnded, {**encoded_end(), "schemaVersion": number})


def encoded_end() -> dict[str, object]:
    members = encode(ended())
    assert isinstance(members, dict)
    return dict(members)


def test_members_nobody_asks_for_are_ignored() -> None:
    members = encode(DECISION)
    assert isinstance(members, dict)
    assert decode(JoinDecision, {**members, "somethingNew": {"a": [1]}}) == DECISION


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (["facts", "build", "rows"], "many", "decision.facts.build.rows: expected a whole number, found 'many'"),
        (["facts", "build", "rows"], True, "decision.facts.build.rows: expected a whole number, found True"),
        (["facts", "build", "rows"], None, "decision.facts.build.rows: expected a whole number, found None"),
        (["passRate"], "0.5", "decision.passRate: expected a number, found '0.5'"),
        (["facts", "joinId"], 7, "decision.facts.joinId: expected a string, found 7"),
        (["buildFilter"], 1, "decision.buildFilter: expected true or false, found 1"),
        (["options"], {}, "decision.options: expected a list, found {}"),
        (["options", 1, "reason"], [], "decision.options[1].reason: expected an object, found []"),
        (["choice"], "nested_loop", "decision.choice: expected one of broadcast, filtered_sort_merge, "),
    ],
)
def test_a_wrong_member_is_named_with_what_was_expected_and_found(
    where: list[str | int], value: object, message: str
) -> None:
    members = json.loads(json.dumps(encode(DECISION)))
    inner = members
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    with pytest.raises(EventSchemaError) as error:
        decode(JoinDecision, members, "decision")
    assert str(error.value).startswith(message)


def test_a_missing_member_is_named() -> None:
    with pytest.raises(EventSchemaError) as error:
        decode(Reason, {"unit": "", "confKey": ""}, "reason")
    assert str(error.value) == "reason.code: expected a string, found nothing"
