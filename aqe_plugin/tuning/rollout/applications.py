"""Pairs of applications: what is compared where applications are drawn.

A draw decides for an application and with it for all of its queries, which share its data, its executors and its hour.
Were each query a pair of its own, one large application would be counted as often as it runs queries: simulated with
applications that differ by 30 % and run a shape 20 times, an equal canary is then called slower in 69 of 150 trials,
and in 3 of them when each application counts once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aqe_plugin.tuning.runs import Run

__all__ = ["application_pairs"]


@dataclass(frozen=True, slots=True)
class _Application:
    """An application, when its first query ended, and the logarithm of the duration of each shape's first run."""

    name: str
    at_millis: int
    shapes: Mapping[str, float]


def application_pairs(canary: Iterable[Run], control: Iterable[Run], most: int) -> list[tuple[float, float]]:
    """The first ``most`` pairs (canary, control), in the order in which the canaries' first queries ended.

    Each application is in one pair at most: with the one, of those that are left, that ran most of its shapes, and of
    these the nearest in time. Compared is the geometric mean, in milliseconds, over the shapes that both ran, each by
    its first run, so that a pair stays what it is when its applications go on to run the same shapes.
    """
    left = dict(enumerate(_applications(control)))
    pairs: list[tuple[float, float]] = []
    for one in _applications(canary):
        if len(pairs) == most:
            break
        best = max(left, key=lambda place: _likeness(one, left[place]), default=None)
        if best is None or not one.shapes.keys() & left[best].shapes.keys():
            continue
        other = left.pop(best)
        pairs.append(_means(one, other))
    return pairs


def _applications(runs: Iterable[Run]) -> list[_Application]:
    first: dict[str, dict[str, float]] = {}
    ended: dict[str, int] = {}
    for run in sorted(runs, key=lambda run: (run.at_millis, run.application, run.cohort, run.duration_millis)):
        ended.setdefault(run.application, run.at_millis)
        first.setdefault(run.application, {}).setdefault(run.cohort, math.log(run.duration_millis))
    return [_Application(name, ended[name], shapes) for name, shapes in first.items()]


def _likeness(one: _Application, other: _Application) -> tuple[int, int, str]:
    """The larger, the better a pair the two make; the name decides between equals, whatever order logs came in."""
    return len(one.shapes.keys() & other.shapes.keys()), -abs(one.at_millis - other.at_millis), other.name


def _means(one: _Application, other: _Application) -> tuple[float, float]:
    both = sorted(one.shapes.keys() & other.shapes.keys())
    means = (math.fsum(side.shapes[shape] for shape in both) / len(both) for side in (one, other))
    first, second = means
    return math.exp(first), math.exp(second)
