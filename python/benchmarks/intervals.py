"""Ratios of runs that were made in the same rounds, with bootstrap intervals."""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Wall seconds by round.
Seconds = Mapping[int, float]

_RESAMPLES = 1000
_COVERED = 0.95


@dataclass(frozen=True)
class Interval:
    """A median with the interval that covers 95 % of its bootstrap distribution."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Precision:
    """When a ratio is known well enough.

    Attributes:
        least_runs: no ratio is settled by fewer rounds.
        most_runs: rounds after which a ratio stays as it is.
        half_width: of its interval, below which a ratio is settled.
        slower: a ratio whose whole interval is above is settled too: the arm is no candidate for the best.
    """

    least_runs: int = 5
    most_runs: int = 12
    half_width: float = 0.03
    slower: float = 1.05


def paired_ratios(seconds: Seconds, base: Seconds) -> list[float]:
    """The ratio in each round that has both, in the order of the rounds."""
    return [seconds[turn] / base[turn] for turn in sorted(seconds.keys() & base.keys()) if base[turn] > 0]


def median_interval(values: Sequence[float]) -> Interval:
    """The median of `values`; equal values give equal intervals, because the resampling is seeded.

    Raises:
        statistics.StatisticsError: there is no value.
    """
    generator = random.Random(len(values))
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    outside = round(_RESAMPLES * (1 - _COVERED) / 2)
    return Interval(statistics.median(values), medians[outside], medians[-1 - outside])


def is_settled(ratios: Sequence[float], precision: Precision) -> bool:
    """Whether further rounds would say nothing new."""
    if len(ratios) < precision.least_runs:
        return False
    if len(ratios) >= precision.most_runs:
        return True
    interval = median_interval(ratios)
    return interval.half_width <= precision.half_width or interval.low > precision.slower


def seconds_lost(base: Seconds, arms: Sequence[Seconds]) -> float:
    """Seconds by which the best of `base` and `arms` beats `base`, without the bias of choosing it by the same runs.

    The best is chosen in the even rounds and measured in the odd ones, and the other way round; this is the mean of
    both. It may be negative. 0 with fewer than two rounds of `base`.
    """
    halves = (_every_other(base, 0), _every_other(base, 1))
    if not all(halves):
        return 0.0
    return statistics.fmean(_lost(arms, halves[one], halves[1 - one], one) for one in (0, 1))


def _lost(arms: Sequence[Seconds], chosen_by: Seconds, measured_by: Seconds, parity: int) -> float:
    best, least = None, 1.0
    for arm in arms:
        ratios = paired_ratios(_every_other(arm, parity), chosen_by)
        if ratios and paired_ratios(_every_other(arm, 1 - parity), measured_by) and statistics.median(ratios) < least:
            best, least = arm, statistics.median(ratios)
    if best is None:
        return 0.0
    ratio = statistics.median(paired_ratios(_every_other(best, 1 - parity), measured_by))
    return statistics.median(measured_by.values()) * (1 - ratio)


def _every_other(seconds: Seconds, parity: int) -> Seconds:
    return {turn: value for turn, value in seconds.items() if turn % 2 == parity}
