"""The runs of one query in mode observe and in mode apply, and what the measured times of both say.

Whatever the plugin did counts: a query that only waited, and changed no join, is compared too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aqe_plugin.events.effect import Effect

# One run says nothing of how far runs differ.
_LEAST_RUNS = 2


@dataclass(frozen=True, slots=True)
class MeasuredSaving:
    """The time that ``applied_runs`` took less than as many would have at the mean of the ``observed_runs``.

    Attributes:
        queries: those with at least two runs in mode apply and in mode observe; in ``unchanged`` of them no join ran
            otherwise, so that a difference is waits, rules, limits, predicates, or chance.
        error_millis: the standard error of ``saved_millis``.
        first_runs: those of the runs that were the first query of their application, which is slower: a query has them
            only where it lacks others.
        left_out: the first runs of these queries that were not compared.
    """

    queries: int
    observed_runs: int
    applied_runs: int
    saved_millis: float
    error_millis: float
    first_runs: int = 0
    left_out: int = 0
    unchanged: int = 0


class Durations:
    """Number, mean and variance of durations that come one by one (Welford, Technometrics 1962)."""

    def __init__(self) -> None:
        self.count, self.mean, self._squares = 0, 0.0, 0.0

    def add(self, millis: float) -> None:
        self.count += 1
        off = millis - self.mean
        self.mean += off / self.count
        self._squares += off * (millis - self.mean)

    def variance_of_mean(self) -> float:
        return self._squares / (self.count - 1) / self.count


class Runs:
    """The runs of one query in one mode: all of them, and those that were not the first of their application."""

    def __init__(self) -> None:
        self.all, self.later, self.effect = Durations(), Durations(), Effect()

    def add(self, millis: float, effect: Effect, is_first: bool) -> None:
        self.all.add(millis)
        if not is_first:
            self.later.add(millis)
        self.effect += effect


class BothWays:
    """The runs of one query in mode observe and in mode apply."""

    def __init__(self) -> None:
        self.observed, self.applied = Runs(), Runs()

    @property
    def compared(self) -> tuple[Durations, Durations] | None:
        """The durations to compare: of later runs, where both modes have enough of them; else of all."""
        later, every = (self.observed.later, self.applied.later), (self.observed.all, self.applied.all)
        return next((both for both in (later, every) if min(one.count for one in both) >= _LEAST_RUNS), None)

    @property
    def first_runs(self) -> int:
        return sum(runs.all.count - runs.later.count for runs in (self.observed, self.applied))


def measured_saving(compared: Sequence[tuple[BothWays, tuple[Durations, Durations]]]) -> MeasuredSaving:
    """The saving over all of these queries, each with what is compared of it."""
    pairs = [pair for _, pair in compared]
    variances = (
        with_it.count**2 * (without.variance_of_mean() + with_it.variance_of_mean()) for without, with_it in pairs
    )
    firsts = [(both.first_runs, pair[0] is both.observed.all) for both, pair in compared]
    return MeasuredSaving(
        queries=len(pairs),
        observed_runs=sum(without.count for without, _ in pairs),
        applied_runs=sum(with_it.count for _, with_it in pairs),
        saved_millis=math.fsum(with_it.count * (without.mean - with_it.mean) for without, with_it in pairs),
        error_millis=math.sqrt(math.fsum(variances)),
        first_runs=sum(number for number, counted in firsts if counted),
        left_out=sum(number for number, counted in firsts if not counted),
        unchanged=sum(not both.applied.effect.changed for both, _ in compared),
    )
