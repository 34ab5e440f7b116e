"""Pairs of applications: the unit of comparison, because an application is in a canary or not, with all its queries.

All queries of an application share its arm, its data, its executors and its hour. If each query were a pair, one large
application would count as often as it runs queries: simulated with applications that differ by 30 % and run one
fingerprint 20 times, an equal canary is then called slower in 69 of 150 trials, and in 3 when applications count once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aqe_plugin.tuning.history import Run


@dataclass(frozen=True, slots=True)
class _Application:
    """An application, when its first query ended, and by fingerprint the logarithm of its first run's duration."""

    name: str
    at_millis: int
    log_durations: Mapping[str, float]

    def common(self, other: _Application) -> set[str]:
        """The fingerprints that both ran."""
        return self.log_durations.keys() & other.log_durations.keys()


def application_pairs(canary: Iterable[Run], control: Iterable[Run], most: int) -> list[tuple[float, float]]:
    """The first ``most`` pairs (canary, control), in the order in which the canaries' first queries ended.

    Each application is in at most one pair: with the one, of those left, that ran most of its fingerprints, and of
    these the nearest in time. A pair's numbers are geometric means, in milliseconds, of the first runs of the
    fingerprints that both ran: later runs of the same fingerprints do not change a pair.
    """
    left = dict(enumerate(_applications(control)))
    pairs: list[tuple[float, float]] = []
    for one in _applications(canary):
        if len(pairs) == most:
            break
        best = max(left, key=lambda number: _likeness(one, left[number]), default=None)
        if best is not None and one.common(left[best]):
            pairs.append(_means(one, left.pop(best)))
    return pairs


def _applications(runs: Iterable[Run]) -> list[_Application]:
    first: dict[str, dict[str, float]] = {}
    ended: dict[str, int] = {}
    for run in sorted(runs, key=lambda run: (run.at_millis, run.application, run.fingerprint, run.duration_millis)):
        ended.setdefault(run.application, run.at_millis)
        first.setdefault(run.application, {}).setdefault(run.fingerprint, math.log(run.duration_millis))
    return [_Application(name, ended[name], durations) for name, durations in first.items()]


def _likeness(one: _Application, other: _Application) -> tuple[int, int, str]:
    """Largest for the best pair; the name decides between equals, whatever order logs were read in."""
    return len(one.common(other)), -abs(one.at_millis - other.at_millis), other.name


def _means(one: _Application, other: _Application) -> tuple[float, float]:
    both = sorted(one.common(other))
    first, second = (math.fsum(arm.log_durations[name] for name in both) / len(both) for arm in (one, other))
    return math.exp(first), math.exp(second)
