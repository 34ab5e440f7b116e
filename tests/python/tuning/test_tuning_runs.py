"""Stories as evidence: what a join ran as, what was measured of it, and which runs are out of line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import FilterOutcome, Mode, QueryEnded
from aqe_plugin.events.queries import JoinStory, QueryStory, beside_each_other
from aqe_plugin.tuning.runs import JoinRun, Run, newest, run_of, without_outliers
from samples import DECISION, FACTS, OUTCOME, PASSED_ALL, PLANNED, ended

PLAIN = JoinOption("plain_sort_merge", False)
FILTERED = JoinOption("filtered_sort_merge", True)


def story(
    mode: Mode = "apply",
    outcomes: tuple[FilterOutcome, ...] = (OUTCOME,),
    over: QueryEnded | None = None,
    error: str | None = None,
) -> QueryStory:
    join = JoinStory(DECISION, (PLANNED,), outcomes)
    return QueryStory("app-1", "nightly", 7, "q93", mode, 3400, (join,), over or ended(), error)


def only_join(query: QueryStory) -> JoinRun:
    run = run_of(query)
    assert run is not None
    (join,) = run.joins
    return join


def run(millis: int, at: int = 0, option: JoinOption = PLAIN, fingerprint: str = "c") -> Run:
    return Run(fingerprint, "app", at, millis, (JoinRun(FACTS, FACTS, option, None),))


def test_a_finished_query_is_a_run() -> None:
    made = run_of(story())
    assert made is not None
    assert (made.duration_millis, made.application, made.at_millis) == (3400, "app-1", 1_700_000_009_000)


def test_rows_that_another_join_s_filter_removed_are_not_those_of_this_one() -> None:
    useless = replace(OUTCOME, rows_in=10_000, rows_out=10_000, rows_unchecked=0)
    useful = replace(OUTCOME, join_id="other", rows_in=28_800_000, rows_out=10_000, rows_unchecked=0)
    first, second, elsewhere = beside_each_other(
        JoinStory(DECISION, (PLANNED,), (outcome,)) for outcome in (useless, useful, replace(useful, table="other"))
    )
    scanned = FACTS.probe.scan_rows
    assert (first.measured, first.is_beside_others) == ((scanned, scanned), True)
    assert (second.measured, second.is_beside_others) == ((28_800_000, 10_000), True)
    assert not elsewhere.is_beside_others
    assert JoinStory(DECISION, (PLANNED,), (useless,)).measured == (scanned, 10_000)


def test_a_running_failed_or_instant_query_is_no_run() -> None:
    assert run_of(replace(story(), ended=None)) is None
    assert run_of(story(error="out of disk")) is None
    assert run_of(replace(story(), duration_millis=0)) is None


@pytest.mark.parametrize("millis", [-3000, 2**62])
def test_an_impossible_duration_is_no_evidence(millis: int) -> None:
    assert run_of(replace(story(), duration_millis=millis)) is None


def test_a_name_that_is_no_valid_utf_8_has_a_fingerprint() -> None:
    half = replace(DECISION, facts=replace(FACTS, keys=("a\ud800 = b",)))
    made = run_of(replace(story(), joins=(JoinStory(half, (), ()),)))
    assert made is not None
    assert len(made.fingerprint) == 16


@given(st.from_type(JoinStory), st.integers(), st.from_type(QueryEnded))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_story_is_a_run_or_left_out(join: JoinStory, millis: int, over: QueryEnded) -> None:
    made = run_of(replace(story(over=over), joins=(join,), duration_millis=millis))
    if made is not None:
        assert without_outliers([made] * 5) == [made] * 5


def test_a_join_runs_with_the_decided_strategy() -> None:
    assert only_join(story()).option == FILTERED


def test_a_filter_that_passed_every_row_counts_as_no_filter() -> None:
    join = only_join(story(outcomes=(PASSED_ALL,)))
    assert (join.option, join.pass_rates, join.measured) == (PLAIN, None, FACTS)


def test_in_observe_mode_a_join_runs_as_spark_plans_it() -> None:
    assert only_join(story("observe", outcomes=())).option == PLAIN


def test_measured_rows_and_keys_replace_estimates() -> None:
    join = only_join(story())
    assert join.pass_rates == (0.04, 1_150_310 / 28_800_310)
    keys = join.measured.build.keys
    assert keys.distinct is not None
    assert keys.origin_distinct is not None
    assert keys.distinct / keys.origin_distinct == pytest.approx(1_150_310 / 28_800_310, rel=1e-4)
    assert join.measured.probe.scan_rows == 28_800_310
    assert join.measured.probe.keys is None
    assert join.facts == FACTS


def test_rows_pruned_before_the_filter_count_as_removed() -> None:
    pruned = replace(OUTCOME, rows_in=2_880_000, rows_out=1_440_000, rows_unchecked=0)
    join = only_join(story(outcomes=(pruned,)))
    assert join.pass_rates == (0.04, 0.05)
    assert join.measured.probe.scan_rows == 28_800_000


def test_more_scanned_rows_than_estimated_are_used() -> None:
    more = replace(OUTCOME, rows_in=57_600_000, rows_out=5_760_000, rows_unchecked=0)
    join = only_join(story(outcomes=(more,)))
    assert join.pass_rates == (0.04, 0.1)
    assert (join.measured.probe.scan_rows, join.measured.probe.rows) == (57_600_000, 57_600_000)


def test_rows_that_a_paused_filter_did_not_check_have_passed() -> None:
    paused = replace(OUTCOME, rows_in=1_000_000, rows_out=990_000, rows_unchecked=27_800_000)
    join = only_join(story(outcomes=(paused,)))
    assert join.pass_rates == (0.04, 28_790_000 / 28_800_000)
    assert join.measured.probe.scan_rows == 28_800_000


def test_the_order_of_logged_joins_does_not_change_a_run() -> None:
    other = JoinStory(replace(DECISION, facts=replace(FACTS, keys=("a.k = b.k",), can_broadcast=False)), (), ())
    both = replace(story(), joins=(*story().joins, other))
    assert run_of(both) == run_of(replace(both, joins=both.joins[::-1]))


@given(st.lists(st.integers(900, 1100), min_size=5, max_size=20), st.integers(3000, 10**6))
def test_an_outlier_is_removed_and_other_runs_stay(usual: list[int], far: int) -> None:
    runs = [run(millis) for millis in usual]
    kept = without_outliers([*runs, run(far)])
    assert run(far) not in kept
    assert len(kept) >= 0.5 * len(runs)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
def test_at_least_half_of_the_runs_with_the_same_work_stay(durations: list[int]) -> None:
    assert 2 * len(without_outliers([run(millis) for millis in durations])) >= len(durations)


def test_runs_of_another_option_or_fingerprint_are_no_outliers() -> None:
    runs = [run(1000) for _ in range(6)] + [run(9000, option=FILTERED), run(9000, fingerprint="d")]
    assert without_outliers(runs) == runs


def test_the_newest_runs_of_each_way_are_kept() -> None:
    old = [run(1, at, FILTERED) for at in range(5)]
    new = [run(1, at) for at in range(5, 15)]
    assert newest([*new, *old], 3) == [*old[-3:], *new[-3:]]
