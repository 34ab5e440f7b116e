"""The head of a history, for a terminal, a page and a notebook."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aqe_plugin.events.model import JoinSaving, Mode
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.events.savings import savings_of
from aqe_plugin.render.html import PAGE_END, Bars, plot
from aqe_plugin.render.query_text import plain
from aqe_plugin.render.savings import head_lines, head_of, rows_by_table, seconds_by_query
from aqe_plugin.render.savings_page import page_head, query_details
from aqe_plugin.render.terminal import visible
from opened_page import opened
from samples import DECISION, FACTS, MEGABYTE, OUTCOME, PASSED_ALL, PLANNED, SAVING, ended, limited

DEARER = JoinSaving(FACTS.join_id, True, -223.0, -300.0, 2.1 * MEGABYTE, 0.0)


def query(number: int, *joins: JoinStory, mode: Mode = "apply", millis: int = 3400) -> QueryStory:
    outcomes = tuple(one for join in joins for one in join.outcomes)
    over = replace(ended(number, outcomes), duration_millis=millis)
    return QueryStory(
        "app-1", "nightly", number, f"q{number}", mode, millis, joins, over, None, plan_digest="c0de" if joins else ""
    )


def joined(column: str, removed: float = 0.96) -> JoinStory:
    """A join on ``column`` whose filter removed this share of 28.8 M rows."""
    facts = replace(FACTS, keys=(f"store_sales.{column} = dim.{column}",))
    outcome = replace(OUTCOME, rows_in=28_800_000, rows_out=round((1 - removed) * 28_800_000), rows_unchecked=0)
    saving = replace(SAVING, unread_bytes=0.0) if removed > 0.5 else DEARER
    return JoinStory(replace(DECISION, facts=facts), (PLANNED,), (outcome,), saving=saving)


def faulty(story: QueryStory) -> QueryStory:
    """With a filter that was planned and not found, and a fault."""
    assert story.ended is not None
    return replace(story, ended=replace(story.ended, planned=3, errors=1))


IDLE = JoinStory(DECISION, (PLANNED,), (PASSED_ALL,))
HISTORY = [
    *(query(at, joined("item_sk"), mode="observe", millis=5000 + 100 * at) for at in range(3)),
    *(query(10 + at, joined("item_sk"), millis=2000 + 100 * at) for at in range(3)),
    faulty(replace(query(21, joined("store_sk", removed=0.02), IDLE), limits=(limited(),))),
    replace(query(22, joined("date_sk")), error="out of disk"),
]


def lines(stories: list[QueryStory], width: int = 120, logs: str | None = "/logs/a b") -> list[str]:
    return [plain(line).rstrip() for line in head_lines(head_of(savings_of(stories), logs), width)]


def test_a_history_in_both_modes_says_what_was_saved_and_measured_and_what_was_lost() -> None:
    assert lines(HISTORY) == [*GOLDEN.strip("\n").split("\n"), ""]


GOLDEN = """
8 queries of 1 application, 1 failed: 9 joins decided, 4 changed and 3 would be changed against Spark's own choice
  saved         10.2 s predicted by price, over all runs, which took 9.7 s
  processor     17.7 s less on all cores, net of joins that cost more, predicted
  measured      9.2 s ± 229 ms (standard error) less: sum of 3 runs in apply, each against the mean of its query's runs
                in observe (2 runs of 1 query); 1 first run of an application left out
  rows          83.5 M of 115.2 M rows (72.5 %) that filters checked were removed
  shuffles      298.3 MiB not written, predicted
  reads         1,900 of 2,000 files below limits not read
  cost          223 ms lost in 1 join, predicted by price; 1 filter let every row pass; 140 ms in the plugin's rules; 1
                planned filter not found when scans ran; 1 fault of the plugin; 1 query failed
  worth a look  largest saving, filtered sort-merge in place of Spark's sort-merge: saved 3.4 s, predicted
                query 10, store_sales.item_sk = dim.item_sk
                aqe-plugin explain '/logs/a b' --query 10 --why
                largest loss, filtered sort-merge in place of Spark's sort-merge: cost 223 ms more, predicted; its
                filter removed 2 % of 28.8 M rows, 96 % was expected
                query 21, store_sales.store_sk = dim.store_sk
                aqe-plugin explain '/logs/a b' --query 21 --why
"""


def test_where_more_is_lost_than_saved_the_head_says_lost() -> None:
    dear = [query(1, joined("store_sk", removed=0.02)), query(2, joined("date_sk", removed=0.02))]
    told = lines(dear, width=300)
    assert told[1].startswith("  lost          446 ms in all, predicted by price: 446 ms lost in 2 joins")
    assert not any("lost" in row for row in told if row.startswith("  cost "))
    observed = lines([replace(one, mode="observe") for one in dear], width=300)
    assert observed[1].startswith("  would lose    446 ms in all")


def test_rows_of_files_that_were_not_read_are_told_from_those_that_a_filter_removed() -> None:
    few = replace(OUTCOME, rows_in=1_000_000, rows_out=980_000, rows_unchecked=0, files_left_out=278, files_listed=300)
    left = replace(few, bytes_left_out=3 * MEGABYTE)
    one = query(1, JoinStory(DECISION, (PLANNED,), (left,), saving=replace(DEARER, unread_bytes=9e9)))
    told = lines([one], width=300)
    assert "  rows          20.0 k of 1.0 M rows (2 %) that filters checked were removed" in told
    assert "  reads         278 files (3.0 MiB) without a key not read" in told
    (loss,) = (row for row in told if "largest loss" in row)
    assert loss.endswith("; 96.6 % of 28.8 M rows were removed by its filter or not read, 96 % was expected")


def test_what_was_not_measured_stands_beside_it_as_what_would_be_saved() -> None:
    other = replace(query(30, joined("day_sk"), mode="observe"), plan_digest="f00d")
    told = lines([*HISTORY, other])
    (saved,) = (line for line in told if line.startswith("  would save"))
    assert saved == (
        "  would save    3.4 s predicted by price, over all runs, which took 3.4 s; without the queries measured above"
    )


def test_a_history_that_only_observed_says_what_would_be() -> None:
    told = lines(HISTORY[:3])
    assert told[0] == "3 queries of 1 application: 3 joins decided, 3 would be changed against Spark's own choice"
    assert told[1].startswith("  would save    10.2 s predicted by price, over all runs, ")
    assert "would be removed" in told[3]
    assert not any(part in line for line in told for part in (" saved ", "were removed", "measured"))


def test_a_history_in_which_nothing_changed_claims_nothing() -> None:
    left = replace(DECISION, choice="leave_to_spark", build_filter=False)
    story = query(1, JoinStory(left, (), ()))
    assert story.ended is not None
    told = lines([replace(story, ended=replace(story.ended, rule_millis=0))])
    assert told == [
        "1 query of 1 application: 1 join decided, 0 changed against Spark's own choice",
        "  saved  nothing, no join changed; the runs took 3.4 s",
        "  cost   nothing that the events know of",
        "",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_words_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, lines(HISTORY, width, "/logs"))) <= width


def test_the_command_that_shows_a_join_can_be_pasted() -> None:
    logs = f"/logs/{'of ' * 60}; rm -rf"
    assert f"                aqe-plugin explain '{logs}' --query 21 --why" in lines(HISTORY, logs=logs)


def test_a_difference_that_may_be_chance_is_called_noise_and_one_to_the_worse_more() -> None:
    runs: list[tuple[Mode, int]] = [("observe", 900), ("observe", 1100), ("apply", 800), ("apply", 1400)]
    slower = [query(at, joined("item_sk"), mode=mode, millis=millis) for at, (mode, millis) in enumerate(runs)]
    (measured,) = (line for line in lines(slower, width=300) if "measured" in line)
    assert "200 ms ± " in measured
    assert "(standard error) more, which may be noise: sum of 2 runs in apply, " in measured
    assert "(2 runs of 1 query); including 1 first run of an application, which is slower" in measured


def test_a_wait_for_nothing_is_worth_a_look() -> None:
    assert FACTS.waiting is not None
    wait = replace(FACTS.waiting, outcome="unused", waited_millis=61_000.0)
    join = JoinStory(replace(DECISION, facts=replace(FACTS, waiting=wait)), (PLANNED,), (OUTCOME,))
    (waited,) = (line for line in lines([query(1, join)], width=300) if "longest wait" in line)
    assert waited.endswith("its probe side waited 61.0 s for a build side that it did not use")


def test_a_query_that_only_waited_is_compared_and_told_to_have_no_changed_join() -> None:
    left = JoinStory(replace(DECISION, choice="leave_to_spark", build_filter=False), (), ())
    runs: list[tuple[Mode, int]] = [("observe", 900), ("observe", 1000), ("apply", 7100), ("apply", 7200)]
    told = lines([query(at, left, mode=mode, millis=millis) for at, (mode, millis) in enumerate(runs)], width=300)
    (measured,) = (line for line in told if "measured" in line)
    assert "12.4 s ± " in measured
    assert "(standard error) more: sum of 2 runs in apply" in measured
    assert "; 1 query without a changed join: waits, rules, or the machine" in measured


@pytest.mark.parametrize(("millis", "is_told"), [(900, True), (100, False)])
def test_long_rules_of_first_queries_have_their_cause(millis: int, is_told: bool) -> None:
    first = query(1, joined("item_sk"))
    assert first.ended is not None
    first = replace(first, ended=replace(first.ended, rule_millis=millis))
    (lost,) = (line for line in lines([first, query(2, joined("item_sk"))], width=300) if line.startswith("  cost"))
    assert (f"{millis} ms of it in first queries of applications, which load classes" in lost) == is_told


def test_a_command_names_the_application_where_there_are_several() -> None:
    other = replace(query(3, joined("item_sk")), application="app-2")
    told = lines([query(3, joined("item_sk", removed=0.9)), other], logs="/logs")
    assert any(line.strip().startswith("aqe-plugin explain /logs --application app-") for line in told)


def test_a_query_has_a_bar_for_each_way_and_says_which_was_predicted() -> None:
    observed, applied = (seconds_by_query(savings_of([one]).queries)[0] for one in (HISTORY[0], HISTORY[3]))
    assert applied == Bars("query 10 [apply] q10", (2000, 2000 + 4200 - 812), "2.0 s, predicted 5.4 s without")
    assert observed == Bars("query 0 [observe] q0", (5000 - 3388, 5000), "predicted 1.6 s, 5.0 s without")


def test_a_table_has_a_bar_for_rows_removed_and_one_for_rows_checked() -> None:
    (bars,) = rows_by_table(savings_of(HISTORY[3:4]).tables)
    assert (bars.label, bars.told) == ("store_sales", "27.6 M rows of 28.8 M removed")


@given(st.lists(st.floats(), min_size=1, max_size=3))
def test_a_bar_has_a_width_within_its_plot(lengths: list[float]) -> None:
    drawn = plot([Bars("a", tuple(lengths), "b")])
    assert all(0 <= float(width) <= 180 for width in re.findall(r'<rect [^>]*width="([^"]+)"', drawn))


@given(st.from_type(QueryStory), st.text())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_page_of_any_history_has_no_element_of_a_log_and_loads_nothing(story: QueryStory, source: str) -> None:
    savings = savings_of([story])
    made = opened(page_head(head_of(savings, source), savings, source) + query_details(story) + PAGE_END)
    assert (made.loads, made.unclosed) == ([], [])
    assert not made.tags & {"script", "img", "link", "iframe", "object", "base", "form", "a"}


@given(st.from_type(QueryStory))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_the_head_of_any_history_has_no_control_character(story: QueryStory) -> None:
    assert all(visible(line) == line for line in lines([story, story]))
