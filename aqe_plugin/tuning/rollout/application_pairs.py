"""Pairs of applications: the unit of comparison, because an application is in a canary or not, with all its queries.

All queries of an application share its arm, its data, its executors and its hour. If each query were a pair, one large
application would count as often as it runs queries: simulated with applications that differ by 30 % and run one
fingerprint 20 times, an equal canary is then called slower in 69 of 150 trials, and in 3 when applications count once.

Which application goes with which never depends on how long a query took or whether it failed, and a pair, once used, is
never made anew. So in each new pair either side is the slower one with the same chance if the change does nothing,
whatever the pairs before it: the sequential test needs exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aqe_plugin.tuning.history import Failure, QueryHistory, Run


@dataclass(frozen=True, slots=True)
class PairSide:
    """One application of a pair, by the first query of each fingerprint that both of the pair ran.

    Attributes:
        millis: geometric mean of the durations, over the fingerprints that succeeded on both sides; ``None`` without
            any.
        failed: fingerprints whose query failed.
        cancelled: fingerprints whose query somebody cancelled.
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
class _Application:
    """An application, when its first query ended, and by fingerprint its first query."""

    name: str
    at_millis: int
    first: Mapping[str, Run | Failure]

    def common(self, other: _Application) -> set[str]:
        """The fingerprints that both ran."""
        return self.first.keys() & other.first.keys()


def application_pairs(
    changed: QueryHistory, unchanged: QueryHistory, most: int, used: Sequence[Pair] = ()
) -> list[Pair]:
    """At most ``most`` new pairs, in the order in which the first queries of the applications with the change ended.

    Each application is in at most one pair: with the one, of those left, that ran most of its fingerprints, and of
    these the nearest in time. Later queries of the same fingerprints do not change a pair.

    Args:
        used: earlier pairs, whose applications are not paired again.
    """
    gone = {side.application for pair in used for side in (pair.changed, pair.unchanged)}
    left = {one.name: one for one in _applications(unchanged) if one.name not in gone}
    pairs: list[Pair] = []
    for one in _applications(changed):
        if len(pairs) >= most:
            break
        best = max(left.values(), key=lambda other: _likeness(one, other), default=None)
        if one.name not in gone and best is not None and one.common(best):
            pairs.append(_pair(one, left.pop(best.name)))
    return pairs


def _applications(history: QueryHistory) -> Iterator[_Application]:
    first: dict[str, dict[str, Run | Failure]] = {}
    queries: list[Run | Failure] = [*history.runs, *history.failures]
    for query in sorted(queries, key=_age):
        first.setdefault(query.application, {}).setdefault(query.fingerprint, query)
    for name, ran in first.items():
        yield _Application(name, min(query.at_millis for query in ran.values()), ran)


def _age(query: Run | Failure) -> tuple[int, str, str, int]:
    """Orders queries of one millisecond too, whatever the order in which logs were read."""
    millis = query.duration_millis if isinstance(query, Run) else 0
    return query.at_millis, query.application, query.fingerprint, millis


def _likeness(one: _Application, other: _Application) -> tuple[int, int, str]:
    """Largest for the best pair; the name decides between equals, whatever order logs were read in."""
    return len(one.common(other)), -abs(one.at_millis - other.at_millis), other.name


def _pair(changed: _Application, unchanged: _Application) -> Pair:
    both = sorted(changed.common(unchanged))
    timed = [name for name in both if all(isinstance(one.first[name], Run) for one in (changed, unchanged))]
    return Pair(_side(changed, both, timed), _side(unchanged, both, timed), len(both))


def _side(one: _Application, both: Sequence[str], timed: Sequence[str]) -> PairSide:
    logs = [math.log(run.duration_millis) for name in timed if isinstance(run := one.first[name], Run)]
    failures = [query for name in both if isinstance(query := one.first[name], Failure)]
    cancelled = sum(failure.cancelled for failure in failures)
    mean = math.exp(math.fsum(logs) / len(logs)) if logs else None
    return PairSide(one.name, mean, len(failures) - cancelled, cancelled)
