"""One story for each query."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.lines import Event, parse_event
from aqe_plugin.events.queries import QueryStory, stories
from samples import (
    APPLICATION_START,
    DECISION,
    FACTS,
    OUTCOME,
    decided,
    ended,
    line,
    over,
    query_lines,
    started,
)


def events(*lines: bytes) -> list[Event]:
    return [event for event in map(parse_event, lines) if event is not None]


def told(*lines: bytes) -> list[QueryStory]:
    return list(stories(events(*lines), "log-name"))


def test_a_query_has_its_description_decision_filters_and_outcome() -> None:
    (story,) = told(APPLICATION_START, *query_lines())
    assert (story.application, story.application_name) == ("app-1", "nightly")
    assert (story.execution_id, story.description, story.duration_millis) == (7, "q93", 3400)
    (join,) = story.joins
    assert (join.decision, join.outcomes) == (DECISION, (OUTCOME,))
    assert story.ended == ended()
    assert story.error is None


def test_decisions_that_were_recorded_after_sparks_end_belong_to_the_query() -> None:
    (story,) = told(started(), over(), line(decided()), line(ended()))
    assert (story.description, len(story.joins)) == ("q93", 1)


def test_join_costs_of_older_logs_are_read_over() -> None:
    older = line(ended(), joinCosts=[{"joinId": "j1", "unmeasured": "query_failed"}])
    (story,) = told(started(), line(decided()), over(), older)
    assert story.ended == ended()


def test_a_query_without_decisions_has_no_story() -> None:
    assert told(started(1), over(1), started(2)) == []


def test_a_query_that_the_plugin_could_not_decide_has_a_story_of_its_fault() -> None:
    (story,) = told(started(), over(), line(replace(ended(outcomes=()), errors=1)))
    assert (story.description, story.joins) == ("q93", ())
    assert story.ended is not None
    assert story.ended.errors == 1


def test_queries_that_run_at_once_are_kept_apart() -> None:
    interleaved = [one for pair in zip(query_lines(1), query_lines(2), strict=True) for one in pair]
    assert [story.execution_id for story in told(*interleaved)] == [1, 2]


def test_a_query_that_never_ended_comes_last_without_an_outcome() -> None:
    first, second = told(started(1), line(decided(1)), *query_lines(2))
    assert (first.execution_id, second.execution_id) == (2, 1)
    assert (second.ended, second.duration_millis, second.joins[0].outcomes) == (None, None, ())


def test_a_failed_query_keeps_the_first_line_of_its_error() -> None:
    (story,) = told(*query_lines(error="Job aborted\n\tat somewhere"))
    assert story.error == "Job aborted"


def test_an_outcome_goes_to_the_join_it_belongs_to() -> None:
    other = replace(DECISION, facts=replace(FACTS, join_id="j2"))
    outcomes = (OUTCOME, replace(OUTCOME, join_id="j2", table="web_sales"))
    (story,) = told(line(decided()), line(decided(7, other)), over(), line(ended(7, outcomes)))
    assert [[outcome.table for outcome in join.outcomes] for join in story.joins] == [["store_sales"], ["web_sales"]]


def test_without_an_application_the_log_gives_its_name() -> None:
    (story,) = told(*query_lines())
    assert story.application == "log-name"


def test_what_is_no_event_is_passed_through_in_its_place() -> None:
    records = [*events(*query_lines(1)), "a note", *events(*query_lines(2))]
    assert [item if isinstance(item, str) else item.execution_id for item in stories(records, "x")] == [1, "a note", 2]


@given(st.permutations(query_lines(1) + query_lines(2)))
def test_in_whatever_order_events_come_no_decision_is_told_twice(lines: list[bytes]) -> None:
    joins = [(story.execution_id, len(story.joins)) for story in told(*lines)]
    assert sum(count for _, count in joins) <= 2
