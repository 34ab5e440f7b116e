"""Finished queries as evidence: the runs, what failed, and the applications of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace

from aqe_plugin.events.fingerprint import condition_of, fingerprint
from aqe_plugin.events.model import TrialArm
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.tuning.runs import Run, run_of

DAY_MILLIS = 86_400_000
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that ended with an error, or never, or that somebody ``cancelled``; the rest as of a run.

    Attributes:
        at_millis: of a query that never ended, the time of its last event.
    """

    fingerprint: str
    application: str
    at_millis: int
    arm: TrialArm | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Errors in the plugin in one query, which left Spark's own plan in force; the rest as of a run.

    Attributes:
        fingerprint: empty when the plugin decided no join of the query.
    """

    fingerprint: str
    application: str
    at_millis: int
    errors: int
    arm: TrialArm | None = None


Ended = Run | Failure | Fault


@dataclass(frozen=True, slots=True)
class Application:
    """What is known of an application whatever became of it.

    Attributes:
        kind: the same for applications that are alike: the name, and what Spark's UI shows for the first query,
            without words that hold a digit.
        first_join: the condition of the join that was decided first, empty without any.
        started_millis: when it started, else when the first of its queries that ended did; milliseconds since 1970.
        has_ended: whether what it did on its first day is known: as of ``application_has_ended``.
    """

    name: str
    kind: str
    first_join: str
    started_millis: int
    has_ended: bool = True


@dataclass(frozen=True, slots=True)
class QueryHistory:
    """Queries of which nothing more will come: a query is a run or a failure, and may have had faults besides.

    Attributes:
        applications: those of the queries, and perhaps others.
    """

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    faults: tuple[Fault, ...] = ()
    applications: tuple[Application, ...] = ()

    @property
    def until_millis(self) -> int:
        """The newest time in it, 0 when it is empty."""
        queries: tuple[Ended, ...] = (*self.runs, *self.failures, *self.faults)
        times = [*(query.at_millis for query in queries), *(one.started_millis for one in self.applications)]
        return max(times, default=0)

    def where(self, holds: Callable[[Ended], bool]) -> QueryHistory:
        """The queries of which ``holds`` is true."""
        return QueryHistory(
            tuple(filter(holds, self.runs)),
            tuple(filter(holds, self.failures)),
            tuple(filter(holds, self.faults)),
            self.applications,
        )

    def of_applications(self, holds: Callable[[Application], bool]) -> QueryHistory:
        """The applications of which ``holds`` is true, with their queries."""
        kept = tuple(filter(holds, self.applications))
        names = {one.name for one in kept}
        return replace(self.where(lambda query: query.application in names), applications=kept)


def history_of(stories: Iterable[QueryStory]) -> QueryHistory:
    """The queries among ``stories`` that have ended, and all their applications.

    A query without a decided join has no fingerprint: it is neither a run nor a failure, but its faults count. A query
    without an end is a failure once it is lost: as of ``query_is_lost``. A query that is told twice, because its log
    was copied, counts once, as it is told more fully.
    """
    found: dict[tuple[str, int, int], _Evidence] = {}
    seen: dict[str, _Seen] = {}
    for story in stories:
        seen.setdefault(story.application, _Seen(story)).add(story)
        # The start tells attempts of an application apart, in each of which ids begin anew.
        key = (story.application, story.application_started_millis, story.execution_id)
        evidence = _evidence(story)
        if key not in found or found[key].fullness < evidence.fullness:
            found[key] = evidence
    newest_millis = max((one.last_millis for one in seen.values()), default=0)
    failures = (
        one.failure
        for one in found.values()
        if one.failure is not None
        and (
            one.has_end
            or query_is_lost(one.failure.at_millis, seen[one.failure.application].written_millis, newest_millis)
        )
    )
    return QueryHistory(
        tuple(one.run for one in found.values() if one.run is not None),
        tuple(failures),
        tuple(one.fault for one in found.values() if one.fault is not None),
        tuple(one.application(newest_millis) for one in seen.values()),
    )


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What one story may count for.

    Attributes:
        has_end: whether the query ended; if not, its failure is one only when it is lost.
        last_event_millis: the newest time that the story tells of.
    """

    has_end: bool
    last_event_millis: int
    run: Run | None = None
    failure: Failure | None = None
    fault: Fault | None = None

    @property
    def fullness(self) -> tuple[bool, int]:
        """The greater of two stories of one query tells more."""
        return self.has_end, self.last_event_millis


def _evidence(story: QueryStory) -> _Evidence:
    if story.ended is None:
        is_open = story.joins and (story.error is not None or story.duration_millis is None)
        failure = _failure(story, story.last_event_millis) if is_open else None
        return _Evidence(False, story.last_event_millis, failure=failure)
    at_millis, errors = story.ended.time_millis, story.ended.errors
    name = fingerprint(story) if story.joins else ""
    fault = Fault(name, story.application, at_millis, errors, story.arm) if errors > 0 else None
    run = run_of(story) if story.joins else None
    failed = story.joins and run is None and story.error is not None
    return _Evidence(True, story.last_event_millis, run, _failure(story, at_millis) if failed else None, fault)


def _failure(story: QueryStory, at_millis: int) -> Failure:
    return Failure(fingerprint(story), story.application, at_millis, story.arm, story.cancelled)


def application_has_ended(started_millis: int, written_millis: int | None, now_millis: int) -> bool:
    """Whether an application's log has ended or was not written to for a day, or it started more than two days ago.

    Every query that was last heard of on its first day has then ended or is lost: both go by this clock.

    Args:
        written_millis: when its log was last written to, ``None`` for one that has ended.
    """
    return _is_idle(written_millis, now_millis) or now_millis - started_millis > 2 * DAY_MILLIS


def query_is_lost(last_event_millis: int, written_millis: int | None, now_millis: int) -> bool:
    """Whether a query without an end will have none: its log has ended, or it or its log said nothing for a day."""
    return _is_idle(written_millis, now_millis) or now_millis - last_event_millis > DAY_MILLIS


def _is_idle(written_millis: int | None, now_millis: int) -> bool:
    return written_millis is None or now_millis - written_millis > DAY_MILLIS


def in_arm(history: QueryHistory, arm: TrialArm | None) -> QueryHistory:
    """The queries of one arm of a trial, or those outside any trial."""
    return history.where(lambda query: query.arm == arm)


def applications_since(history: QueryHistory, at_millis: int) -> QueryHistory:
    """The applications that started after ``at_millis``: they read a conf that changed then."""
    return history.of_applications(lambda one: one.started_millis > at_millis)


def faulty(history: QueryHistory) -> frozenset[str]:
    """The fingerprints of queries with errors of the plugin; queries without a decided join have none."""
    return frozenset(fault.fingerprint for fault in history.faults if fault.fingerprint)


def new_errors(changed: QueryHistory, anyway: Set[str]) -> int:
    """The plugin's errors with a change, but for those in fingerprints that have some without it: ``anyway``."""
    return sum(fault.errors for fault in changed.faults if fault.fingerprint not in anyway)


@dataclass
class _Seen:
    """What the stories of one application say of it so far; ``first`` is that of the query that began first."""

    first: QueryStory
    started_millis: int = 0
    first_millis: int = 0
    last_millis: int = 0
    written_millis: int | None = None

    def add(self, story: QueryStory) -> None:
        # Ids begin anew in each attempt of an application.
        if _begun(story) < _begun(self.first):
            self.first = story
        self.started_millis = _earlier(self.started_millis, story.application_started_millis)
        if story.ended is not None:
            self.first_millis = _earlier(self.first_millis, story.ended.time_millis - story.ended.duration_millis)
        self.last_millis = max(self.last_millis, story.last_event_millis, story.log_written_millis or 0)
        if story.log_written_millis is not None:
            self.written_millis = max(self.written_millis or 0, story.log_written_millis, story.last_event_millis)

    def application(self, newest_millis: int) -> Application:
        """As of ``newest_millis``, the newest time in any log."""
        first, started_millis = self.first, self.started_millis or self.first_millis or self.last_millis
        return Application(
            first.application,
            " ".join(filter(None, map(_without_numbers, (first.application_name, first.description)))),
            condition_of(first.joins[0].decision.facts) if first.joins else "",
            started_millis,
            application_has_ended(started_millis, self.written_millis, newest_millis),
        )


def _begun(story: QueryStory) -> tuple[int, int]:
    return story.application_started_millis, story.execution_id


def _earlier(one: int, other: int) -> int:
    """The earlier of two times, of which 0 is unknown."""
    return min(one or other, other or one)


def _without_numbers(text: str) -> str:
    """``text`` without what differs from one run of a job to the next: dates, counters, most random ids."""
    return " ".join(word for word in _NO_WORD.split(text) if word and not any(map(str.isdigit, word)))
