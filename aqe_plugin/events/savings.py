"""What the decisions of a history saved and what they lost, as far as its events know; the rest is not claimed.

Seconds are elapsed time by the plugin's own prices, at the pass rate that a filter measured, or measured between runs
of one fingerprint with the plugin's choices and without. Of decisions that were only observed, everything is what they
would have saved.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import add, attrgetter
from typing import Literal

from aqe_plugin.events.fingerprint import fingerprint
from aqe_plugin.events.join_option import JoinOption, carried_out, taken_by
from aqe_plugin.events.model import BuildFacts, JoinDecision, LimitDecided, Mode, Strategy, WeighedOption
from aqe_plugin.events.queries import JoinStory, QueryStory

_MOST_SHOWN = 15
# One run says nothing of how far runs differ.
_LEAST_RUNS = 2
# Of the rows of a scan: a pass rate that is less off was estimated well, and fewer rows may not have been there at all.
_LITTLE = 0.05
# The names of the parts of a price that only an option with a filter has, and only one without.
_OF_FILTER, _OF_OTHER_SCANS = "filter ", "other scans"

WhyNoted = Literal["saving", "loss", "estimate"]
"""Why a join is worth a look: it saved or lost most, or most rows passed its filter, or did not, unexpectedly."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What the decisions of some queries did; effects can be added. Only of queries that succeeded, from ``millis`` on.

    Attributes:
        queries: all of them, with those that ``failed``, and those whose end is not known.
        changed: joins that ran otherwise than Spark by itself runs them.
        errors: faults of the plugin.
        missing: filters that were planned and that their scan did not find.
        millis: the time of the queries.
        rows_checked: by filters, with the ``rows_removed`` of them; in mode observe as estimated.
        shuffle_bytes: predicted not to have been written.
        unread_bytes: estimated, of partitions that filters left out.
        unread_files: left out by limits, of ``limit_files``.
        saved_millis: predicted, of the joins that became cheaper; ``lost_millis`` of the ``dearer`` ones.
        unpriced: joins that changed by an unknown price.
        idle_filters: filters that let every row pass, and left out no files.
        vain_waits: probe sides that waited ``vain_millis`` for a build side and did not use it.
        rule_millis: in the plugin's own rules.
    """

    queries: int = 0
    failed: int = 0
    joins: int = 0
    changed: int = 0
    errors: int = 0
    missing: int = 0
    millis: int = 0
    rows_checked: float = 0
    rows_removed: float = 0
    shuffle_bytes: float = 0
    unread_bytes: float = 0
    unread_files: int = 0
    limit_files: int = 0
    saved_millis: float = 0
    lost_millis: float = 0
    dearer: int = 0
    unpriced: int = 0
    idle_filters: int = 0
    vain_waits: int = 0
    vain_millis: float = 0
    rule_millis: int = 0

    def __add__(self, other: Effect) -> Effect:
        return Effect(*map(add, _numbers(self), _numbers(other)))

    @property
    def net_millis(self) -> float:
        """What was saved less what was lost, by price."""
        return self.saved_millis - self.lost_millis


_numbers = attrgetter(*(one.name for one in fields(Effect)))


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


def saved_millis(
    prices: Mapping[JoinOption, float], spark_strategy: Strategy, option: JoinOption | None
) -> float | None:
    """The price of Spark's own option less that of ``option``; ``None`` where one of them has no price.

    ``pipeline.priced_joins`` says the same in columns; a test compares the two.
    """
    of_spark = carried_out(spark_strategy, spark_strategy, False)
    if option == of_spark:
        return 0.0
    if option is None or of_spark is None or option not in prices or of_spark not in prices:
        return None
    return prices[of_spark] - prices[option]


def prices_at(decision: JoinDecision, passed: float | None) -> dict[JoinOption, float]:
    """The price of each option that has one, in milliseconds, had the share ``passed`` of rows passed the filter.

    The event has prices at the expected share. Apart from the filter's own, they are taken as linear between it and 1,
    where they are those of the method without a filter, which only sorting and work in other scans are not quite.
    """
    priced = {
        JoinOption(one.strategy, one.with_filter): one
        for one in decision.options
        if one.cost_millis is not None and math.isfinite(one.cost_millis)
    }
    rest = 1 - decision.pass_rate
    beyond = 0.0 if passed is None or not rest > 0 else (passed - decision.pass_rate) / rest
    prices = {}
    for option, one in priced.items():
        price, method = one.cost_millis or 0.0, option.strategy
        plain = priced.get(JoinOption("plain_sort_merge" if method == "filtered_sort_merge" else method, False))
        if not option.with_filter:
            price -= beyond * _millis(one, _OF_OTHER_SCANS)
        elif plain is not None:
            own = _millis(one, _OF_FILTER)
            work, whole = price - own, (plain.cost_millis or 0.0) - _millis(plain, _OF_OTHER_SCANS)
            price = own + max(0.0, work + (whole - work) * beyond)
        if math.isfinite(price):
            prices[option] = price
    return prices


def _millis(option: WeighedOption, names: str) -> float:
    """The parts of a price whose names begin with ``names``; old logs have none."""
    return math.fsum(term.nanos for term in option.terms or () if term.name.startswith(names)) / 1e6


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
    _applied: Effect = Effect()
    _observed: Effect = Effect()
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
        saved = predicted_saving(join, story.mode) or 0.0
        weights: dict[WhyNoted, float] = {"saving": saved, "loss": -saved}
        if rows is not None and abs(decision.pass_rate - rows[1] / rows[0]) >= _LITTLE:
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
                        option=_option(join, story.mode),
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


def effect_of(story: QueryStory) -> Effect:
    """The effect of one query's decisions: what they did or, in mode observe, would have done."""
    ended = story.ended
    effect = Effect(
        queries=1,
        failed=int(story.error is not None),
        joins=len(story.joins),
        changed=sum(is_changed(join, story.mode) for join in story.joins),
        errors=max(0, ended.errors) if ended is not None else 0,
        missing=max(0, ended.planned - ended.applied) if ended is not None else 0,
    )
    millis = story.succeeded_in_millis
    if millis is None or ended is None:
        return effect
    effect += Effect(millis=millis, rule_millis=max(0, ended.rule_millis))
    for limit in story.limits:
        effect += _of_limit(limit)
    for join in story.joins:
        effect += _of_join(join, story.mode)
    return effect


def predicted_saving(join: JoinStory, mode: Mode) -> float | None:
    """By how much the price of what ran is below that of Spark's own option, in milliseconds, at the measured pass rate
    where there is one; ``None`` where it has no price. In mode observe that of the option that was decided."""
    rows = join.measured
    prices = prices_at(join.decision, None if rows is None else rows[1] / rows[0])
    return saved_millis(prices, join.decision.facts.spark_strategy, _option(join, mode))


def is_changed(join: JoinStory, mode: Mode) -> bool:
    """Whether the join ran or, in mode observe, would have run otherwise than by Spark itself."""
    option = _option(join, mode)
    return option is not None and option != join.ran_as("observe")


def _option(join: JoinStory, mode: Mode) -> JoinOption | None:
    return join.ran_as(mode) if mode == "apply" else taken_by(join.decision)


def _of_join(join: JoinStory, mode: Mode) -> Effect:
    decision, facts, wait = join.decision, join.decision.facts, join.decision.facts.waiting
    saved = predicted_saving(join, mode)
    checked, removed, share, left_out = _filtered(join, mode)
    in_vain = wait is not None and wait.outcome in ("unused", "released")
    idle = sum(
        one.reason is not None or (one.rows_in > 0 and one.rows_removed <= 0 and left_out < _LITTLE)
        for one in join.outcomes
        if one.kind != "missing"
    )
    return Effect(
        rows_checked=checked,
        rows_removed=removed,
        shuffle_bytes=_not_shuffled(decision, _option(join, mode), share),
        unread_bytes=left_out * max(0, facts.probe.prunable_bytes or 0),
        saved_millis=max(0.0, saved or 0.0),
        lost_millis=max(0.0, -(saved or 0.0)),
        dearer=int((saved or 0.0) < 0),
        unpriced=int(saved is None and is_changed(join, mode)),
        idle_filters=idle,
        vain_waits=int(in_vain),
        vain_millis=_positive(wait.waited_millis) if wait is not None and in_vain else 0.0,
    )


def _filtered(join: JoinStory, mode: Mode) -> tuple[float, float, float, float]:
    """The rows that the join's filter checked and removed, and of the scan's rows the shares that it removed one by one
    and that did not pass, which files left out are a part of."""
    decision, rows = join.decision, join.measured
    if mode != "apply":
        share = min(1.0, max(0.0, 1 - decision.pass_rate)) if decision.build_filter else 0.0
        checked = max(0, decision.facts.probe.scan_rows) if decision.build_filter else 0
        return checked, share * checked, share, share
    checked = sum(max(0, one.rows_in) for one in join.worked)
    removed = sum(max(0, one.rows_removed) for one in join.worked)
    if rows is None:
        return checked, removed, 0.0, 0.0
    return checked, removed, min(1.0, removed / rows[0]), min(1.0, max(0.0, 1 - rows[1] / rows[0]))


def _not_shuffled(decision: JoinDecision, option: JoinOption | None, removed: float) -> float:
    """The bytes that shuffles between the scans and the join did not write, as the price counts shuffles.

    A filter takes the share ``removed`` from each, and a broadcast in place of Spark's shuffle the join's own.
    """
    facts, probe = decision.facts, decision.facts.probe
    compressed = _compressed_share(facts.build)
    if compressed is None or option is None:
        return 0.0
    path = probe.path or ()
    below = [_bytes(step.rows, step.row_bytes or 0) for step in path if step.work == "shuffle"]
    own = _bytes(probe.rows, probe.row_bytes)
    shuffles = max(0, probe.exchanges - len(below))
    is_new = option.strategy == "broadcast" and facts.spark_strategy != "broadcast" and not facts.order_used
    avoided = min(shuffles, int(is_new)) * own
    spared = next((step.share for step in path if step.work == "shared" and step.share is not None), 1.0)
    reduced = (shuffles * own - avoided + math.fsum(below)) * removed
    return compressed * (avoided * min(1.0, _positive(spared)) + reduced)


def _compressed_share(build: BuildFacts) -> float | None:
    """Bytes that the build side's stage wrote for a byte in memory, at most 1; ``None`` where no shuffle wrote it."""
    if build.already_broadcast or build.memory_bytes <= 0 or build.stage_bytes <= 0:
        return None
    return min(1.0, build.stage_bytes / build.memory_bytes)


def _bytes(rows: int, row_bytes: int) -> float:
    return float(max(0, rows)) * max(0, row_bytes)


def _positive(number: float | None) -> float:
    return max(0.0, number) if number is not None and math.isfinite(number) else 0.0


def _of_limit(limit: LimitDecided) -> Effect:
    chosen = limit.decision.choice != "leave_to_spark" and (limit.applied or limit.mode != "apply")
    files = max(0, limit.decision.facts.files)
    left_out = max(0, files - limit.decision.files_chosen)
    return Effect(unread_files=left_out, limit_files=files) if chosen else Effect()


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
