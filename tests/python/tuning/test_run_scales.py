"""What outcomes tell of prices, and what they cannot."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.tuning.groups import COEFFICIENTS
from aqe_plugin.tuning.run_scales import RunPrices, prices_of, scales_of
from aqe_plugin.tuning.scales import Scales, inverse, quadratic_form, residuals
from fleet import DEFAULTS, Fleet, Noise, fleet_of

NAMES = [group.name for group in COEFFICIENTS]
QUIET = Noise(sigma=0.005, far_out=0.0, bad_day=None, drift=0.002)


def found_scales(fleet: Fleet, weeks: int = 1) -> Scales:
    runs = fleet.week(None)
    for _ in range(weeks):
        runs += fleet.week(DEFAULTS)
    return scales_of(runs, prices_of(runs, DEFAULTS, fleet.replay))


def test_true_prices_are_found_where_both_ways_were_seen() -> None:
    truth = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    for at, name in enumerate(NAMES[:5]):
        wrong = tuple(2.0 if other == at else one for other, one in enumerate(truth))
        found = found_scales(fleet_of(4, wrong, queries=40, noise=QUIET))
        assert found.factors[at] == pytest.approx(2.0, abs=0.25), name
        assert found.identified[at] > 0.9, name


def test_a_price_seen_only_one_way_stays() -> None:
    fleet = fleet_of(4, (3.0,) * 6, noise=QUIET)
    runs = [run for run in fleet.week(None) if not any(join.option and join.option.with_filter for join in run.joins)]
    found = scales_of(runs, prices_of(runs, DEFAULTS, fleet.replay))
    filters = NAMES.index("filter")
    assert found.factors[filters] == 1.0
    assert found.identified[filters] == 0.0
    # Nothing but noise tells of the others.
    assert all(share < 0.5 for share in found.identified)


def test_a_fingerprint_with_one_run_is_no_evidence() -> None:
    fleet = fleet_of(1)
    runs = fleet.week(None, runs=1)
    assert scales_of(runs, prices_of(runs, DEFAULTS, fleet.replay)).identified == (0.0,) * 6


def test_a_run_with_an_unpriced_join_is_no_evidence() -> None:
    fleet = fleet_of(4, (2.0,) * 6, queries=20, noise=QUIET)
    runs = fleet.week(None) + fleet.week(DEFAULTS)
    prices = prices_of(runs, DEFAULTS, fleet.replay)
    nothing: list[RunPrices] = [({},) for _ in prices]
    assert scales_of(runs, nothing) == scales_of([], [])
    assert scales_of(runs, prices) != scales_of([], [])


def test_runs_that_all_did_different_work_still_have_noise() -> None:
    fleet = fleet_of(4, noise=Noise(sigma=0.5, far_out=0.0, bad_day=None))
    option = fleet.queries[0].spark
    runs = [
        replace(run, joins=run.joins * (1 + at)) for at, run in enumerate(fleet.week(None)) if run.fingerprint == "c0"
    ]
    assert len({run.options for run in runs}) == len(runs)
    found = scales_of(runs, [({option: (9.0,) * 6},) * len(run.joins) for run in runs])
    assert max(found.identified) < 0.01


def test_without_history_every_scale_stays() -> None:
    assert scales_of([], []).factors == (1.0,) * 6


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_scales_are_positive_and_more_runs_identify_no_less(seed: int) -> None:
    few, many = found_scales(fleet_of(seed, queries=4)), found_scales(fleet_of(seed, queries=4), weeks=3)
    assert all(scale > 0 for scale in (*few.factors, *many.factors))
    assert all(0 <= share <= 1 for share in (*few.identified, *many.identified))


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.lists(st.lists(st.floats(-10, 10), min_size=size, max_size=size), min_size=size, max_size=size)
    )
)
def test_a_matrix_times_its_inverse_is_the_identity(root: list[list[float]]) -> None:
    size = len(root)
    matrix = [
        [math.fsum(a * b for a, b in zip(one, other, strict=True)) + (one is other) for other in root] for one in root
    ]
    found = inverse(matrix)
    for row in range(size):
        for column in range(size):
            product = math.fsum(matrix[row][k] * found[k][column] for k in range(size))
            assert product == pytest.approx(float(row == column), abs=1e-6)
    assert quadratic_form(found, [1.0] * size) > 0


def test_a_matrix_that_is_not_positive_definite_is_an_error() -> None:
    with pytest.raises(ValueError, match="not positive definite"):
        inverse([[1.0, 2.0], [2.0, 1.0]])


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.1, 1e3)), min_size=1, max_size=20))
def test_residuals_are_orthogonal_to_the_covariate(pairs: list[tuple[float, float]]) -> None:
    values, covariate = [list(one) for one in zip(*pairs, strict=True)]
    left = residuals(values, covariate)
    scale = 1 + math.fsum(abs(one) for one in values) * max(covariate)
    assert math.fsum(a * b for a, b in zip(left, covariate, strict=True)) / scale == pytest.approx(0, abs=1e-9)
    assert residuals(values, [0.0] * len(values)) == values
