"""What decisions saved and lost, from what their events know."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aqe_plugin.events.both_ways import MeasuredSaving
from aqe_plugin.events.effect import Effect, effect_of
from aqe_plugin.events.model import FilterOutcome, JoinDecision, JoinSaving, Mode, WaitDecision, WaitEnd
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.events.savings import Savings, savings_of
from aqe_plugin.logs.queries import read_queries
from samples import DECISION, FACTS, MEGABYTE, OUTCOME, PASSED_ALL, PLANNED, SAVING, ended, limited

RECORDED = Path(__file__).parents[2] / "deploy" / "recorded" / "tpcds.zstd"
DEARER = JoinSaving(FACTS.join_id, True, -200.0, -300.0, 0.0, 0.0)


def story(
    *outcomes: FilterOutcome,
    mode: Mode = "apply",
    decision: JoinDecision = DECISION,
    saving: JoinSaving | None = SAVING,
    number: int = 7,
    millis: int = 3400,
) -> QueryStory:
    join = JoinStory(decision, (PLANNED,), outcomes, saving=saving)
    over = replace(ended(number, outcomes), duration_millis=millis)
    return QueryStory("app-1", "nightly", number, "q93", mode, millis, (join,), over, None)


def test_what_joins_saved_and_lost_is_added_up_apart() -> None:
    effect = effect_of(story(OUTCOME)) + effect_of(story(OUTCOME, saving=DEARER))
    assert (effect.changed, effect.saved_millis, effect.lost_millis, effect.dearer) == (2, 3388, 200, 1)
    assert (effect.processor_millis, effect.net_millis) == (6000 - 300, 3188)
    assert (effect.shuffle_bytes, effect.unread_bytes) == (98.73 * MEGABYTE, 1000)


def test_a_filter_that_let_every_row_pass_is_idle_unless_files_were_left_out() -> None:
    assert effect_of(story(replace(OUTCOME, rows_out=OUTCOME.rows_in))).idle_filters == 1
    pruned = replace(OUTCOME, rows_in=1000, rows_out=1000, rows_unchecked=0)
    assert effect_of(story(pruned)).idle_filters == 0


def test_rows_are_those_that_filters_checked_and_removed() -> None:
    effect = effect_of(story(OUTCOME, replace(OUTCOME, filter_id="f2", rows_in=1000, rows_out=400)))
    assert (effect.rows_checked, effect.rows_removed) == (28_801_000, 27_650_600)


def test_a_join_that_only_observed_would_save_at_the_expected_pass_rate() -> None:
    savings = savings_of([story(mode="observe")])
    assert savings.applied == Effect()
    assert (savings.observed.changed, savings.observed.saved_millis) == (1, 3388)
    assert savings.observed.rows_checked == 28_800_000
    assert savings.observed.rows_removed == pytest.approx(0.96 * 28_800_000)


def test_files_below_limits_were_not_read() -> None:
    effect = effect_of(replace(story(OUTCOME), limits=(limited(), limited(choice="leave_to_spark"))))
    assert (effect.unread_files, effect.limit_files) == (1900, 2000)


def test_what_was_lost_is_counted() -> None:
    assert FACTS.waiting is not None
    in_vain: WaitDecision = replace(FACTS.waiting, outcome="unused")
    decision = replace(DECISION, facts=replace(FACTS, waiting=in_vain))
    bad = story(PASSED_ALL, decision=decision)
    assert bad.ended is not None
    effect = effect_of(replace(bad, ended=replace(bad.ended, planned=3, applied=1, errors=2)))
    assert (effect.vain_waits, effect.vain_millis, effect.idle_filters) == (1, 38.5, 1)
    assert (effect.missing, effect.errors, effect.rule_millis) == (2, 2, 35)


def test_a_query_that_failed_or_still_runs_saved_nothing() -> None:
    failed = effect_of(replace(story(OUTCOME), error="out of disk"))
    assert (failed.queries, failed.failed, failed.joins, failed.changed) == (1, 1, 1, 0)
    assert (failed.saved_millis, failed.rows_removed, failed.millis) == (0, 0, 0)
    running = effect_of(replace(story(), ended=None, duration_millis=None))
    assert (running.failed, running.saved_millis) == (0, 0)


def test_a_join_left_as_it_is_is_not_changed_and_one_without_a_price_is_told() -> None:
    assert effect_of(story(saving=None)).changed == 0
    unknown = effect_of(story(OUTCOME, saving=replace(SAVING, elapsed_millis=None, processor_millis=None)))
    assert (unknown.changed, unknown.unpriced, unknown.saved_millis) == (1, 1, 0)


def test_joins_of_logs_that_know_no_savings_are_changed_without_a_price() -> None:
    old = story(OUTCOME, saving=None)
    assert old.ended is not None
    effect = effect_of(replace(old, ended=replace(old.ended, savings=None)))
    assert (effect.changed, effect.unpriced, effect.saved_millis) == (1, 1, 0)


def runs(mode: Mode, *millis: int) -> list[QueryStory]:
    return [story(OUTCOME, mode=mode, number=at, millis=one) for at, one in enumerate(millis)]


def test_a_measured_saving_is_the_difference_of_means_with_its_standard_error() -> None:
    savings = savings_of([story(), *runs("observe", 900, 1100, 1000), *runs("apply", 500, 700)])
    # Variances of the means: 100 ** 2 / 3 and 141.4 ** 2 / 2.
    assert savings.measured is not None
    assert replace(savings.measured, error_millis=0) == MeasuredSaving(1, 3, 2, 800, 0, left_out=1)
    assert savings.measured.error_millis == pytest.approx(2 * math.sqrt(10_000 / 3 + 10_000))


@pytest.mark.parametrize("observed", [(), (900,)])
def test_one_run_without_the_plugins_choices_measures_nothing(observed: tuple[int, ...]) -> None:
    assert savings_of([*runs("observe", *observed), *runs("apply", 500, 700)]).measured is None


def test_the_first_query_of_an_application_is_compared_only_where_there_are_no_others() -> None:
    error: Any = pytest.approx(2 * math.sqrt(20_000))
    first = [story(mode="observe", millis=9000), replace(story(millis=8000), application="app-2")]
    found = savings_of([*first, *runs("observe", 900, 1100), *runs("apply", 500, 700)]).measured
    assert found == MeasuredSaving(1, 2, 2, 800, error, left_out=2)
    jobs = [
        replace(one, application=f"app-{at}")
        for at, one in enumerate([*runs("observe", 900, 1100), *runs("apply", 500, 700)])
    ]
    assert savings_of(jobs).measured == MeasuredSaving(1, 2, 2, 800, error, first_runs=4)


@pytest.mark.parametrize(("digest", "description"), [("f00d", "q93"), ("", "q50")])
def test_queries_that_join_the_same_and_compute_something_else_are_not_compared(digest: str, description: str) -> None:
    observed = [replace(one, plan_digest=digest, description=description) for one in runs("observe", 900, 1100, 1000)]
    assert savings_of([*observed, *runs("apply", 500, 700, 600)]).measured is None


def test_a_query_whose_plan_is_known_is_the_same_by_any_other_name() -> None:
    both = [*runs("observe", 900, 1100, 1000), *runs("apply", 500, 700)]
    named = [replace(one, description=f"run {at}", plan_digest="f00d") for at, one in enumerate(both)]
    assert savings_of(named).measured is not None


def test_what_a_measured_query_would_have_saved_is_not_predicted_as_well() -> None:
    other = replace(story(mode="observe"), plan_digest="f00d")
    savings = savings_of([*runs("observe", 900, 1100, 1000), *runs("apply", 500, 700), other])
    assert (savings.observed.changed, savings.unmeasured.changed) == (4, 1)
    assert savings_of([*runs("observe", 900), *runs("apply", 500)]).unmeasured.changed == 1


def test_a_query_that_ran_both_ways_is_compared_whatever_changed() -> None:
    both = [*runs("observe", 900, 1100, 1000), *runs("apply", 500, 700)]
    unchanged = [replace(one, joins=(JoinStory(DECISION, (), ()),)) for one in both]
    found = savings_of(unchanged)
    assert found.measured is not None
    assert (found.measured.queries, found.measured.unchanged) == (1, 1)
    assert found.unmeasured.queries == 0
    limits = [replace(one, joins=(), limits=(limited(),), plan_digest="f00d") for one in both]
    assert savings_of(limits).measured is not None


def test_runs_of_other_queries_and_failed_ones_are_not_compared() -> None:
    other = replace(DECISION, facts=replace(FACTS, keys=("a.k = b.k",)))
    observed = [replace(one, joins=(JoinStory(other, (), ()),)) for one in runs("observe", 900, 1100)]
    assert savings_of([*observed, *runs("apply", 500, 700)]).measured is None
    failed = [replace(one, error="cancelled") for one in runs("observe", 900, 1100)]
    assert savings_of([*failed, *runs("apply", 500, 700)]).measured is None


def test_the_joins_worth_a_look_are_the_largest_of_their_kind() -> None:
    small = replace(SAVING, elapsed_millis=1.0)
    useless = replace(OUTCOME, rows_out=OUTCOME.rows_in)
    found = savings_of(
        [story(OUTCOME, saving=small, number=1), story(OUTCOME, number=2), story(useless, saving=DEARER, number=3)]
    ).noted
    assert [(one.why, one.execution_id) for one in found] == [("saving", 2), ("loss", 3)]
    assert (found[1].expected, found[1].passed, found[1].rows) == (0.04, 1.0, 28_800_310)
    assert savings_of([story(saving=None)]).noted == ()


def test_a_run_that_only_observed_a_query_is_not_worth_a_look_once_the_query_was_applied() -> None:
    large = replace(SAVING, elapsed_millis=1e6)
    applied, observed = story(OUTCOME, number=1), story(mode="observe", number=2, saving=large)
    other = replace(story(mode="observe", number=3), plan_digest="f00d")
    assert [one.execution_id for one in savings_of([applied, observed, other]).noted] == [1]
    assert [one.execution_id for one in savings_of([observed, other]).noted] == [2]


def test_the_join_that_was_furthest_from_its_estimate_is_worth_a_look_unless_it_is_one_already() -> None:
    surprising = replace(OUTCOME, rows_out=20_000_000)
    found = savings_of([story(OUTCOME, number=1), story(surprising, number=2)]).noted
    assert [(one.why, one.execution_id) for one in found] == [("saving", 1), ("estimate", 2)]


def test_the_longest_wait_for_nothing_is_worth_a_look() -> None:
    def waited(millis: float, outcome: WaitEnd) -> JoinDecision:
        assert FACTS.waiting is not None
        wait = replace(FACTS.waiting, outcome=outcome, waited_millis=millis)
        return replace(DECISION, facts=replace(FACTS, waiting=wait))

    ends: list[tuple[float, WaitEnd]] = [(900.0, "used"), (99.0, "unused"), (400.0, "released"), (300.0, "unused")]
    stories = [story(decision=waited(*end), saving=None, number=at) for at, end in enumerate(ends)]
    assert [(one.why, one.execution_id, one.waited_millis) for one in savings_of(stories).noted] == [("wait", 2, 400.0)]
    assert savings_of(stories[:2]).noted == ()


def test_time_in_rules_knows_that_of_first_queries() -> None:
    elsewhere = replace(story(), application="app-2")
    effect = savings_of([*runs("apply", 500, 700), elsewhere]).applied
    assert (effect.rule_millis, effect.first_rule_millis) == (3 * 35, 2 * 35)


def test_lists_are_bounded_and_hold_what_counts_most() -> None:
    stories = [story(replace(OUTCOME, table=f"t{at}", rows_in=at + 1, rows_out=0), number=at) for at in range(100)]
    savings = savings_of(stories)
    assert [one.table for one in savings.tables][:2] == ["t99", "t98"]
    assert (len(savings.tables), len(savings.queries)) == (15, 15)


STORIES = st.builds(
    story,
    st.builds(
        replace,
        st.just(OUTCOME),
        kind=st.sampled_from(["range", "pass_all", "missing"]),
        rows_in=st.integers(-5, 10**9),
        rows_out=st.integers(-5, 10**9),
    ),
    mode=st.sampled_from(["apply", "observe"]),
    number=st.integers(0, 50),
    millis=st.integers(0, 10**6),
)


@given(st.lists(STORIES, max_size=6))
def test_savings_do_not_depend_on_the_order_of_queries(stories: list[QueryStory]) -> None:
    first = savings_of(stories)
    second = savings_of(sorted(stories, key=lambda one: (one.duration_millis, one.execution_id)))
    for one, other in ((first.applied, second.applied), (first.observed, second.observed)):
        # Which query came first is a matter of order.
        without = (replace(effect, first_rule_millis=0) for effect in (one, other))
        first_one, second_one = map(astuple, without)
        assert first_one == pytest.approx(second_one)


@given(
    st.builds(
        replace,
        STORIES,
        joins=st.lists(st.from_type(JoinStory), max_size=2).map(tuple),
        duration_millis=st.integers(0, 2**40),
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_story_has_finite_savings_that_are_not_negative(found: QueryStory) -> None:
    numbers = [
        abs(one) for join in found.joins if join.saving for one in astuple(join.saving) if isinstance(one, float)
    ]
    # A sum of two is finite.
    assume(max(numbers, default=0.0) < sys.float_info.max / 4)
    savings = savings_of([found, found])
    assert isinstance(savings, Savings)
    for name, number in asdict(savings.total).items():
        assert math.isfinite(number), name
        assert number >= 0 or name == "processor_millis", name


def test_a_log_of_a_real_run_has_savings() -> None:
    savings = savings_of(read_queries(RECORDED))
    applied = savings.applied
    assert (savings.applications, applied.queries, applied.joins, applied.changed) == (1, 8, 49, 29)
    assert (savings.observed.queries, applied.lost_millis, savings.measured) == (0, 0, None)
    assert (applied.rows_removed, applied.rows_checked) == (204_301_630, 209_849_923)
    assert applied.saved_millis == pytest.approx(156_083, rel=1e-3)
    assert applied.processor_millis == pytest.approx(313_704, rel=1e-3)
    assert savings.tables[0].table == "store_sales"
    assert [one.why for one in savings.noted] == ["saving", "wait", "estimate"]
