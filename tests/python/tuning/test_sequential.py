"""The test of canary against control: how often it is wrong, and how soon it is right."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.tuning.rollout.rings import RingLimits
from aqe_plugin.tuning.rollout.sequential import (
    ErrorRates,
    Outcome,
    PairComparison,
    SymmetryEvidence,
    compare,
    excess,
    log_evidence,
)
from tests.extent import cases

MARGIN, ALPHA = 0.05, 0.05
RATES = ErrorRates(ALPHA, ALPHA)


def pairs(dice: random.Random, slowdown: float, sigma: float, many: int) -> list[tuple[float, float]]:
    """Durations with a heavy tail: lognormal, and one in 50 runs takes three times as long."""

    def duration(scale: float) -> float:
        return scale * math.exp(dice.gauss(0, sigma)) * (3 if dice.random() < 0.02 else 1)

    return [(duration(1000 * slowdown), duration(1000)) for _ in range(many)]


def outcomes(
    seed: int, slowdown: float, sigma: float = 0.1, trials: int = 2000, many: int = 200
) -> list[PairComparison]:
    dice = random.Random(seed)
    return [compare(pairs(dice, slowdown, sigma, many), MARGIN, RATES) for _ in range(trials)]


@pytest.mark.simulation
@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.4])
def test_at_most_alpha_of_equal_canaries_are_called_worse(sigma: float) -> None:
    found = outcomes(1, 1.0, sigma, trials=cases(200, whole=1000))
    assert sum(one.outcome is Outcome.WORSE for one in found) <= ALPHA * len(found)


@pytest.mark.simulation
def test_testing_after_every_pair_does_not_raise_false_alarms() -> None:
    # The bare tests, whatever else would end them: how often do a fair coin and symmetric values ever reach the limit?
    dice, coins, values = random.Random(2), 0, 0
    trials = cases(500, whole=2000)
    for _ in range(trials):
        heads, coin, evidence, symmetric = 0, 0.0, SymmetryEvidence(), 0.0
        for tosses in range(1, 301):
            heads += dice.random() < 0.5
            coin = max(coin, log_evidence(heads, tosses))
            # Every twentieth is a straggler, of either sign.
            evidence.add(dice.gauss(0, 1) * (20 if dice.random() < 0.05 else 1))
            symmetric = max(symmetric, evidence.log)
        coins += coin >= -math.log(ALPHA)
        values += symmetric >= -math.log(ALPHA)
    assert 0 < coins <= ALPHA * trials
    assert 0 < values <= ALPHA * trials


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


@given(st.lists(st.floats(-1e6, 1e6), max_size=20), st.floats(0, 1e6))
def test_the_mean_evidence_of_a_value_of_either_sign_stays_constant(before: list[float], size: float) -> None:
    evidence = [SymmetryEvidence() for _ in range(3)]
    for one in evidence:
        for value in before:
            one.add(value)
    evidence[1].add(size)
    evidence[2].add(-size)
    now, greater, less = (math.exp(one.log) for one in evidence)
    assert (greater + less) / 2 == pytest.approx(now, rel=1e-9)


def test_equal_values_are_no_evidence_and_one_straggler_is_little() -> None:
    evidence = SymmetryEvidence()
    for _ in range(9):
        evidence.add(0.0)
    assert evidence.log == pytest.approx(0)
    evidence.add(1e9)
    assert evidence.log < math.log(2)


def test_without_pairs_the_test_is_undecided() -> None:
    assert compare([], MARGIN, RATES) == PairComparison(Outcome.UNDECIDED, 0, 0, 1.0)
    assert log_evidence(0, 0) == 0


# Failures and cancellations


def failing(dice: random.Random, canary: float, control: float, many: int) -> list[tuple[int, int]]:
    return [(int(dice.random() < canary), int(dice.random() < control)) for _ in range(many)]


@pytest.mark.simulation
@pytest.mark.parametrize("anyway", [0.02, 0.3, 0.9])
def test_failures_that_both_sides_have_raise_at_most_as_many_alarms_as_allowed(anyway: float) -> None:
    dice, trials = random.Random(6), cases(500, whole=5000)
    found = [excess(failing(dice, anyway, anyway, 200), 0.01) for _ in range(trials)]
    # One in a hundred, and three standard deviations.
    assert sum(one.is_shown for one in found) <= 0.01 * trials + 3 * math.sqrt(0.01 * trials)


def test_a_canary_that_always_fails_is_worse_after_eleven_pairs() -> None:
    found = excess([(1, 0)] * 200, RingLimits().counts)
    assert (found.is_shown, found.differing, found.more) == (True, 11, 11)


def test_equal_counts_say_nothing() -> None:
    assert excess([(3, 3)] * 200, 0.01) == excess([], 0.01)
    assert excess([], 0.01).odds == 1


def test_a_canary_that_fails_after_a_night_on_which_the_control_did_is_worse() -> None:
    assert not excess([(0, 1)] * 9, 0.01).is_shown
    found = excess([(0, 1)] * 9 + [(1, 0)] * 200, 0.01)
    assert found.is_shown
    assert found.differing < 60
