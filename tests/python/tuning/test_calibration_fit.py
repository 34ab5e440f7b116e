"""Coefficients are found again in times that were made from them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.tuning.calibration.experiments import MEASURED
from aqe_plugin.tuning.calibration.fit import Fit, fit
from aqe_plugin.tuning.calibration.samples import Sample
from aqe_plugin.tuning.groups import value_of

THRESHOLDS = {key: value_of({}, PREFIX + key) for key in MEASURED}


def simulated(
    seed: int, factors: Sequence[float], noise: float = 0.02, rounds: int = 5, unseen: Sequence[int] = ()
) -> list[Sample]:
    """Twelve experiments of four arms, whose work is drawn at random, in a cluster with these ``factors``."""
    draw = random.Random(seed)
    samples = []
    for number in range(12):
        base = draw.uniform(200, 600)
        for arm in range(4):
            work = [draw.choice((0, 0, 1)) * draw.uniform(10, 400) for _ in MEASURED]
            predicted = tuple(0.0 if at in unseen else value for at, value in enumerate(work))
            truth = base + math.fsum(a * b for a, b in zip(factors, predicted, strict=True))
            millis = tuple(truth * math.exp(draw.gauss(0, noise)) for _ in range(rounds))
            samples.append(Sample(f"e{number}", f"a{arm}", millis, predicted))
    return samples


def drawn_factors(seed: int) -> list[float]:
    draw = random.Random(seed)
    return [2 ** draw.gauss(0, 1) for _ in MEASURED]


def times(found: Fit) -> list[float]:
    return [one.value / one.old for one in found.coefficients]


def test_the_coefficients_that_made_the_times_are_found() -> None:
    factors = drawn_factors(1)
    found = fit(simulated(1, factors, noise=0.002), THRESHOLDS)
    assert times(found) == pytest.approx(factors, rel=0.1)
    assert min(one.identified for one in found.coefficients) > 0.9
    assert [one.key for one in found.coefficients] == [PREFIX + key for key in MEASURED]


@pytest.mark.simulation
@pytest.mark.parametrize("rounds", [3, 5])
def test_intervals_hold_the_true_coefficients_as_often_as_they_say(rounds: int) -> None:
    held = []
    for seed in range(100):
        factors = drawn_factors(seed)
        found = fit(simulated(seed, factors, rounds=rounds), THRESHOLDS)
        for one, factor in zip(found.coefficients, factors, strict=True):
            held.append(one.low <= one.old * factor <= one.high)
    # Of 1,400 intervals of 95 %; values are rounded and bounded by what a conf may have.
    assert 0.91 <= sum(held) / len(held) <= 0.99


def test_work_that_no_arm_does_keeps_its_coefficient() -> None:
    found = fit(simulated(3, drawn_factors(3), unseen=(2, 5)), THRESHOLDS)
    for at in (2, 5):
        one = found.coefficients[at]
        assert one.value == one.old
        assert one.identified == pytest.approx(0, abs=1e-9)
    proposed = {one.key for one in found.proposed(0.5)}
    assert proposed.isdisjoint(PREFIX + MEASURED[at] for at in (2, 5))


def test_an_experiment_with_one_arm_tells_nothing() -> None:
    alone = [sample for sample in simulated(4, drawn_factors(4)) if sample.arm == "a0"]
    found = fit(alone, THRESHOLDS)
    assert found.proposed(0.01) == ()
    assert found.points == ()


def test_what_the_model_cannot_explain_widens_the_intervals() -> None:
    factors = [1.0] * len(MEASURED)
    plain = simulated(5, factors, noise=0.005)
    odd = [
        replace(one, millis=tuple(1.5 * value for value in one.millis)) if number % 7 == 0 else one
        for number, one in enumerate(plain)
    ]
    explained, unexplained = fit(plain, THRESHOLDS), fit(odd, THRESHOLDS)
    assert explained.inflation < 2 < unexplained.inflation
    for narrow, wide in zip(explained.coefficients, unexplained.coefficients, strict=True):
        assert wide.high / wide.low > narrow.high / narrow.low


def test_points_have_the_prediction_before_and_after() -> None:
    factors = [3.0] * len(MEASURED)
    found = fit(simulated(6, factors, noise=0.002), THRESHOLDS)
    before = math.fsum(abs(point.before - point.measured) for point in found.points)
    after = math.fsum(abs(point.after - point.measured) for point in found.points)
    assert len(found.points) == 48
    assert after < before / 10


def test_a_value_is_one_that_a_conf_may_have() -> None:
    found = fit(simulated(7, [1e9] * len(MEASURED)), THRESHOLDS)
    for one in found.coefficients:
        low, high = conf_keys()[one.key].limits
        assert low <= one.low <= one.value <= one.high <= high
