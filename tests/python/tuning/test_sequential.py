"""The test of canary against control: how often it is wrong, and how soon it is right."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome, compare, log_evidence
from tests.extent import cases

MARGIN, ALPHA = 0.05, 0.05


def pairs(dice: random.Random, slowdown: float, sigma: float, many: int) -> list[tuple[float, float]]:
    """Durations with a heavy tail: lognormal, and one in 50 runs takes three times as long."""

    def duration(scale: float) -> float:
        return scale * math.exp(dice.gauss(0, sigma)) * (3 if dice.random() < 0.02 else 1)

    return [(duration(1000 * slowdown), duration(1000)) for _ in range(many)]


def outcomes(seed: int, slowdown: float, sigma: float = 0.1, trials: int = 2000, many: int = 200) -> list[Comparison]:
    dice = random.Random(seed)
    return [compare(pairs(dice, slowdown, sigma, many), MARGIN, ALPHA) for _ in range(trials)]


@pytest.mark.simulation
@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.4])
def test_at_most_alpha_of_equal_canaries_are_called_worse(sigma: float) -> None:
    found = outcomes(1, 1.0, sigma, trials=cases(200, whole=1000))
    assert sum(one.outcome is Outcome.WORSE for one in found) <= ALPHA * len(found)


@pytest.mark.simulation
def test_testing_after_every_pair_does_not_raise_false_alarms() -> None:
    # The bare test, whatever else would end it: how often does a fair coin ever reach the limit?
    dice, alarms = random.Random(2), 0
    trials = cases(500, whole=2000)
    for _ in range(trials):
        heads = 0
        for tosses in range(1, 301):
            heads += dice.random() < 0.5
            if log_evidence(heads, tosses) >= -math.log(ALPHA):
                alarms += 1
                break
    assert 0 < alarms <= ALPHA * trials


@pytest.mark.simulation
@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.4])
def test_at_most_alpha_of_canaries_slower_by_the_margin_pass(sigma: float) -> None:
    found = outcomes(3, 1 + MARGIN, sigma, trials=cases(200, whole=1000))
    assert sum(one.outcome is Outcome.NOT_WORSE for one in found) <= ALPHA * len(found)


@pytest.mark.simulation
@pytest.mark.parametrize(("slowdown", "expected"), [(1.3, Outcome.WORSE), (0.8, Outcome.NOT_WORSE)])
def test_a_clear_difference_is_shown_within_15_pairs(slowdown: float, expected: Outcome) -> None:
    found = outcomes(4, slowdown, trials=300)
    assert sum(one.outcome is expected for one in found) >= 0.99 * len(found)
    assert sorted(one.pairs for one in found)[len(found) // 2] <= 15


@pytest.mark.simulation
def test_an_equal_canary_passes_within_the_limit_of_pairs() -> None:
    found = outcomes(5, 1.0, sigma=0.05, trials=300)
    assert sum(one.outcome is Outcome.NOT_WORSE for one in found) >= 0.9 * len(found)


@given(st.integers(0, 60).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_the_mean_evidence_of_a_fair_coin_stays_constant(case: tuple[int, int]) -> None:
    successes, trials = case
    now, (after_success, after_failure) = (
        math.exp(log_evidence(successes, trials)),
        (math.exp(log_evidence(successes + hit, trials + 1)) for hit in (1, 0)),
    )
    assert (after_success + after_failure) / 2 == pytest.approx(now, rel=1e-9)


def test_without_pairs_the_test_is_undecided() -> None:
    assert compare([], MARGIN, ALPHA) == Comparison(Outcome.UNDECIDED, 0, 0, 0, 1.0)
    assert log_evidence(0, 0) == 0
