"""The queries that the events of an application add up to."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.lines import EnvironmentSet, Event, parse_event
from aqe_plugin.events.queries import QueryStory, queries_in
from samples import (
    APPLICATION_START,
    DECISION,
    FACTS,
    OUTCOME,
    decided,
    ended,
    inferred,
    limited,
    line,
    over,
    query_lines,
    started,
)


def events(*lines: bytes) -> list[Event]:
    return [event for event in map(parse_event, lines) if event is not None]


def queries(*lines: bytes) -> list[QueryStory]:
    return list(queries_in(events(*lines), "log-name"))


def test_a_query_has_its_description_decision_filters_and_outcome() -> None:
    (query,) = queries(APPLICATION_START, *query_lines())
    assert (query.application, query.application_name) == ("app-1", "nightly")
    assert (query.execution_id, query.description, query.duration_millis) == (7, "q93", 3400)
    (join,) = query.joins
    assert (join.decision, join.outcomes) == (DECISION, (OUTCOME,))
    assert query.ended == ended()
    assert query.error is None


def test_a_query_knows_what_forces_its_joins_and_whether_its_session_set_that() -> None:
    conf = EnvironmentSet({"spark.aqePlugin.force": "*=no_filter"})
    of_application, of_session = events(*query_lines(7)), events(started(8, force="*=filter"), *query_lines(8)[1:])
    first, second = queries_in([conf, *of_application, *of_session], "log-name")
    assert (first.force, first.session_forces) == ("*=no_filter", False)
    assert (second.force, second.session_forces) == ("*=filter", True)
    (free,) = queries_in(of_application, "log-name")
    assert free.force is None


def test_a_query_knows_its_applications_start_its_newest_event_and_when_its_log_was_written() -> None:
    begun = APPLICATION_START.replace(b'"Timestamp":1', b'"Timestamp":17')
    (query,) = queries_in(events(begun, *query_lines()), "log-name", 99)
    assert isinstance(query, QueryStory)
    assert (query.application_started_millis, query.log_written_millis) == (17, 99)
    assert query.last_event_millis == ended().time_millis
    (whole,) = queries(started(), line(decided()))
    assert (whole.application_started_millis, whole.log_written_millis) == (0, None)
    assert whole.last_event_millis == decided().time_millis


def test_a_query_that_never_ended_has_the_arm_of_its_decisions() -> None:
    (query,) = queries(started(), line(replace(decided(), arm="canary")))
    assert (query.ended, query.arm) == (None, "canary")
    (over_,) = queries(started(), line(replace(decided(), arm="canary")), over(), line(ended()))
    assert over_.arm is None


def test_decisions_recorded_after_sparks_end_belong_to_the_query() -> None:
    (query,) = queries(started(), over(), line(decided()), line(ended()))
    assert (query.description, len(query.joins)) == ("q93", 1)


def test_join_costs_of_older_logs_are_ignored() -> None:
    older = line(ended(), joinCosts=[{"joinId": "j1", "unmeasured": "query_failed"}])
    (query,) = queries(started(), line(decided()), over(), older)
    assert query.ended == ended()


def test_a_query_without_decisions_is_left_out() -> None:
    assert queries(started(1), over(1), started(2)) == []


def test_a_query_with_a_fault_of_the_plugin_and_no_decision_is_kept() -> None:
    (query,) = queries(started(), over(), line(replace(ended(outcomes=()), errors=1)))
    assert (query.description, query.joins) == ("q93", ())
    assert query.ended is not None
    assert query.ended.errors == 1


def test_concurrent_queries_are_kept_apart() -> None:
    interleaved = [one for pair in zip(query_lines(1), query_lines(2), strict=True) for one in pair]
    assert [query.execution_id for query in queries(*interleaved)] == [1, 2]


def test_a_query_that_never_ended_comes_last_without_an_outcome() -> None:
    first, second = queries(started(1), line(decided(1)), *query_lines(2))
    assert (first.execution_id, second.execution_id) == (2, 1)
    assert (second.ended, second.duration_millis, second.joins[0].outcomes) == (None, None, ())


def test_a_failed_query_keeps_the_first_line_of_its_error() -> None:
    (query,) = queries(*query_lines(error="Job aborted\n\tat somewhere"))
    assert query.error == "Job aborted"


def test_an_outcome_is_assigned_to_its_join() -> None:
    other = replace(DECISION, facts=replace(FACTS, join_id="j2"))
    outcomes = (OUTCOME, replace(OUTCOME, join_id="j2", table="web_sales"))
    (query,) = queries(line(decided()), line(decided(7, other)), over(), line(ended(7, outcomes)))
    assert [[outcome.table for outcome in join.outcomes] for join in query.joins] == [["store_sales"], ["web_sales"]]


def test_without_an_application_the_log_gives_the_name() -> None:
    (query,) = queries(*query_lines())
    assert query.application == "log-name"


def test_records_that_are_no_events_are_passed_through_in_order() -> None:
    records = [*events(*query_lines(1)), "a note", *events(*query_lines(2))]
    assert [item if isinstance(item, str) else item.execution_id for item in queries_in(records, "x")] == [
        1,
        "a note",
        2,
    ]


@given(st.permutations(query_lines(1) + query_lines(2)))
def test_no_decision_is_reported_twice_in_any_order_of_events(lines: list[bytes]) -> None:
    joins = [(query.execution_id, len(query.joins)) for query in queries(*lines)]
    assert sum(count for _, count in joins) <= 2


def test_a_query_without_joins_has_its_limits() -> None:
    (query,) = queries(started(), over(), line(limited()), line(ended(outcomes=())))
    assert (query.joins, query.limits) == ((), (limited(),))
    assert query.duration_millis == 3400


def test_a_query_has_the_predicates_that_were_inferred_across_its_joins() -> None:
    first, second = queries(
        started(), line(inferred()), line(decided()), over(), line(ended()), *query_lines(execution_id=8)
    )
    assert (first.predicates, second.predicates) == ((inferred(),), ())
    (alone,) = queries(started(), line(inferred(applied=False)), over(), line(ended(outcomes=())))
    assert (alone.joins, alone.predicates, alone.mode) == ((), (inferred(applied=False),), "observe")


def test_the_limits_of_a_query_with_joins_belong_to_it_alone() -> None:
    first, second = queries(
        started(), line(decided()), over(), line(limited()), line(ended()), *query_lines(execution_id=8)
    )
    assert (first.limits, second.limits) == ((limited(),), ())
