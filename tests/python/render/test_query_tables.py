"""Queries and their joins as tables and as lines."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.events.describe import describe_estimate, describe_reason
from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import Reason, WeighedOption
from aqe_plugin.events.queries import JoinStory, QueryStory, queries_in
from aqe_plugin.render.queries import query_lines, query_table
from samples import (
    DECISION,
    OUTCOME,
    PASSED_ALL,
    PLANNED,
    decided,
    ended,
    inferred,
    limited,
    line,
    over,
    started,
)


def story(description: str = "q93", has_ended: bool = True) -> QueryStory:
    lines = [started(7, description), line(decided()), over(), line(ended(7, (OUTCOME, PASSED_ALL)))]
    events = [event for event in map(parse_event, lines[: 4 if has_ended else 2]) if event is not None]
    (query,) = queries_in(events, "app-1")
    return query


def table(*queries: QueryStory, width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(*map(query_table, queries))
    return out.getvalue()


def lines(*queries: QueryStory, width: int = 400) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(*map(query_lines, queries))
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def test_the_table_of_a_join_shows_its_predicted_cost() -> None:
    assert "predicted 812 ms" in table(story())


def test_the_table_has_the_choice_beside_what_spark_does_by_itself() -> None:
    assert "Spark: sort-merge → plugin: filtered sort-merge" in table(story())


def test_what_a_filter_removed_stands_beside_what_was_expected() -> None:
    assert describe_estimate(DECISION) == "expected to remove 96 % (key_range)"
    told = table(story())
    assert "expected to remove 96 % (key_range)" in told
    refused = replace(DECISION, build_filter=False)
    assert "expected to remove" not in table(replace(story(), joins=(replace(story().joins[0], decision=refused),)))


def test_the_table_shows_choice_reason_and_rows_removed() -> None:
    text = table(story())
    for part in (
        "query 7",
        "3.4 s",
        "q93",
        "[apply]",
        "filtered sort-merge",
        "not broadcast",
        "CHEAPEST",
        "96 % removed",
    ):
        assert part in text
    assert "filters planned 2, applied 2; 27.6 M rows removed; plugin rules took 35 ms (1.03 %); errors 0" in text


def test_in_short_a_query_and_each_of_its_joins_limits_and_predicates_is_a_line() -> None:
    counted = replace(story(), limits=(limited(),), predicates=(inferred(),))
    query, join, limit, predicate = lines(counted)
    assert query == "query 7  3.4 s  q93  [apply]  app-1: 2 filters, 27.6 M rows removed"
    reason, of_filter = describe_reason(DECISION.reason), describe_reason(DECISION.filter_reason)
    assert join == f"  filtered sort-merge  {', '.join(DECISION.facts.keys)}  {reason}; filter: {of_filter}"
    assert (limit.startswith("  limit of the query"), predicate.startswith("  scan of ")) == (True, True)


def test_in_short_a_join_without_a_filter_says_why_once() -> None:
    missing = Reason("NO_TARGET_SCAN", 0.0, 1.0, "scans", "")
    unwanted = replace(DECISION, build_filter=False, filter_reason=missing)
    join = lines(replace(story(), joins=(JoinStory(unwanted, (), ()),)))[1]
    assert join.endswith(f"{describe_reason(DECISION.reason)}; no filter: {describe_reason(missing)}")
    alike = replace(unwanted, reason=missing)
    assert "no filter" not in lines(replace(story(), joins=(JoinStory(alike, (), ()),)))[1]


def test_in_short_what_went_wrong_is_told() -> None:
    assert lines(story(has_ended=False))[0].endswith(": no outcome yet")
    failed = replace(story(), error="Job aborted", ended=replace(ended(), errors=2, planned=3, applied=1))
    assert lines(failed)[:3] == [
        "query 7  3.4 s  q93  [apply]  app-1: 1 filter, 27.6 M rows removed, 2 planned and not applied",
        "failed: Job aborted",
        "errors 2",
    ]


@given(st.from_type(JoinStory))
def test_in_short_every_join_can_be_shown(join: JoinStory) -> None:
    assert lines(replace(story(), joins=(join,)))


def test_a_query_begins_with_its_sums() -> None:
    counted = replace(story(), limits=(limited(),), predicates=(inferred(), inferred()))
    assert table(counted).splitlines()[1] == (
        "filters planned 2, applied 2; 27.6 M rows removed; 1 limit; 2 inferred predicates; "
        "plugin rules took 35 ms (1.03 %); errors 0"
    )


def test_a_bad_conf_is_shown_with_the_error_that_it_counts_as() -> None:
    problem = f"Bad value for {PREFIX}filter.maxPassRate: '7\x1b'. Allowed: 0 to 1."
    stopped = replace(story(), joins=(), ended=replace(ended(outcomes=()), errors=1, bad_conf=problem))
    shown = " ".join(table(stopped).split())
    assert f"errors 1: {problem}".replace("\x1b", "\\x1b") in shown
    assert "[left alone]" in shown
    assert f"[{stopped.mode}]" not in shown


def test_a_query_that_was_only_observed_says_that_no_join_changed() -> None:
    observed = replace(story(), mode="observe")
    assert "[observe: no join changed]" in table(observed)
    assert "[observe: no join changed]" in "\n".join(lines(observed))


@pytest.mark.parametrize("width", [80, 100, 149, 150, 200])
def test_no_width_from_80_on_breaks_a_conf_key(width: int) -> None:
    longest = max(conf_keys(), key=len)
    reason = Reason("BROADCAST_MEMORY", 96.0, 64.0, "bytes", longest)
    options = (WeighedOption("broadcast", True, None, reason),)
    join = JoinStory(replace(DECISION, reason=reason, filter_reason=reason, options=options), (PLANNED,), ())
    assert table(replace(story(), joins=(join,)), width=width).count(longest) == 3


def test_a_join_without_a_filter_names_no_filter_that_a_scan_waited_for() -> None:
    unwanted = replace(DECISION, build_filter=False, filter_reason=Reason("NO_TARGET_SCAN", None, None, "", ""))
    text = table(replace(story(), joins=(JoinStory(unwanted, (PLANNED,), ()),)))
    assert "no filter" in text
    assert "FILTER_PAYS" not in text


def test_a_query_without_an_end_is_shown_as_running() -> None:
    text = table(story(has_ended=False))
    assert "still running" in text
    assert "no outcome yet: the query's end is not in the log" in text


def test_a_failed_query_shows_its_error() -> None:
    assert "failed: Job aborted" in table(replace(story(), error="Job aborted"))


def test_control_characters_and_markup_are_shown_as_text() -> None:
    hostile = "[bold]q[/bold] \x1b]0;title\x07\x1b[2J\r\u202e[link=x]"
    text = table(story(hostile), width=400)
    assert "[bold]q[/bold] \\x1b]0;title\\x07\\x1b[2J\\r\\u202e[link=x]" in text
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e"}


@given(st.from_type(JoinStory))
def test_every_join_can_be_shown(join: JoinStory) -> None:
    assert table(replace(story(), joins=(join,)))
