"""Running the queries of a workload in rounds, and checking what was run."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aqe_plugin.api.row_difference import Row, difference
from aqe_plugin.events.model import JoinDecision
from benchmarks.arms import (
    OFF,
    PLUGIN,
    Decided,
    Join,
    JoinPlan,
    arm_name,
    contenders_of,
    decided_joins,
    deviation,
    join_of,
    passed_of,
    plan_of,
    priced,
    refusal,
)
from benchmarks.configs import Contender
from benchmarks.intervals import Precision
from benchmarks.measure import attempt, run_description
from benchmarks.measured import Measured
from benchmarks.regret_file import RegretRuns
from benchmarks.rounds import order_of_round, shuffled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workloads.tpcds.queries import Query

# Of every arm in every session. What the last one does counts, because footers are cached by then.
_WARM_UPS = (-2, -1)
# Choices may depend on which of two stages ends first.
_LEARNING = (-3, *_WARM_UPS)


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        limit_seconds: a run that takes longer is cancelled.
        deadline: no round starts after this time of `time.monotonic`; none for no limit.
    """

    precision: Precision
    limit_seconds: float
    deadline: float | None

    @property
    def is_over(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline


@dataclass
class Progress:
    """Shows what runs, and how long the rest takes if it goes on as before."""

    show: Callable[[str], None]
    queries: int
    done: int = 0
    spent_seconds: float = 0.0

    def of_query(self, left_seconds: float, line: str) -> None:
        """One run of a query that takes at most `left_seconds` more."""
        others = "" if self.done == 0 else f", about {_span(left_seconds + self._others_seconds)} for all"
        self.show(f"query {self.done + 1} of {self.queries} · {line} · at most {_span(left_seconds)} left{others}")

    def query_is_done(self, seconds: float) -> None:
        self.done += 1
        self.spent_seconds += seconds

    @property
    def _others_seconds(self) -> float:
        return (self.queries - self.done - 1) * self.spent_seconds / self.done


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def measure_workload(
    spark: "SparkSession", queries: Sequence["Query"], runs: RegretRuns, effort: Effort, show: Callable[[str], None]
) -> Iterator[Measured]:
    """Measures what is missing of each query; a query whose measurement is over, for now or for good, is returned.

    An error goes on when Spark itself is gone; the run that it ended is not kept.
    """
    progress = Progress(show, len(queries))
    known = runs.load()
    for query in queries:
        if effort.is_over:
            return
        begin = time.monotonic()
        measured = known.get(query.name) or Measured(query.name, is_learned=False)
        measured.retry(effort.limit_seconds)
        _QueryRounds(spark, query, measured, runs, effort, progress).measure()
        progress.query_is_done(time.monotonic() - begin)
        yield measured


@dataclass
class _QueryRounds:
    """One query in one session.

    Attributes:
        reference: rows of Spark without the plugin.
        plans: of each join's options, the first that had this plan.
        made: runs so far, so that each has a description of its own.
    """

    spark: "SparkSession"
    query: "Query"
    measured: Measured
    runs: RegretRuns
    effort: Effort
    progress: Progress
    reference: list[Row] | None = None
    plans: dict[tuple[str, JoinPlan], str] = field(default_factory=dict)
    made: int = 0

    def measure(self) -> None:
        if self.measured.is_over or (self.measured.is_learned and not self._active()):
            return
        self._warm_up()
        for turn in itertools.count(self.measured.next_turn):
            if not self._active() or self.effort.is_over:
                return
            arms = order_of_round(self.query.name, turn, self.measured.base_arm, self._active())
            for place, name in enumerate(arms):
                self._run(self._contenders[name], turn, place)

    def _warm_up(self) -> None:
        """Runs each arm that is needed equally often, Spark alone first; learns the joins if they are not known."""
        decided: list[Mapping[str, Decided]] = []
        for turn in _WARM_UPS if self.measured.is_learned else _LEARNING:
            self._run(OFF, turn, 0)
            decided.append(self._run(PLUGIN, turn, 1))
        if not self.measured.is_learned and not self.measured.is_over:
            usual = most_frequent(decided).values()
            self.runs.learn(
                self.measured, [join_of(one.story.decision, priced(self.spark, one.facts)) for one in usual]
            )
        forced = self._contenders.keys() - {OFF.name, PLUGIN.name}
        for turn in _WARM_UPS:
            needed = forced & {self.measured.base_arm, *self._active()}
            for place, name in enumerate(shuffled(self.query.name, turn, needed)):
                self._run(self._contenders[name], turn, place)

    def _active(self) -> list[str]:
        others = (name for name in self._contenders if name != self.measured.base_arm)
        return [name for name in others if self.measured.is_active(name, self.effort.precision)]

    @property
    def _contenders(self) -> dict[str, Contender]:
        return {contender.name: contender for contender in contenders_of(self.measured.joins)}

    def _run(self, contender: Contender, turn: int, place: int) -> Mapping[str, Decided]:
        """Runs the contender, unless the query is over; returns what was decided."""
        if self.measured.is_over:
            return {}
        self.made += 1
        self._report(f"{self.query.name} · {contender.name} · {'warm-up' if turn < 0 else f'run {turn + 1}'}")
        limit = self.effort.limit_seconds
        description = run_description(self.query.name, contender.name, self.made)
        run = attempt(self.spark, self.query, contender, turn, limit_seconds=limit, description=description)
        decided: Mapping[str, Decided] = {}
        checked: dict[str, Any] = {}
        if not run.failure:
            self.reference = run.rows if self.reference is None else self.reference
            delta = difference(self.reference, run.rows)
            checked["differs"] = delta.describe(OFF.name, contender.name, shown=3) if delta else ""
            if contender != OFF:
                decided = decided_joins(self.spark, description)
                checked |= self._checked(contender, turn, decided)
        self.runs.add(self.measured, run, place, limit, checked)
        return decided

    def _checked(self, contender: Contender, turn: int, decided: Mapping[str, Decided]) -> dict[str, Any]:
        """Whether the run did what its arm stands for."""
        decisions = {join_id: one.story.decision for join_id, one in decided.items()}
        forced = self._forced.get(contender.name)
        if forced is None:
            why_not = deviation(self.measured.joins, decisions)
        else:
            join, option = forced
            why_not = refusal(option, decisions.get(join.join_id))
        if turn >= 0:
            return {"deviates": why_not}
        checked: dict[str, Any] = {"passed": _passed(decided)}
        if forced is not None and turn == _WARM_UPS[-1]:
            checked["refused"] = why_not or self._same_plan(join, option, decisions[join.join_id])
        return checked

    @property
    def _forced(self) -> dict[str, tuple[Join, str]]:
        return {arm_name(join, option): (join, option) for join in self.measured.joins for option in join.alternatives}

    def _same_plan(self, join: Join, option: str, decision: JoinDecision) -> str:
        """The other option of the join that has the same plan, in words; empty without one."""
        plan = plan_of(decision)
        first = join.chosen if plan == join.plan else self.plans.setdefault((join.join_id, plan), option)
        return "" if first == option else f"same plan as {first}"

    def _report(self, line: str) -> None:
        self.progress.of_query(self.measured.seconds_left(self._active(), self.effort.precision), line)


def most_frequent(runs: Sequence[Mapping[str, Decided]]) -> Mapping[str, Decided]:
    """Of several runs of a query, the latest of those whose choices were the most frequent."""
    choices = [{join_id: plan_of(one.story.decision) for join_id, one in run.items()} for run in runs]
    return runs[max(range(len(runs)), key=lambda at: (choices.count(choices[at]), at))]


def _passed(decided: Mapping[str, Decided]) -> dict[str, tuple[int, int]]:
    found = ((join_id, passed_of(one.story)) for join_id, one in decided.items())
    return {join_id: (passed.rows_in, passed.rows_out) for join_id, passed in found if passed is not None}
