"""Decisions as sentences."""

from __future__ import annotations

import io
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aqe_plugin.events.describe import (
    describe_choice,
    describe_choice_reason,
    describe_filter,
    describe_flip,
    describe_join,
    describe_limit,
    describe_outcome,
    describe_price,
    describe_reason,
    describe_wait,
    options_not_taken,
    reason_meanings,
)
from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import CostTerm, FlipPoint, Reason, WeighedOption
from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.render.queries import query_table
from aqe_plugin.render.terminal import visible
from samples import (
    DECISION,
    FACTS,
    FLIP,
    OUTCOME,
    PASSED_ALL,
    PLANNED,
    TOO_LARGE,
    ended,
    limited,
    line,
    over,
)


def test_a_choice_has_a_predicted_cost() -> None:
    assert describe_price(DECISION) == "predicted 812 ms"


def priced(**millis: float) -> str:
    terms = tuple(CostTerm(name, 1e6 * value) for name, value in millis.items())
    return describe_price(replace(DECISION, options=tuple(replace(one, terms=terms) for one in DECISION.options)))


def test_a_predicted_cost_names_the_parts_that_add_up_to_it() -> None:
    assert priced(merge=9, sort=100, shuffle=600, pipeline=90, spill=0, probe=13) == (
        "predicted 812 ms: shuffle 600 ms, sort 100 ms, pipeline 90 ms, probe 13 ms, merge 9 ms"
    )


def test_the_parts_below_a_hundredth_of_a_predicted_cost_are_added_up() -> None:
    assert priced(shuffle=800, merge=7, sort=4, spill=1, broadcast=0) == (
        "predicted 812 ms: shuffle 800 ms, 3 smaller 12 ms"
    )


def test_the_parts_of_a_predicted_cost_that_would_read_as_zero_are_added_up() -> None:
    cheap = replace(DECISION, options=tuple(replace(one, cost_millis=3.1) for one in DECISION.options))
    terms = (CostTerm("check", 2e6), CostTerm("probe", 4e5), CostTerm("launch", 4e5))
    priced_cheap = replace(cheap, options=tuple(replace(one, terms=terms) for one in cheap.options))
    assert describe_price(priced_cheap) == "predicted 3 ms: check 2 ms, 2 smaller 1 ms"


def test_a_choice_stands_beside_what_spark_does_by_itself() -> None:
    broadcast = replace(DECISION, choice="broadcast")
    assert describe_choice(broadcast) == "Spark: sort-merge → plugin: broadcast with filter"
    other = replace(broadcast, facts=replace(FACTS, spark_strategy="leave_to_spark"))
    left = replace(other, choice="leave_to_spark", build_filter=False)
    assert describe_choice(left) == "Spark's own method, kept"
    assert describe_choice(replace(left, facts=FACTS)) == "Spark's sort-merge, kept"
    assert describe_choice(replace(left, choice="plain_sort_merge", facts=FACTS)) == "Spark's sort-merge, kept"
    assert describe_choice(replace(DECISION, choice="leave_to_spark")) == (
        "Spark: sort-merge → plugin: the same with filter"
    )


def test_a_join_left_to_spark_has_the_predicted_cost_of_sparks_own_method() -> None:
    left = replace(DECISION, choice="leave_to_spark")
    assert describe_price(left) == describe_price(DECISION)
    assert options_not_taken(left) == options_not_taken(DECISION)
    other = replace(left, facts=replace(FACTS, spark_strategy="leave_to_spark"))
    assert describe_price(other) == ""


def test_options_that_were_not_even_priced_for_the_reason_of_the_choice_have_no_line() -> None:
    look = Reason("NOT_WORTH_LOOKING", 0.5, 41.0, "millis", "spark.aqePlugin.cost.lookNanosPerJoin")
    options = tuple(replace(one, cost_millis=None, reason=look) for one in DECISION.options)
    unseen = replace(DECISION, choice="leave_to_spark", reason=look, filter_reason=look, options=options)
    assert options_not_taken(unseen) == []
    assert describe_choice_reason(unseen).startswith("not looked at: ")
    assert describe_price(unseen) == ""


def test_a_costlier_option_shows_by_how_much() -> None:
    costlier = Reason("COSTLIER", 72.31, 71.84, "millis", "")
    assert describe_reason(costlier).endswith("(COSTLIER: 72.3 ms against 71.8 ms)")


def test_a_reason_gives_its_meaning_and_its_numbers() -> None:
    assert describe_reason(TOO_LARGE) == (
        f"{reason_meanings()['BROADCAST_MEMORY']} "
        "(BROADCAST_MEMORY: 96.0 MiB against 64.0 MiB, spark.aqePlugin.broadcast.maxBytes)"
    )
    assert describe_reason(Reason("HINT", None, None, "", "")) == f"{reason_meanings()['HINT']} (HINT)"
    assert describe_reason(Reason("FOREIGN_NODE", None, None, "", "", "a.CometExec")).endswith(
        "(FOREIGN_NODE: a.CometExec)"
    )


def test_two_numbers_of_a_reason_say_which_is_which() -> None:
    assert describe_reason(Reason("FILTER_PAYS", 46, 187, "millis", "")).endswith(
        "(FILTER_PAYS: 46 ms with it, 187 ms without)"
    )
    assert describe_reason(Reason("TOP_ROWS", 1, 20, "files", "")).endswith("(TOP_ROWS: 1 of 20 files)")


def test_an_unknown_reason_code_is_shown_with_its_numbers() -> None:
    assert describe_reason(Reason("SOME_DAY", 3, None, "rows", "")) == (
        "a reason unknown to this version of aqe-plugin (SOME_DAY: 3 rows)"
    )


def test_of_a_broadcast_with_filter_the_one_without_is_not_taken() -> None:
    reason = Reason("COSTLIER", 9.0, 7.0, "millis", "")
    options = (
        WeighedOption("broadcast", True, 7.0, reason),
        WeighedOption("broadcast", False, 9.0, reason),
    )
    decided = replace(DECISION, choice="broadcast", build_filter=True, options=options)
    (line,) = options_not_taken(decided)
    assert line.startswith("not broadcast without filter, predicted 9 ms: ")


def test_options_not_taken_have_their_cost_and_reason() -> None:
    broadcast, plain = options_not_taken(DECISION)
    assert broadcast.startswith(f"not broadcast: {reason_meanings()['BROADCAST_MEMORY']} (BROADCAST_MEMORY: ")
    assert plain.startswith(f"not plain sort-merge, predicted 4.2 s: {reason_meanings()['COSTLIER']} (COSTLIER: ")


def test_a_flip_point_names_the_other_decision_and_the_value_that_brings_it() -> None:
    assert describe_flip(FLIP) == "at most 81.0 k build rows (1.2 M now): broadcast without filter"
    wider = replace(FLIP, fact="build_row_bytes", unit="bytes", actual=84, value=400, with_filter=True)
    assert describe_flip(wider) == "at least 400 bytes a build row (84 now): broadcast with filter"


def test_a_flip_point_of_a_threshold_names_the_conf_key_and_the_value_to_set() -> None:
    rows = replace(FLIP, fact="spark.aqePlugin.broadcast.maxRows", actual=5_000_000, value=6_040_000)
    assert (
        describe_flip(rows)
        == "spark.aqePlugin.broadcast.maxRows at least 6.0 M rows (5.0 M rows now): broadcast without filter"
    )
    share = FlipPoint(
        *("join-1", "spark.aqePlugin.filter.maxPassRate", "ratio", 0.7, 0.853), "filtered_sort_merge", True
    )
    assert describe_flip(share) == "spark.aqePlugin.filter.maxPassRate at least 85.3 % (70 % now): filtered sort-merge"


def test_a_flip_point_near_the_value_now_shows_the_difference() -> None:
    near = replace(FLIP, actual=1_200_000, value=1_212_000)
    assert describe_flip(near) == "at least 1.21 M build rows (1.20 M now): broadcast without filter"


def test_options_with_the_same_reason_share_a_line() -> None:
    too_large = [WeighedOption("broadcast", with_filter, None, TOO_LARGE) for with_filter in (False, True)]
    (both,) = options_not_taken(replace(DECISION, options=tuple(too_large)))
    assert both.startswith("neither broadcast nor broadcast with filter: ")


def test_a_join_is_described_with_the_size_of_both_sides() -> None:
    assert describe_join(FACTS) == (
        "inner join on ss_item_sk = sr_item_sk; build side right: 1.2 M rows of 2.9 M (footers), 96.1 MiB in memory; "
        "probe side: about 28.8 M rows (assumed)"
    )


def test_a_join_of_an_older_log_is_described_without_the_sources_of_its_estimates() -> None:
    build = replace(FACTS.build, origin_rows=None, origin_rows_source=None)
    probe = replace(FACTS.probe, rows_source=None)
    assert describe_join(replace(FACTS, build=build, probe=probe)).endswith(
        "build side right: 1.2 M rows, 96.1 MiB in memory; probe side: about 28.8 M rows"
    )


def test_an_outcome_gives_rows_removed_and_the_filters_cost() -> None:
    assert describe_outcome(OUTCOME) == (
        "store_sales(ss_item_sk): 28.8 M → 1.1 M rows, 96 % removed; "
        "split_block_bloom of 1.2 M keys, 1.5 MiB, built in 120 ms, "
        "the scan had its filters 2.1 s after the query's start"
    )
    assert "all rows passed, " in describe_outcome(PASSED_ALL)
    assert "planned, but not found" in describe_outcome(replace(OUTCOME, kind="missing"))
    assert "0 → 0 rows, nothing removed" in describe_outcome(replace(OUTCOME, rows_in=0, rows_out=0))


def test_a_wait_is_told_with_its_estimate_its_end_and_its_reason() -> None:
    wait = FACTS.waiting
    assert wait is not None
    used = replace(wait, waits=True, build_millis=900.0, waited_millis=1200.0, outcome="used")
    assert describe_wait(used).startswith("the probe side waited 1.2 s for a build side of an estimated 900 ms, used: ")
    assert describe_wait(used).endswith(describe_reason(wait.reason))
    unknown = replace(wait, waits=True, build_millis=None, waited_millis=None, outcome=None)
    assert describe_wait(unknown).startswith("the probe side would wait for a build side: ")
    assert "of an estimated less than 1 ms" in describe_wait(replace(used, build_millis=0.2))
    never = replace(wait, waits=False, outcome=None, waited_millis=None)
    assert describe_wait(never).startswith("the probe side did not wait for this build side: ")


def test_a_wait_that_was_released_is_told_as_a_wait() -> None:
    wait = FACTS.waiting
    assert wait is not None
    reason = Reason("WAIT_RELEASED", 290.0, 53.0, "millis", "spark.aqePlugin.wait.savingShare")
    released = replace(wait, waits=False, reason=reason, outcome="released", waited_millis=1016.0)
    assert describe_wait(released).startswith(
        "the probe side waited 1.0 s for a build side of an estimated 35 ms, "
        "released before the build side had finished: "
    )


def test_the_rows_of_a_union_are_told_with_its_first_filter() -> None:
    first = describe_outcome(replace(OUTCOME, any_of=OUTCOME.filter_id))
    assert "a union with other uses' filters, 28.8 M → 1.1 M rows, 96 % removed; " in first
    assert "in the union of another filter; " in describe_outcome(
        replace(OUTCOME, any_of="other", rows_in=0, rows_out=0)
    )


def test_files_that_were_not_read_are_told_with_the_filter() -> None:
    told = describe_outcome(replace(OUTCOME, files_left_out=180, bytes_left_out=3 << 20))
    assert "96 % removed; files without a key not read: 180 (3.0 MiB); " in told
    kept = replace(OUTCOME, files_kept=Reason("REWRITES_FILES", None, None, "", ""))
    assert "96 % removed; all files read, " in describe_outcome(kept)
    assert "(REWRITES_FILES)" in describe_outcome(kept)


def test_a_filter_that_is_not_in_the_plan_is_marked() -> None:
    assert describe_filter(PLANNED).startswith("store_sales(ss_item_sk): ")
    assert "not applied, " in describe_filter(replace(PLANNED, applied=False))


def test_invisible_characters_are_shown_as_escapes() -> None:
    hidden = "\u200b\u200d\u2060\u206f\ufeff\U000e0041"
    assert visible(f"a{hidden}b") == "a" + hidden.encode("unicode_escape").decode() + "b"


@given(st.text(st.characters()))
def test_visible_text_is_writable_and_has_no_control_character(text: str) -> None:
    assert visible(text).encode() is not None
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in visible(text))


def test_a_limit_says_what_it_reads_and_why() -> None:
    assert describe_limit(limited()) == (
        "limit of the query, 100.0 k rows on sales; fewest files: footers prove that the chosen files hold all rows "
        "that the limit takes (ENOUGH_ROWS: 100.0 k rows against 100.0 k rows); 100 of 2,000 files chosen, "
        "100.0 k rows read"
    )
    left = limited(choice="leave_to_spark")
    assert "left to Spark" in describe_limit(left)
    assert "chosen," not in describe_limit(left)
    left = replace(left, outcome=None)
    assert not describe_limit(left).endswith("read")


def test_a_query_with_limits_alone_is_shown_without_a_table_of_joins() -> None:
    lines = (line(limited()), over(), line(ended(outcomes=())))
    (query,) = queries_in([event for one in lines if (event := parse_event(one))], "log")
    assert isinstance(query, QueryStory)
    out = io.StringIO()
    Console(file=out, width=200).print(query_table(query))
    assert "fewest files" in out.getvalue()
    assert "choice and reason" not in out.getvalue()
