"""Pairs of applications: the unit of comparison, because an application is in a canary or not, with all its queries.

All queries of an application share its arm, its data, its executors and its hour. If each query were a pair, one large
application would count as often as it runs queries: simulated with applications that differ by 30 % and run one
fingerprint 20 times, an equal canary is then called slower in 69 of 150 trials, and in 3 when applications count once.

Which application goes with which depends on what is known of it before it does anything: its kind, the join that is
decided first, and when it started. How long its queries take, whether they fail and how many it gets to have no say,
and a pair, once used, is never made anew. Nor do applications that are done sooner come first: of a kind, only those
that started before each one that still runs are taken. So in each new pair either side is the slower one with the same
chance if the change does nothing, whatever the pairs before it: the sequential test needs exactly that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from aqe_plugin.tuning.history import DAY_MILLIS, Application, Failure, QueryHistory
from aqe_plugin.tuning.runs import Run


@dataclass(frozen=True, slots=True)
class PairSide:
    """One application of a pair.

    Attributes:
        millis: durations of the first query of each fingerprint, added up over the fingerprints of which that query
            succeeded on both sides; ``None`` without any.
        failed: fingerprints of which a query failed.
        cancelled: fingerprints of which somebody cancelled a query.
    """

    application: str
    millis: float | None
    failed: int = 0
    cancelled: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """An application with the change and one without it, and how many ``fingerprints`` both ran."""

    changed: PairSide
    unchanged: PairSide
    fingerprints: int


@dataclass(frozen=True, slots=True)
class UnpairedApplications:
    """Applications of one kind that are in no pair, in the order in which they started."""

    changed: Sequence[Application]
    unchanged: Sequence[Application]


def application_pairs(
    changed: QueryHistory, unchanged: QueryHistory, most: int, used: Sequence[Pair] = ()
) -> list[Pair]:
    """At most ``most`` new pairs, in the order in which the applications with the change started.

    Each application is in at most one pair. Of each kind, the side that has fewer is gone through: each takes the one
    of the other side, of those left, that decided the same join first, and of these the one that started nearest to it.
    So no side is the earlier one more often, and what grows or shrinks from day to day cancels out.

    Args:
        used: earlier pairs, whose applications are not paired again.
    """
    found = chain.from_iterable(map(_matched, unpaired_applications(changed, unchanged, used).values()))
    in_order = sorted(found, key=lambda pair: _start(pair[0]))
    queries = _by_application(changed), _by_application(unchanged)
    return [_pair(one, other, queries[0][one.name], queries[1][other.name]) for one, other in in_order[:most]]


def unpaired_applications(
    changed: QueryHistory, unchanged: QueryHistory, used: Sequence[Pair]
) -> dict[str, UnpairedApplications]:
    """By kind, what may be paired: the applications that started before each one of the kind that still runs."""
    gone = {side.application for pair in used for side in (pair.changed, pair.unchanged)}
    running: defaultdict[str, float] = defaultdict(lambda: math.inf)
    for one in (*changed.applications, *unchanged.applications):
        if not one.has_ended:
            running[one.kind] = min(running[one.kind], one.started_millis)
    found: dict[str, tuple[list[Application], list[Application]]] = {}
    for side, history in enumerate((changed, unchanged)):
        for one in sorted(_with_queries(history), key=_start):
            if one.name not in gone and one.started_millis < running[one.kind]:
                found.setdefault(one.kind, ([], []))[side].append(one)
    return {kind: UnpairedApplications(*sides) for kind, sides in found.items()}


def _with_queries(history: QueryHistory) -> list[Application]:
    queries: tuple[Run | Failure, ...] = (*history.runs, *history.failures)
    names = {query.application for query in queries}
    return [one for one in history.applications if one.name in names]


def _matched(free: UnpairedApplications) -> list[tuple[Application, Application]]:
    """Pairs of one kind: with the change, and without it."""
    swapped = len(free.changed) > len(free.unchanged)
    fewer, left = (free.unchanged, [*free.changed]) if swapped else (free.changed, [*free.unchanged])
    pairs = []
    for one in fewer:
        best = min(left, key=lambda other: _distance(one, other))
        left.remove(best)
        pairs.append((best, one) if swapped else (one, best))
    return pairs


def _distance(one: Application, other: Application) -> tuple[bool, int, str]:
    """Smallest for the best pair; the name decides between equals, whatever order logs were read in."""
    return one.first_join != other.first_join, abs(one.started_millis - other.started_millis), other.name


def _start(one: Application) -> tuple[int, str]:
    return one.started_millis, one.name


def _by_application(history: QueryHistory) -> Mapping[str, Sequence[Run | Failure]]:
    """The queries of each application's first day, in the order in which they ended."""
    started = {one.name: one.started_millis for one in history.applications}
    found: defaultdict[str, list[Run | Failure]] = defaultdict(list)
    queries: list[Run | Failure] = [*history.runs, *history.failures]
    for query in sorted(queries, key=_age):
        # Applications that live for days are of different age when they are looked at.
        if query.at_millis - started.get(query.application, 0) <= DAY_MILLIS:
            found[query.application].append(query)
    return found


def _age(query: Run | Failure) -> tuple[int, str, str, int]:
    """Orders queries of one millisecond too, whatever the order in which logs were read."""
    millis = query.duration_millis if isinstance(query, Run) else 0
    return query.at_millis, query.application, query.fingerprint, millis


def _pair(
    one: Application, other: Application, changed: Iterable[Run | Failure], unchanged: Iterable[Run | Failure]
) -> Pair:
    firsts = _first(changed), _first(unchanged)
    both = sorted(firsts[0].keys() & firsts[1].keys())
    timed = [name for name in both if all(isinstance(first[name], Run) for first in firsts)]
    return Pair(_side(one, changed, timed), _side(other, unchanged, timed), len(both))


def _first(queries: Iterable[Run | Failure]) -> dict[str, Run | Failure]:
    first: dict[str, Run | Failure] = {}
    for query in queries:
        first.setdefault(query.fingerprint, query)
    return first


def _side(one: Application, queries: Iterable[Run | Failure], timed: Sequence[str]) -> PairSide:
    first = _first(queries)
    millis = [run.duration_millis for name in timed if isinstance(run := first[name], Run)]
    failures = [query for query in queries if isinstance(query, Failure)]
    failed, cancelled = (
        len({failure.fingerprint for failure in failures if failure.cancelled is by_hand}) for by_hand in (False, True)
    )
    return PairSide(one.name, float(sum(millis)) if millis else None, failed, cancelled)
