"""One line of an event log."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.lines import ApplicationStarted, is_event_line, parse_event
from aqe_plugin.events.model import ExecutionEnded, ExecutionStarted, QueryEnded, Reason, Strategy
from samples import APPLICATION_START, FOREIGN_LINE, OUTCOME, decided, ended, line, over, started

HANDWRITTEN = b"""{"Event":"io.aqeplugin.tell.QueryEnded","schemaVersion":1,"executionId":7,"timeMillis":1700000009000,
 "durationMillis":3400,"ruleMillis":35,"planned":2,"applied":2,"errors":0,"outcomes":[
  {"filterId":"f1","joinId":"j1","table":"store_sales","scanColumns":["ss_item_sk"],"kind":"split_block_bloom",
   "reason":null,"rowsIn":100,"rowsOut":4,"rowsUnchecked":1,"filterBytes":1024,"buildMillis":12,"waitMillis":34,
   "keys":5},
  {"filterId":"f2","joinId":"j2","table":"t","scanColumns":["a","b"],"kind":"pass_all",
   "reason":{"code":"BUILD_TIMEOUT","measured":5000.0,"limit":5000,"unit":"millis","confKey":"spark.x"},
   "rowsIn":9,"rowsOut":9,"rowsUnchecked":0,"filterBytes":0,"buildMillis":0,"waitMillis":34,"keys":0}]}
"""


def test_a_handwritten_line_becomes_the_values_it_shows() -> None:
    event = parse_event(HANDWRITTEN)
    assert isinstance(event, QueryEnded)
    assert (event.execution_id, event.duration_millis, event.rule_millis, event.planned) == (7, 3400, 35, 2)
    first, second = event.outcomes
    assert (first.kind, first.rows_in, first.rows_out, first.rows_removed, first.reason) == (
        "split_block_bloom",
        100,
        4,
        96,
        None,
    )
    assert second.scan_columns == ("a", "b")
    assert second.reason == Reason("BUILD_TIMEOUT", 5000.0, 5000.0, "millis", "spark.x")


def test_both_of_the_plugins_events_are_read() -> None:
    assert parse_event(line(decided())) == decided()
    assert parse_event(line(ended())) == ended()


def test_sparks_own_events_give_description_times_and_error() -> None:
    assert parse_event(started(3, "q50")) == ExecutionStarted(3, "q50", 1_700_000_000_000, root_execution_id=3)
    assert parse_event(over(3, "boom")) == ExecutionEnded(3, 1_700_000_003_400, "boom")
    assert parse_event(APPLICATION_START) == ApplicationStarted("app-1", "nightly", 1)


def test_other_events_are_skipped_by_their_first_bytes() -> None:
    assert parse_event(FOREIGN_LINE) is None
    assert not is_event_line(FOREIGN_LINE)
    assert all(is_event_line(one) for one in (line(decided()), line(ended()), started(), over(), APPLICATION_START))


def test_unknown_members_are_ignored() -> None:
    assert parse_event(line(decided(), somethingNew=[1, {"deep": None}])) == decided()


def test_a_newer_schema_is_an_error_that_says_to_upgrade() -> None:
    with pytest.raises(EventSchemaError) as error:
        parse_event(line(ended(), schemaVersion=2, outcomes="another shape"))
    assert str(error.value) == "QueryEnded has schemaVersion 2, this aqe-plugin reads up to 1: upgrade it to read them"


@pytest.mark.parametrize("event", ["io.aqeplugin.tell.QueryEnded", "SparkListenerApplicationStart"])
@pytest.mark.parametrize("rest", [b"", b',"x":', b',"x":\xff}', b',"x":' + b"[" * 100_000])
def test_an_event_line_that_is_cut_or_damaged_is_a_schema_error(event: str, rest: bytes) -> None:
    with pytest.raises(EventSchemaError, match=f"{event.rpartition('.')[2]}: "):
        parse_event(b'{"Event":"' + event.encode() + b'"' + rest)


@pytest.mark.parametrize("other", [b"", b"{", b"\xff\xfe", b'{"Event":', b"[]", b"3", b"null", b'"text"'])
def test_a_line_without_the_beginning_of_an_event_is_skipped(other: bytes) -> None:
    assert parse_event(other) is None


json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(json.loads(line(decided())))), json_values)
def test_a_damaged_member_gives_an_event_or_a_schema_error(member: str, value: object) -> None:
    with suppress(EventSchemaError):
        parse_event(line(decided(), **{member: value}))


def test_enum_values_are_the_words_in_the_log() -> None:
    assert "filtered_sort_merge" in get_args(Strategy)
    assert OUTCOME.rows_removed == 27_650_000
