"""Times of the arms of experiments, taken in rounds, beside what the price predicts for each."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aqe_plugin.tuning.calibration.experiments import Arm, Experiment
from aqe_plugin.tuning.groups import Group
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.run_scales import prices_of
from aqe_plugin.tuning.runs import JoinRun, Run, median_deviation

NANOS_PER_MILLI = 1e6
# The error of a median is this many times the one of a mean.
_MEDIAN_ERROR = 1.2533
# Of few values, the median deviation falls short by these factors, from three values on (Croux and Rousseeuw,
# "Time-Efficient Algorithms for Two Highly Robust Estimators of Scale", COMPSTAT 1992); of n more by n / (n - 0.8).
_SHORTFALL = (1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
# Of the median: what the same query varies from one session to the next, however often it is repeated.
_LEAST_ERROR = 0.01


@dataclass(frozen=True, slots=True)
class Timed:
    """One run.

    Attributes:
        run: with the query's join; ``None`` without one.
    """

    millis: float
    run: Run | None


# Runs an arm on the cluster that is measured, and if asked to, reads what was decided for its join.
Runner = Callable[[Arm, bool], Timed]


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured of one arm.

    Attributes:
        millis: of each round.
        predicted: milliseconds by key, in the order of the groups, at the present coefficients: by how much the
            arm exceeds the experiment's first one, or for a join the whole price.
    """

    experiment: str
    arm: str
    millis: tuple[float, ...]
    predicted: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.millis)

    @property
    def error(self) -> float:
        """Standard deviation of :attr:`median`, in milliseconds."""
        rounds = len(self.millis)
        spread = median_deviation(self.millis) * _few(rounds) if rounds > 2 else 0.0
        return max(_MEDIAN_ERROR * spread / math.sqrt(rounds), _LEAST_ERROR * self.median)


def _few(rounds: int) -> float:
    """By how much the median deviation of so many values, at least three, is to be taken larger."""
    return _SHORTFALL[rounds - 3] if rounds - 3 < len(_SHORTFALL) else rounds / (rounds - 0.8)


@dataclass(frozen=True, slots=True)
class Effort:
    """When enough was measured.

    Attributes:
        least_rounds: are taken whatever the time; one more warms up.
        deadline: no further round starts after this time of ``time.monotonic``.
    """

    least_rounds: int
    most_rounds: int
    deadline: float


@dataclass
class Measured:
    """An arm while it is measured; ``decided`` is a run with its join."""

    experiment: Experiment
    arm: Arm
    millis: list[float] = field(default_factory=list)
    decided: Run | None = None


def measure(
    experiments: Sequence[Experiment], runner: Runner, effort: Effort, begins: Callable[[int], object]
) -> list[Measured]:
    """Runs every arm once a round, in an order that is shuffled anew.

    Args:
        begins: is called before each round with its number, 0 for the one that warms up.
    """
    arms = [Measured(one, arm) for one in experiments for arm in one.arms]
    shuffle = random.Random(len(arms))
    for turn in range(effort.most_rounds + 1):
        if turn > effort.least_rounds and time.monotonic() > effort.deadline:
            break
        begins(turn)
        for measured in shuffle.sample(arms, len(arms)):
            # Facts are those of the first run that counts; by then, footers are cached. Reading them takes time.
            timed = runner(measured.arm, turn == 1)
            measured.decided = timed.run or measured.decided
            if turn > 0:
                measured.millis.append(timed.millis)
    return arms


def samples_of(
    measured: Sequence[Measured], groups: Sequence[Group], thresholds: Mapping[str, float], replay: Replay
) -> tuple[list[Sample], list[str]]:
    """The samples, and in words the arms that are none because Spark did not run what they stand for.

    Args:
        groups: as of ``experiments.measured``.
        thresholds: the present value of each key.
    """
    found, refused = [], []
    decided = [one.decided for one in measured if one.decided is not None]
    prices = iter([joins[0] if joins else {} for joins in prices_of(decided, thresholds, replay, groups)])
    for one in measured:
        name = f"{one.experiment.name}: {one.arm.name}"
        if one.arm.option is None:
            predicted = tuple(
                one.arm.work.get(group.name, 0.0) * thresholds[group.name] / NANOS_PER_MILLI for group in groups
            )
        else:
            join = _only_join(one.decided)
            priced = next(prices) if one.decided is not None else {}
            ran = None if join is None else join.option
            if ran is None or ran.name != one.arm.option or ran not in priced:
                refused.append(f"{name} ran as {ran.name if ran else 'none of the options'}")
                continue
            predicted = priced[ran]
        found.append(Sample(one.experiment.name, one.arm.name, tuple(one.millis), predicted))
    return found, refused


def _only_join(run: Run | None) -> JoinRun | None:
    return run.joins[0] if run is not None and len(run.joins) == 1 else None
