"""Queries and their joins as tables and as lines."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.events.describe import describe_estimate, reason_meanings
from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import FilterOutcome, Mode, Reason, Strategy, Unforced, WeighedOption
from aqe_plugin.events.queries import JoinStory, QueryStory, queries_in
from aqe_plugin.render.queries import plain_lines, query_lines, query_table
from aqe_plugin.render.query_text import plain, shortened
from samples import (
    DECISION,
    FACTS,
    OUTCOME,
    PASSED_ALL,
    PLANNED,
    SAVING,
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


def lines(query: QueryStory, width: int = 120) -> list[str]:
    return [part for line in query_lines(query, width) for part in plain(line).rstrip().splitlines()]


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
    proven = reason_meanings()["ENOUGH_ROWS"]
    assert (join, limit, predicate) == (
        "  filtered sort-merge  ss_item_sk = sr_item_sk  filter removed 96 % of 28.8 M rows",
        f"  limit: fewest files  100.0 k rows of sales    {proven}",
        "  predicate            sales: (day <= 17)       an inequality",
    )


def test_in_short_files_that_were_left_out_come_before_the_rows_of_the_others() -> None:
    def told(**changes: int | None) -> tuple[str, str]:
        outcome = replace(OUTCOME, rows_unchecked=0, **changes)  # type: ignore[arg-type]
        ended_ = replace(ended(outcomes=(outcome,)), outcomes=(outcome,))
        head, join = lines(replace(story(), joins=(replace(story().joins[0], outcomes=(outcome,)),), ended=ended_), 200)
        return head.rpartition(": ")[2], join.rpartition("  ")[2]

    assert told(files_left_out=278, files_listed=300) == (
        "1 filter, 27.6 M rows removed, 278 files left out",
        "filter left out 278 of 300 files and removed 96 % of the other 28.8 M rows",
    )
    assert told(files_left_out=278)[1] == "filter left out 278 files and removed 96 % of the other 28.8 M rows"
    assert told(files_left_out=1, files_listed=1, rows_in=0, rows_out=0) == (
        "1 filter, 0 rows removed, 1 file left out",
        "filter left out 1 of 1 file, no row reached it",
    )
    assert told(files_left_out=0, files_listed=300)[1] == "filter removed 96 % of 28.8 M rows"


def test_in_short_a_join_that_its_filter_made_dearer_says_so() -> None:
    dearer = replace(story().joins[0], saving=replace(SAVING, elapsed_millis=-223.0))
    assert lines(replace(story(), joins=(dearer,)), 200)[1].endswith(
        "filter removed 96 % of 28.8 M rows; cost 223 ms more than Spark's own, predicted"
    )
    observed = replace(story(), mode="observe", joins=(replace(dearer, outcomes=()),))
    assert lines(observed, 200)[1].endswith("; would cost 223 ms more than Spark's own, predicted")


def test_a_forced_join_says_what_would_have_been_decided() -> None:
    by = Unforced(
        "broadcast", Reason("CHEAPEST", 13.0, 40.0, "millis", ""), True, Reason("FILTER_PAYS", 13, 40, "millis", "")
    )
    forced = Reason("FORCED", None, None, "", f"{PREFIX}force")
    decision = replace(DECISION, choice="plain_sort_merge", reason=forced, build_filter=False, filter_reason=forced)
    one = replace(story(), joins=(JoinStory(replace(decision, unforced=by), (), ()),))
    assert lines(one, 300)[1].endswith(
        f"; else broadcast with filter: {reason_meanings()['CHEAPEST'].partition(';')[0]}"
    )
    assert "if it were not forced: broadcast with filter: the cheapest option" in table(one, width=1500)
    assert "(FILTER_PAYS: 13 ms with it, 40 ms without)" in table(one, width=1500)


def test_a_query_that_another_one_ran_names_it() -> None:
    assert lines(replace(story(), run_by=5))[0].startswith("query 7 (part of query 5)  3.4 s  q93")


def test_in_short_a_join_says_in_words_why_it_is_not_changed() -> None:
    missing = Reason("NO_TARGET_SCAN", 0.0, 1.0, "scans", "")
    unwanted = replace(DECISION, choice="plain_sort_merge", build_filter=False, filter_reason=missing)
    join = lines(replace(story(), joins=(JoinStory(unwanted, (), ()),)))[1]
    assert join.endswith(f"  {reason_meanings()['NO_TARGET_SCAN']}")
    left = replace(unwanted, choice="leave_to_spark", reason=Reason("HINT", None, None, "", ""))
    assert lines(replace(story(), joins=(JoinStory(left, (), ()),)))[1].endswith(f"  {reason_meanings()['HINT']}")


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("\n  SELECT count(*) n\n\tFROM t", "SELECT count(*) n FROM t"),
        (r"\nSELECT count(*) n\nFROM t", "SELECT count(*) n FROM t"),
        ("parquet at NativeMethodAccessorImpl.java:0", "parquet"),
        ("count at Job.scala:12", "count at Job.scala:12"),
    ],
)
def test_a_query_has_a_name_of_one_line_without_a_place_that_all_calls_share(description: str, name: str) -> None:
    assert lines(story(description))[0].startswith(f"query 7  3.4 s  {name}  [apply]")


@pytest.mark.parametrize(
    ("choice", "spark", "limit", "whose"),
    [
        ("broadcast", "plain_sort_merge", 4200.0, "of Spark's own method ("),
        ("broadcast", "plain_sort_merge", 900.0, "of the next cheapest ("),
        ("plain_sort_merge", "plain_sort_merge", 4200.0, "of the next cheapest ("),
    ],
)
def test_the_reason_of_a_choice_says_whose_the_second_price_is(
    choice: Strategy, spark: Strategy, limit: float, whose: str
) -> None:
    reason = Reason("CHEAPEST", 812.0, limit, "millis", "")
    decision = replace(DECISION, choice=choice, reason=reason, facts=replace(FACTS, spark_strategy=spark))
    assert f"the second price is {whose}" in "\n".join(
        plain_lines(replace(story(), joins=(JoinStory(decision, (), ()),)))
    )


@pytest.mark.parametrize("spares", [True, False])
def test_a_shuffle_that_spark_would_write_before_its_own_broadcast_is_explained(spares: bool) -> None:
    decision = replace(DECISION, choice="broadcast", facts=replace(FACTS, spark_strategy="broadcast"))
    saving = replace(SAVING, spares_shuffle=spares)
    told = plain_lines(replace(story(), joins=(JoinStory(decision, (), (), saving=saving),)))
    assert any("shuffles the probe side before it knows the build side's size" in one for one in told) == spares


@pytest.mark.parametrize(("spark", "is_told"), [("broadcast", True), ("plain_sort_merge", False)])
def test_a_broadcast_that_is_spark_s_only_by_other_filters_is_explained(spark: Strategy, is_told: bool) -> None:
    small = replace(DECISION, choice="broadcast", facts=replace(FACTS, spark_strategy=spark, small_by_filters=True))
    told = plain_lines(replace(story(), joins=(JoinStory(small, (), (), saving=SAVING),)))
    assert any("without the filters of other joins, Spark would not broadcast" in one for one in told) == is_told


def test_a_pass_rate_that_refused_a_filter_says_where_it_comes_from() -> None:
    refused = replace(
        DECISION, build_filter=False, filter_reason=Reason("PASS_RATE_TOO_HIGH", 1.0, 0.7, "ratio", ""), pass_rate=1.0
    )
    told = "\n".join(plain_lines(replace(story(), joins=(JoinStory(refused, (), ()),))))
    assert f"({refused.pass_rate_source})" in told
    costly = replace(refused, filter_reason=Reason("JOIN_TYPE", None, None, "", ""))
    assert "expected to remove" not in "\n".join(plain_lines(replace(story(), joins=(JoinStory(costly, (), ()),))))


def test_the_engine_that_carries_a_join_out_is_named() -> None:
    beside = replace(DECISION, facts=replace(FACTS, engine="Comet"))
    told = [plain_lines(replace(story(), joins=(JoinStory(decision, (), ()),))) for decision in (beside, DECISION)]
    assert [any("carried out by Comet" in line for line in lines) for lines in told] == [True, False]


def test_in_short_a_query_without_filters_has_no_count_of_them() -> None:
    over = replace(ended(outcomes=()), planned=0, applied=0)
    shown = replace(story(), mode="observe", ended=over)
    assert lines(shown)[0] == "query 7  3.4 s  q93  [observe: no join changed]  app-1"


def test_in_short_a_wait_for_nothing_stands_in_the_line_of_its_join() -> None:
    assert FACTS.waiting is not None
    wait = replace(FACTS.waiting, outcome="released", waited_millis=61_000.0)
    join = JoinStory(replace(DECISION, facts=replace(FACTS, waiting=wait)), (PLANNED,), (OUTCOME,))
    assert lines(replace(story(), joins=(join,)))[1].endswith(
        "filter removed 96 % of 28.8 M rows; waited 61.0 s for nothing"
    )


@pytest.mark.parametrize(
    ("force", "by_session", "told"),
    [
        ("*=filter; j1=broadcast+filter", True, "forced by the query's session: {key} has j1=broadcast+filter"),
        ("j2=filter;*=no_filter", False, "forced by the application's conf: {key} has *=no_filter"),
    ],
)
def test_a_forced_join_says_who_forced_it_by_what(force: str, by_session: bool, told: str) -> None:
    key = "spark.aqePlugin.force"
    forced = replace(DECISION, filter_reason=Reason("FORCED", None, None, "", key))
    shown = replace(story(), joins=(JoinStory(forced, (), ()),), force=force, session_forces=by_session)
    assert told.format(key=key) in "\n".join(plain_lines(shown))
    assert "forced by" not in "\n".join(plain_lines(replace(shown, force=None)))
    assert "forced by" not in "\n".join(plain_lines(replace(shown, joins=(JoinStory(DECISION, (), ()),))))


def test_in_short_a_reason_that_does_not_fit_stands_below_its_join_on_a_narrow_terminal() -> None:
    named = replace(story("q93 of the nightly report"), joins=(JoinStory(LONG, (), ()), *story().joins))
    shown = lines(named, 80)
    assert max(map(len, shown)) <= 80
    first, long, why, short, removed = shown
    assert first == "query 7  3.4 s  q93 of the nigh…  [apply]  app-1: 2 filters, 27.6 M rows removed"
    assert long.startswith("  left to Spark        …i_item_sk = …item_sk, …i_item_sk = …item_sk")
    assert reason_meanings()["MAX_FILTERS_PER_PLAN"].startswith(why.strip().removesuffix("…"))
    assert short == "  filtered sort-merge  ss_item_sk = sr_item_sk"
    assert removed == f"{'':<23}filter removed 96 % of 28.8 M rows"
    narrow = lines(named, 60)
    assert narrow[:2] == [
        "query 7  3.4 s  q93 of the nightly report  [apply]  app-1",
        "  2 filters, 27.6 M rows removed",
    ]


def test_in_short_another_method_has_its_reason_and_the_effect_of_its_filter() -> None:
    broadcast = JoinStory(replace(DECISION, choice="broadcast"), (PLANNED,), (OUTCOME,))
    assert lines(replace(story(), joins=(broadcast,)), 200)[1].endswith(
        "  the cheapest option that fits into memory; filter removed 96 % of 28.8 M rows"
    )


@pytest.mark.parametrize(
    ("mode", "outcomes", "words"),
    [
        ("observe", (), "filter would remove 96 % of 28.8 M rows"),
        ("apply", (), "filter is expected to remove 96 % of 28.8 M rows"),
        ("apply", (PASSED_ALL,), "the filter was not ready in time, so every row passes"),
        ("apply", (replace(OUTCOME, kind="missing"),), "the filter was not found when the scan ran"),
        ("apply", (replace(OUTCOME, rows_in=0, rows_out=0, rows_unchecked=0),), "no row reached its filter"),
    ],
)
def test_in_short_a_filter_says_what_became_of_it(mode: Mode, outcomes: tuple[FilterOutcome, ...], words: str) -> None:
    join = JoinStory(DECISION, (PLANNED,), outcomes)
    assert lines(replace(story(), mode=mode, joins=(join,)))[1].endswith(f"  {words}")


LONG = replace(
    DECISION,
    facts=replace(DECISION.facts, keys=("warehouse.inventory_of_the_day.i_item_sk = catalog.`a.b c`.item_sk",) * 2),
    choice="leave_to_spark",
    reason=Reason("MAX_FILTERS_PER_PLAN", 3, 3, "filters", ""),
    build_filter=False,
)


@pytest.mark.parametrize("width", [100, 120])
def test_in_short_no_line_is_wider_than_the_terminal_and_keys_give_way_first(width: int) -> None:
    shown = replace(story(), joins=(JoinStory(LONG, (), ()), *story().joins))
    _, long, short = lines(shown, width)
    assert max(len(long), len(short)) <= width
    assert long.startswith("  left to Spark        …i_item_sk = …item_…")
    meaning = reason_meanings()["MAX_FILTERS_PER_PLAN"]
    reason = long[long.index("the plan already") :]
    assert reason.endswith("…")
    assert meaning.startswith((f"{reason[:-1]} ", f"{reason[:-1]},"))
    assert "filter removed 96 % of 28.8 M rows" in short
    assert long.index("…i_item_sk") == short.index("ss_item_sk")
    assert long.index("the plan already") == short.index("filter removed")


@given(st.text(), st.integers(0, 40), st.booleans())
def test_a_shortened_text_fits_and_ends_at_a_word_if_so_asked(text: str, width: int, at_words: bool) -> None:
    short = shortened(text, width, at_words=at_words)
    assert len(short) <= max(1, width)
    if at_words and short != text and " " in short:
        assert short.endswith("…")
        assert text[len(short) - 1 :][:1].isspace() or text[: len(short) - 1].rstrip() == short[:-1]


def test_in_short_what_went_wrong_is_told() -> None:
    assert lines(story(has_ended=False))[0].endswith(": no outcome yet")
    failed = replace(story(), error="Job aborted", ended=replace(ended(), errors=2, planned=3, applied=1))
    assert lines(failed)[:3] == [
        "query 7  3.4 s  q93  [apply]  app-1: 1 filter, 27.6 M rows removed, 2 planned and not applied",
        "failed: Job aborted",
        "errors 2",
    ]


@given(st.from_type(JoinStory))
def test_in_short_every_join_is_a_line_that_fits(join: JoinStory) -> None:
    _, *rest = lines(replace(story(), joins=(join,)))
    assert (len(rest), max(map(len, rest)) <= 120) == (1, True)


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
    options = (WeighedOption("broadcast", True, None, replace(reason, measured=97.0)),)
    decision = replace(DECISION, reason=reason, filter_reason=replace(reason, measured=98.0), options=options)
    join = JoinStory(decision, (PLANNED,), ())
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
    assert "[bold]q[/bold] \\x1b]0;title\\x07\\x1b[2J \\u202e[link=x]" in text
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e"}


@given(st.from_type(JoinStory))
def test_every_join_can_be_shown(join: JoinStory) -> None:
    assert table(replace(story(), joins=(join,)))
