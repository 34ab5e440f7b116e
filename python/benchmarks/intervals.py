"""Ratios of runs that were made in the same rounds, with bootstrap intervals."""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Wall seconds by round.
Seconds = Mapping[int, float]
# Seconds of an arm per second of the run that it is held against, by round.
Ratios = Mapping[int, float]

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


def paired_ratios(seconds: Seconds, base: Seconds) -> dict[int, float]:
    """The ratio in each round that has both, in the order of the rounds."""
    return {turn: seconds[turn] / base[turn] for turn in sorted(seconds.keys() & base.keys()) if base[turn] > 0}


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


def has_both_halves(ratios: Ratios) -> bool:
    """Whether there are even and odd rounds."""
    return len({turn % 2 for turn in ratios}) == 2


def share_lost(arms: Sequence[Ratios]) -> float:
    """Share of the base's time by which the best of the base and `arms` beats the base, without the bias of the choice.

    The best is chosen in the even rounds and measured in the odd ones, and the other way round; this is the mean of
    both. It may be negative. An arm that lacks rounds of one kind does not count.
    """
    halves = [(_every_other(arm, 0), _every_other(arm, 1)) for arm in arms if has_both_halves(arm)]
    return statistics.fmean(_lost([(pair[kind], pair[1 - kind]) for pair in halves]) for kind in (0, 1))


def _lost(arms: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """The share that the arm with the least median of its first ratios saves by its second ones."""
    medians = [(statistics.median(chosen_by), statistics.median(measured_by)) for chosen_by, measured_by in arms]
    least, measured = min(medians, default=(1.0, 1.0))
    return 1 - measured if least < 1 else 0.0


def _every_other(ratios: Ratios, parity: int) -> list[float]:
    return [ratio for turn, ratio in ratios.items() if turn % 2 == parity]
