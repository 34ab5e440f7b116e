"""Ratios of paired runs, their intervals, and when they are known well enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.intervals import Precision, is_settled, median_interval, paired_ratios, share_lost

_SECONDS = st.floats(0.01, 1000.0)
_RUNS = st.dictionaries(st.integers(0, 20), _SECONDS)
_PRECISION = Precision(least_runs=5, most_runs=12, half_width=0.03, slower=1.05)


@given(_RUNS, _RUNS)
def test_only_rounds_that_both_have_are_compared(left: dict[int, float], right: dict[int, float]) -> None:
    both = sorted(left.keys() & right.keys())
    assert paired_ratios(left, right) == {turn: left[turn] / right[turn] for turn in both}


@given(st.lists(_SECONDS, min_size=1, max_size=20))
def test_the_median_is_in_its_interval_and_the_interval_in_the_range(values: list[float]) -> None:
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.median <= interval.high <= max(values)


@given(st.lists(_SECONDS, min_size=1, max_size=20))
def test_equal_values_have_equal_intervals(values: list[float]) -> None:
    assert median_interval(values) == median_interval(values)


@given(st.lists(_SECONDS, max_size=20))
def test_a_ratio_is_settled_neither_too_early_nor_never(ratios: list[float]) -> None:
    settled = is_settled(ratios, _PRECISION)
    if len(ratios) < 5:
        assert not settled
    if len(ratios) >= 12:
        assert settled


def test_a_tight_ratio_and_one_that_is_surely_slower_are_settled() -> None:
    assert is_settled([1.0, 1.01, 0.99, 1.0, 1.0], _PRECISION)
    assert is_settled([1.2, 1.9, 1.4, 1.1, 1.3], _PRECISION)
    assert not is_settled([0.8, 1.4, 1.0, 0.9, 1.2], _PRECISION)


@given(st.sets(st.integers(0, 20), min_size=4), st.floats(0.1, 3.0))
def test_the_share_that_an_arm_always_saves_is_lost(rounds: set[int], ratio: float) -> None:
    lost = share_lost([dict.fromkeys(rounds, ratio)])
    saves = ratio < 1 and len({turn % 2 for turn in rounds}) == 2
    assert lost == pytest.approx(1 - ratio if saves else 0)


def test_the_best_arm_is_not_chosen_by_the_runs_that_measure_it() -> None:
    # Fast in even rounds only, as noise may be: chosen there, measured in the others.
    lucky = {turn: 0.5 if turn % 2 == 0 else 1.2 for turn in range(8)}
    assert share_lost([lucky]) == pytest.approx((1 - 1.2 + 0) / 2)
    assert share_lost([]) == share_lost([{0: 0.5, 2: 0.5}]) == 0
