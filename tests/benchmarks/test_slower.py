"""Which of many measured ratios count as slower."""

from __future__ import annotations

import random

import pytest

from benchmarks.overhead.slower import Ratio, ratio_of, surely_slower

LIMIT = 1.02


def runs(generator: random.Random, ratio: float, spread: float, count: int = 5) -> tuple[list[float], list[float]]:
    """Runs of two contenders whose ratio is `ratio` but for noise."""
    base = [generator.uniform(0.5, 1.5) for _ in range(count)]
    return [spent * ratio * generator.lognormvariate(0, spread) for spent in base], base


def test_the_middle_of_equal_rounds_is_their_ratio_without_doubt_of_either_side() -> None:
    above, below = (ratio_of([1.1, 2.2], [1.0, 2.0], limit) for limit in (1.02, 1.2))
    assert above.middle == pytest.approx(1.1)
    assert above.low == pytest.approx(above.high)
    assert above.doubt == 0
    assert below.doubt == 1


def test_one_round_proves_nothing() -> None:
    assert ratio_of([3.0], [1.0], LIMIT).doubt == 1


def test_rounds_of_which_one_contender_has_more_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratio_of([1.0, 1.0], [1.0], LIMIT)
    with pytest.raises(ValueError, match="no round"):
        ratio_of([], [], LIMIT)


def test_ratios_far_above_the_noise_are_slower_and_no_others() -> None:
    generator = random.Random(1)
    ratios = {f"same{n}": ratio_of(*runs(generator, 1.0, 0.05), LIMIT) for n in range(100)}
    ratios |= {f"slower{n}": ratio_of(*runs(generator, 2.0, 0.02), LIMIT) for n in range(3)}
    assert sorted(surely_slower(ratios)) == ["slower0", "slower1", "slower2"]


def test_of_equal_contenders_one_in_twenty_families_has_a_slower_query_at_most() -> None:
    generator = random.Random(2)
    families = [{n: ratio_of(*runs(generator, LIMIT, 0.1), LIMIT) for n in "abcdefghij"} for _ in range(400)]
    assert sum(bool(surely_slower(family)) for family in families) / len(families) < 0.08


def test_a_doubtful_ratio_hides_those_with_more_doubt() -> None:
    sure, doubtful = Ratio(1.5, 1.4, 1.6, 0.001), Ratio(1.1, 1.0, 1.2, 0.03)
    assert surely_slower({"a": doubtful, "b": sure, "c": Ratio(1.2, 1.0, 1.4, 0.04)}) == ["b"]
