"""What the decisions of a history saved and what they lost, as far as its events know; the rest is not claimed.

Seconds are elapsed time by the plugin's own prices, at the pass rate that a filter measured, or measured between runs
of one fingerprint with the plugin's choices and without. Of decisions that were only observed, everything is what they
would have saved.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from aqe_plugin.events.effect import NO_SAVING, Effect, effect_of
from aqe_plugin.events.fingerprint import fingerprint
from aqe_plugin.events.join_option import JoinOption, taken_by
from aqe_plugin.events.model import Mode, Strategy
from aqe_plugin.events.queries import JoinStory, QueryStory

_MOST_SHOWN = 15
# One run says nothing of how far runs differ.
_LEAST_RUNS = 2
# A pass rate that is less off was estimated well.
_LEAST_SURPRISE = 0.05

WhyNoted = Literal["saving", "loss", "estimate"]
"""Why a join is worth a look: it saved or lost most, or most rows passed its filter, or did not, unexpectedly."""


@dataclass(frozen=True, slots=True)
class MeasuredSaving:
    """The time that ``queries`` in mode apply took less than as many would have at the mean of the others.

    Attributes:
        fingerprints: those of which joins were changed, with at least two runs in mode apply and in another mode.
        error_millis: the standard error of ``saved_millis``.
    """

    queries: int
    fingerprints: int
    saved_millis: float
    error_millis: float


@dataclass(frozen=True, slots=True)
class NotedJoin:
    """A join worth a look, and why.

    Attributes:
        option: what ran or, in mode observe, would have run, where Spark runs ``spark_strategy``.
        saved_millis: predicted; negative is a loss.
        expected: the share of rows that was expected to pass; ``passed`` the share that did, of ``rows``.
    """

    why: WhyNoted
    application: str
    execution_id: int
    mode: Mode
    keys: tuple[str, ...]
    spark_strategy: Strategy
    option: JoinOption | None
    saved_millis: float
    expected: float | None
    passed: float | None
    rows: int


@dataclass(frozen=True, slots=True)
class QuerySaving:
    """A query's time, and what is predicted to have been saved or, in mode observe, could have been."""

    execution_id: int
    description: str
    mode: Mode
    millis: int
    saved_millis: float


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table that filters checked and removed."""

    table: str
    checked: int
    removed: int


@dataclass(frozen=True, slots=True)
class Savings:
    """What a history's decisions were worth; every list is bounded.

    Attributes:
        applied: the effect of queries in mode apply; ``observed`` of the others, had they been applied.
        measured: ``None`` where no fingerprint ran both ways often enough.
        noted: at most one join for each reason.
        queries: those with most saved or lost by price, in the order of their numbers.
        tables: those of which filters checked most rows, most removed first.
    """

    applications: int
    applied: Effect
    observed: Effect
    measured: MeasuredSaving | None
    noted: tuple[NotedJoin, ...]
    queries: tuple[QuerySaving, ...]
    tables: tuple[TableRows, ...]

    @property
    def total(self) -> Effect:
        """Of all queries."""
        return self.applied + self.observed


def savings_of(stories: Iterable[QueryStory]) -> Savings:
    """The savings of a history; neither queries nor joins are kept."""
    counted = SavingsCount()
    for story in stories:
        counted.add(story)
    return counted.savings()


@dataclass
class SavingsCount:
    """Adds up savings query by query; what it keeps grows with applications, fingerprints and tables alone."""

    _applications: set[str] = field(default_factory=set)
    _applied: Effect = field(default_factory=Effect)
    _observed: Effect = field(default_factory=Effect)
    _changed: set[str] = field(default_factory=set)
    _durations: defaultdict[str, tuple[_Durations, _Durations]] = field(
        default_factory=lambda: defaultdict(lambda: (_Durations(), _Durations()))
    )
    _noted: dict[WhyNoted, tuple[float, NotedJoin]] = field(default_factory=dict)
    _queries: list[QuerySaving] = field(default_factory=list)
    _checked: Counter[str] = field(default_factory=Counter)
    _removed: Counter[str] = field(default_factory=Counter)

    def add(self, story: QueryStory) -> None:
        """Counts one query."""
        self._applications |= {story.application} - {""}
        effect = effect_of(story)
        if story.mode == "apply":
            self._applied += effect
        else:
            self._observed += effect
        millis = story.succeeded_in_millis
        if millis is None:
            return
        if story.joins:
            name, applied = fingerprint(story), story.mode == "apply"
            self._durations[name][applied].add(millis)
            self._changed |= {name} if applied and effect.changed else set()
        saving = QuerySaving(story.execution_id, story.description, story.mode, millis, effect.net_millis)
        if effect.changed:
            most = sorted([*self._queries, saving], key=lambda one: -abs(one.saved_millis))
            self._queries = most[:_MOST_SHOWN]
        for join in story.joins:
            self._note(story, join)
            for outcome in join.worked:
                self._checked[outcome.table] += max(0, outcome.rows_in)
                self._removed[outcome.table] += max(0, outcome.rows_removed)

    def _note(self, story: QueryStory, join: JoinStory) -> None:
        decision, rows = join.decision, join.measured
        saved = (join.saving or NO_SAVING).elapsed_millis or 0.0
        weights: dict[WhyNoted, float] = {"saving": saved, "loss": -saved}
        if rows is not None and abs(decision.pass_rate - rows[1] / rows[0]) >= _LEAST_SURPRISE:
            weights["estimate"] = abs(decision.pass_rate * rows[0] - rows[1])
        for why, weight in weights.items():
            if weight > max(0.0, self._noted[why][0] if why in self._noted else 0.0) and math.isfinite(weight):
                self._noted[why] = (
                    weight,
                    NotedJoin(
                        why=why,
                        application=story.application,
                        execution_id=story.execution_id,
                        mode=story.mode,
                        keys=decision.facts.keys,
                        spark_strategy=decision.facts.spark_strategy,
                        option=join.ran_as("apply") if story.mode == "apply" else taken_by(decision),
                        saved_millis=saved,
                        expected=decision.pass_rate if decision.build_filter else None,
                        passed=None if rows is None else rows[1] / rows[0],
                        rows=decision.facts.probe.scan_rows if rows is None else rows[0],
                    ),
                )

    def savings(self) -> Savings:
        """What was counted so far."""
        tables = [TableRows(name, rows, self._removed[name]) for name, rows in self._checked.most_common(_MOST_SHOWN)]
        order: tuple[WhyNoted, ...] = ("estimate", "loss", "saving")
        # A join that is worth a look for several reasons is named once.
        found = (self._noted[why][1] for why in order if why in self._noted)
        noted = {(one.application, one.execution_id, one.keys): one for one in found}
        return Savings(
            applications=len(self._applications),
            applied=self._applied,
            observed=self._observed,
            measured=_measured(self._durations[name] for name in self._changed),
            noted=tuple(sorted(noted.values(), key=lambda one: -order.index(one.why))),
            queries=tuple(sorted(self._queries, key=lambda one: one.execution_id)),
            tables=tuple(sorted(tables, key=lambda one: -one.removed)),
        )


class _Durations:
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


def _measured(fingerprints: Iterable[tuple[_Durations, _Durations]]) -> MeasuredSaving | None:
    both = [(without, with_it) for without, with_it in fingerprints if min(without.count, with_it.count) >= _LEAST_RUNS]
    if not both:
        return None
    variances = (
        with_it.count**2 * (without.variance_of_mean() + with_it.variance_of_mean()) for without, with_it in both
    )
    return MeasuredSaving(
        queries=sum(with_it.count for _, with_it in both),
        fingerprints=len(both),
        saved_millis=math.fsum(with_it.count * (without.mean - with_it.mean) for without, with_it in both),
        error_millis=math.sqrt(math.fsum(variances)),
    )
