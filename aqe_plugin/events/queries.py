"""Puts the events of one application together, query by query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from aqe_plugin.events.cancelled import says_cancelled
from aqe_plugin.events.join_option import JoinOption, carried_out
from aqe_plugin.events.lines import FORCE_KEY, ApplicationStarted, Decided, EnvironmentSet, Event, ExecutorRemoved
from aqe_plugin.events.model import (
    ExecutionEnded,
    ExecutionStarted,
    FilterOutcome,
    FilterPlanned,
    FlipPoint,
    JoinDecided,
    JoinDecision,
    JoinSaving,
    LimitDecided,
    Mode,
    PredicateInferred,
    QueryEnded,
    TrialArm,
)
from aqe_plugin.events.plan_digest import plan_digest

_MAX_OPEN_QUERIES = 10_000
FILTERS_WITHOUT_EFFECT = ("pass_all", "missing")
_TEN_YEARS_MILLIS = 10 * 366 * 86_400_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JoinStory:
    """One join: the decision, its planned filters, the outcome of each, and where the decision changes.

    While the query runs, there are no outcomes and flips, and no saving.

    Attributes:
        saving: ``None`` when the join ran as Spark runs it by itself.
        is_beside_others: filters of other joins of the query checked rows of the same tables.
    """

    decision: JoinDecision
    filters: tuple[FilterPlanned, ...]
    outcomes: tuple[FilterOutcome, ...]
    flips: tuple[FlipPoint, ...] = ()
    saving: JoinSaving | None = None
    is_beside_others: bool = False

    @property
    def vain_millis(self) -> float | None:
        """How long the probe side waited for a build side that it did not use; ``None`` without such a wait."""
        wait = self.decision.facts.waiting
        if wait is None or wait.outcome not in ("unused", "released"):
            return None
        return wait.waited_millis or 0.0

    @property
    def spares_shuffle(self) -> bool:
        """Whether a wait let Spark's broadcast begin before the probe side was shuffled."""
        return self.saving is not None and self.saving.spares_shuffle is True

    @property
    def worked(self) -> tuple[FilterOutcome, ...]:
        """The outcomes of the filters that checked rows, or could have."""
        return tuple(outcome for outcome in self.outcomes if outcome.kind not in FILTERS_WITHOUT_EFFECT)

    @property
    def files_left_out(self) -> tuple[int, int | None]:
        """The data files that the filter's scans did not read for want of a key, and of how many, if known."""
        told = [(one.files_left_out, one.files_listed) for one in self.worked if one.files_left_out is not None]
        listed = [of for _, of in told if of is not None]
        return sum(left for left, _ in told), sum(listed) if told and len(listed) == len(told) else None

    @property
    def measured(self) -> tuple[int, int] | None:
        """The rows that the filter's scans were to produce and those that passed; ``None`` where no filter checked one.

        The first are the rows that the scan was expected to produce, or those it produced when they are more: rows
        pruned with their file or row group by the filter's range never reach the filter and are removed all the same.
        Beside other filters, which may have removed them, the share is that of the rows that reached this one.
        """
        if self.reached is None:
            return None
        read, passed = self.reached
        scanned = max(read, self.decision.facts.probe.scan_rows)
        return scanned, round(passed / read * scanned) if self.is_beside_others else passed

    @property
    def reached(self) -> tuple[int, int] | None:
        """The rows that came to the filter and those that passed; ``None`` where no row was checked.

        Rows that no task checked, because it had paused the filter, passed.
        """
        worked = self.worked
        if sum(outcome.rows_in for outcome in worked) <= 0:
            return None
        unchecked = sum(outcome.rows_unchecked for outcome in worked)
        read = sum(outcome.rows_in for outcome in worked) + unchecked
        # A damaged log may have negative counts that cancel out.
        return max(read, 1), sum(outcome.rows_out for outcome in worked) + unchecked

    def ran_as(self, mode: Mode) -> JoinOption | None:
        """What ran: in mode apply the choice, with its filter if one worked, else what Spark does by itself."""
        decision, spark = self.decision, self.decision.facts.spark_strategy
        if mode != "apply":
            return carried_out(spark, spark, False)
        return carried_out(spark, decision.choice, decision.build_filter and bool(self.worked))


@dataclass(frozen=True, slots=True)
class QueryStory:
    """One query with a decision on a join, a limit or a predicate, or with a fault that kept the plugin from deciding.

    Attributes:
        application: the application's id, else the name of its log.
        description: as in Spark's UI; empty when the log lacks the query's start.
        duration_millis: wall time, ``None`` while it runs.
        ended: the plugin's event at the end of the query, ``None`` while it runs.
        limits: the limits of the query, known when it has ended.
        predicates: those that were inferred across joins.
        error: the first line of the query's error, ``None`` when it succeeded or still runs.
        cancelled: whether the error says that somebody cancelled the query.
        application_started_millis: 0 when the log does not say it.
        last_event_millis: the newest time among the query's events, 0 without any.
        log_written_millis: when the log of an application that has not ended was last written to; ``None`` for a log
            that has ended, or when nobody knows.
        decided_arm: the arm of the trial that the decisions name.
        plan_digest: the same for queries that compute the same, in every mode; empty when the log lacks the plan.
        force: what ``spark.aqePlugin.force`` was set to, by the session if ``session_forces``, else by its application;
            ``None`` when the log has no such setting.
        run_by: the outermost query that this one is part of, as Delta's ``MERGE`` runs several; ``None`` if none.
    """

    application: str
    application_name: str
    execution_id: int
    description: str
    mode: Mode
    duration_millis: int | None
    joins: tuple[JoinStory, ...]
    ended: QueryEnded | None
    error: str | None
    limits: tuple[LimitDecided, ...] = ()
    predicates: tuple[PredicateInferred, ...] = ()
    cancelled: bool = False
    application_started_millis: int = 0
    last_event_millis: int = 0
    log_written_millis: int | None = None
    decided_arm: TrialArm | None = None
    plan_digest: str = ""
    force: str | None = None
    session_forces: bool = False
    run_by: int | None = None

    @property
    def arm(self) -> TrialArm | None:
        """The arm of the trial that the query belongs to; ``None`` without a trial."""
        return self.decided_arm if self.ended is None else self.ended.arm

    @property
    def succeeded_in_millis(self) -> int | None:
        """The duration; ``None`` when the query still runs, failed, or has no credible duration.

        When a clock is set while a query runs, its duration may have any sign and length.
        """
        millis = self.duration_millis or 0
        credible = self.ended is not None and self.error is None and 0 < millis < _TEN_YEARS_MILLIS
        return millis if credible else None


@dataclass
class _Open:
    """What is known so far of a query whose events still come in."""

    decided: list[Decided] = field(default_factory=list)
    started: ExecutionStarted | None = None
    spark_ended: ExecutionEnded | None = None
    ended: QueryEnded | None = None


def queries_in(
    records: Iterable[Event | T], log_name: str, log_written_millis: int | None = None
) -> Iterator[QueryStory | T]:
    """The queries of one application's events, each as soon as it is complete; other records are passed through.

    A query that never ended comes last, without an outcome. At most 10,000 queries are kept open.

    Args:
        log_written_millis: as of a :class:`QueryStory`.
    """
    queries: dict[int, _Open] = {}
    application, force = ApplicationStarted(log_name, ""), None

    def story(execution_id: int, query: _Open) -> Iterator[QueryStory]:
        for found in _story(execution_id, query, application, log_written_millis):
            yield found if found.session_forces else replace(found, force=force)

    for record in records:
        if isinstance(record, ApplicationStarted):
            application = replace(record, app_id=record.app_id or log_name)
        elif isinstance(record, ExecutionStarted):
            queries.setdefault(record.execution_id, _Open()).started = record
        elif isinstance(record, Decided):
            queries.setdefault(record.execution_id, _Open()).decided.append(record)
        elif isinstance(record, ExecutionEnded | QueryEnded):
            complete = _completed_by(record, queries)
            if complete is not None:
                yield from story(record.execution_id, complete)
        elif isinstance(record, EnvironmentSet):
            force = record.properties.get(FORCE_KEY)
        elif not isinstance(record, ExecutorRemoved):
            yield record
        if len(queries) > _MAX_OPEN_QUERIES:
            oldest = next(iter(queries))
            yield from story(oldest, queries.pop(oldest))
    for execution_id, query in queries.items():
        yield from story(execution_id, query)


def _completed_by(event: ExecutionEnded | QueryEnded, queries: dict[int, _Open]) -> _Open | None:
    """The query that ``event`` completes, taken out of ``queries``; ``None`` when it still lacks an end."""
    # Decisions that were never made are recorded between Spark's end and the plugin's, so a query needs both.
    query = queries.get(event.execution_id)
    if query is None:
        return None
    if isinstance(event, QueryEnded):
        query.ended = event
    else:
        query.spark_ended = event
    if query.spark_ended is None or query.ended is None:
        return None
    return queries.pop(event.execution_id)


def _story(
    execution_id: int, query: _Open, application: ApplicationStarted, log_written_millis: int | None
) -> Iterator[QueryStory]:
    if not query.decided and (query.ended is None or query.ended.errors == 0):
        return
    joins = tuple(one for one in query.decided if isinstance(one, JoinDecided))
    limits = tuple(one for one in query.decided if isinstance(one, LimitDecided))
    outcomes = query.ended.outcomes if query.ended is not None else ()
    flips = (query.ended.flips if query.ended is not None else None) or ()
    savings = {one.join_id: one for one in (query.ended.savings if query.ended is not None else None) or ()}
    predicates = tuple(one for one in query.decided if isinstance(one, PredicateInferred))
    bounds = (one.predicate for one in predicates if one.inferred_by == "INEQUALITY")
    started = query.started
    message = (query.spark_ended and query.spark_ended.error_message) or ""
    # Limits may have a mode of their own.
    modes = [one.mode for one in joins or limits or query.decided]
    yield QueryStory(
        application=application.app_id,
        application_name=application.app_name,
        execution_id=execution_id,
        description=started.description if started is not None else "",
        mode=modes[-1] if modes else "apply",
        duration_millis=_duration_millis(query),
        joins=beside_each_other(
            JoinStory(
                joined.decision,
                joined.filters,
                tuple(outcome for outcome in outcomes if outcome.join_id == joined.decision.join_id),
                tuple(flip for flip in flips if flip.join_id == joined.decision.join_id),
                savings.get(joined.decision.join_id),
            )
            for joined in joins
        ),
        ended=query.ended,
        error=next(iter(message.strip().splitlines()), None),
        limits=limits,
        predicates=predicates,
        cancelled=says_cancelled(message),
        application_started_millis=application.time_millis,
        last_event_millis=_last_event_millis(query),
        log_written_millis=log_written_millis,
        decided_arm=next((one.arm for one in query.decided if one.arm is not None), None),
        plan_digest=plan_digest(started.plan_parts, bounds) if started is not None else "",
        force=started.force if started is not None else None,
        run_by=started.root_execution_id if started is not None and started.root_execution_id != execution_id else None,
        session_forces=started is not None and started.force is not None,
    )


def beside_each_other(joins: Iterable[JoinStory]) -> tuple[JoinStory, ...]:
    """The joins of one query, which know whether their filters checked rows of the same tables."""
    stories = tuple(joins)
    filters = Counter(table for join in stories for table in {outcome.table for outcome in join.worked})
    return tuple(
        replace(join, is_beside_others=True) if any(filters[outcome.table] > 1 for outcome in join.worked) else join
        for join in stories
    )


def _last_event_millis(query: _Open) -> int:
    times = [one.time_millis for one in (*query.decided, query.ended) if one is not None]
    times += [one.time for one in (query.started, query.spark_ended) if one is not None]
    return max(times, default=0)


def _duration_millis(query: _Open) -> int | None:
    if query.ended is not None:
        return query.ended.duration_millis
    if query.started is not None and query.spark_ended is not None:
        return max(0, query.spark_ended.time - query.started.time)
    return None
