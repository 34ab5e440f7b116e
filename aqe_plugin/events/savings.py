"""What the decisions of a history saved and what they lost, as far as its events know; the rest is not claimed.

Seconds are elapsed time by the plugin's own prices, at the pass rate that a filter measured, or measured between runs
of one query in mode apply and in mode observe. Of decisions that were only observed, everything is what they would
have saved.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from aqe_plugin.events.both_ways import BothWays, MeasuredSaving, measured_saving
from aqe_plugin.events.effect import NO_SAVING, Effect, effect_of
from aqe_plugin.events.fingerprint import fingerprint
from aqe_plugin.events.join_option import JoinOption, taken_by
from aqe_plugin.events.model import Mode, Strategy
from aqe_plugin.events.queries import JoinStory, QueryStory

_MOST_SHOWN = 15
# A pass rate that is less off was estimated well.
_LEAST_SURPRISE = 0.05

# A shorter wait for nothing is not worth a look.
_LEAST_WAIT_MILLIS = 100

WhyNoted = Literal["saving", "loss", "wait", "estimate"]
"""Why a join is worth a look: it saved or lost most, its probe side waited longest for nothing, or most rows passed its
filter, or did not, unexpectedly."""


@dataclass(frozen=True, slots=True)
class NotedJoin:
    """A join worth a look, and why.

    Attributes:
        option: what ran or, in mode observe, would have run, where Spark runs ``spark_strategy``.
        saved_millis: predicted; negative is a loss.
        expected: the share of rows that was expected to pass; ``passed`` the share that did, of ``rows``.
        unread: not all of these rows were read, as files, partitions or row groups were left out.
        waited_millis: how long the probe side waited for a build side that it did not use.
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
    unread: bool
    waited_millis: float


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
        unmeasured: of these, the effect of those whose query was not measured.
        measured: ``None`` where no query ran both ways often enough.
        noted: at most one join for each reason.
        queries: those with most saved or lost by price, in the order of their numbers.
        tables: those of which filters checked most rows, most removed first.
    """

    applications: int
    applied: Effect
    observed: Effect
    unmeasured: Effect
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
    """Adds up savings query by query; what it keeps grows with applications, different queries and tables alone."""

    _applications: set[str] = field(default_factory=set)
    _applied: Effect = field(default_factory=Effect)
    _ungrouped: Effect = field(default_factory=Effect)
    _by_query: defaultdict[tuple[str, str], BothWays] = field(default_factory=lambda: defaultdict(BothWays))
    _noted: dict[tuple[str, str], dict[tuple[WhyNoted, bool], tuple[float, NotedJoin]]] = field(default_factory=dict)
    _queries: list[QuerySaving] = field(default_factory=list)
    _checked: Counter[str] = field(default_factory=Counter)
    _removed: Counter[str] = field(default_factory=Counter)

    def add(self, story: QueryStory) -> None:
        """Counts one query."""
        effect, is_first = effect_of(story), story.application not in self._applications
        self._applications.add(story.application)
        if is_first:
            effect = replace(effect, first_rule_millis=effect.rule_millis)
        applied, millis = story.mode == "apply", story.succeeded_in_millis
        key = fingerprint(story), story.plan_digest or story.description
        if applied:
            self._applied += effect
        if millis is not None and (story.joins or (story.plan_digest and (story.limits or story.predicates))):
            same = self._by_query[key]
            (same.applied if applied else same.observed).add(millis, effect, is_first)
        elif not applied:
            self._ungrouped += effect
        if millis is None:
            return
        saving = QuerySaving(story.execution_id, story.description, story.mode, millis, effect.net_millis)
        if effect.changed:
            most = sorted([*self._queries, saving], key=lambda one: -abs(one.saved_millis))
            self._queries = most[:_MOST_SHOWN]
        for join in story.joins:
            self._note(key, story, join)
            for outcome in join.worked:
                self._checked[outcome.table] += max(0, outcome.rows_in)
                self._removed[outcome.table] += max(0, outcome.rows_removed)

    def _note(self, key: tuple[str, str], story: QueryStory, join: JoinStory) -> None:
        decision, rows = join.decision, join.measured
        saved = (join.saving or NO_SAVING).elapsed_millis or 0.0
        waited = join.vain_millis or 0.0
        weights: dict[WhyNoted, float] = {"saving": saved, "loss": -saved}
        if waited >= _LEAST_WAIT_MILLIS:
            weights["wait"] = waited
        if rows is not None and abs(decision.pass_rate - rows[1] / rows[0]) >= _LEAST_SURPRISE:
            weights["estimate"] = abs(decision.pass_rate * rows[0] - rows[1])
        noted, applied = self._noted.setdefault(key, {}), story.mode == "apply"
        for why, weight in weights.items():
            before = noted.get((why, applied))
            if weight > 0 and math.isfinite(weight) and (before is None or weight > before[0]):
                noted[why, applied] = (
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
                        unread=rows is not None and join.reached is not None and join.reached[0] < rows[0],
                        waited_millis=waited,
                    ),
                )

    def savings(self) -> Savings:
        """What was counted so far."""
        tables = [TableRows(name, rows, self._removed[name]) for name, rows in self._checked.most_common(_MOST_SHOWN)]
        order: tuple[WhyNoted, ...] = ("estimate", "wait", "loss", "saving")
        # A join that is worth a look for several reasons is named once.
        found = (self._most_noted(why) for why in order)
        noted = {(one.application, one.execution_id, one.keys): one for one in found if one is not None}
        compared = [(both, pair) for both in self._by_query.values() if (pair := both.compared) is not None]
        measured = sum((both.observed.effect for both, _ in compared), Effect())
        unmeasured = sum(
            (both.observed.effect for both in self._by_query.values() if both.compared is None), self._ungrouped
        )
        return Savings(
            applications=len(self._applications - {""}),
            applied=self._applied,
            observed=unmeasured + measured,
            unmeasured=unmeasured,
            measured=measured_saving(compared) if compared else None,
            noted=tuple(sorted(noted.values(), key=lambda one: -order.index(one.why))),
            queries=tuple(sorted(self._queries, key=lambda one: one.execution_id)),
            tables=tuple(sorted(tables, key=lambda one: -one.removed)),
        )

    def _most_noted(self, why: WhyNoted) -> NotedJoin | None:
        """What ran says more than what would have: runs that only observed a query count where no run applied it."""
        ways = ((noted, bool(self._by_query[key].applied.all.count)) for key, noted in self._noted.items())
        found = (noted[why, applied] for noted, applied in ways if (why, applied) in noted)
        return max(found, key=lambda one: (one[0], one[1].mode == "apply"), default=(0.0, None))[1]
