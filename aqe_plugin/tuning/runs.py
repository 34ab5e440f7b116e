"""Runs as evidence: what each join of a finished query ran as, what was known of it and what was measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from aqe_plugin.events.fingerprint import fingerprint
from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import JoinFacts, Mode, TrialArm
from aqe_plugin.events.queries import JoinStory, QueryStory

# Makes the median absolute deviation of normal noise its standard deviation.
MAD_TO_SIGMA = 1.4826
_OUTLIER_SIGMAS = 3.5
_MIN_SIGMA = 0.03
# No count of distinct keys stands for a pass rate of 0.
MIN_PASS_RATE = 1e-9


@dataclass(frozen=True, slots=True)
class JoinRun:
    """One join of one run.

    Attributes:
        facts: the input of the decision.
        measured: the same with the measured pass rate, where a filter measured one.
        option: what ran, ``None`` when it is none of the priced options.
        pass_rates: share of probe rows that was expected to pass a filter, and that passed; ``None`` without a filter.
    """

    facts: JoinFacts
    measured: JoinFacts
    option: JoinOption | None
    pass_rates: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Run:
    """One finished query that did not fail.

    Attributes:
        at_millis: when it ended, milliseconds since 1970.
        arm: its arm of a trial, ``None`` when no trial was under way.
    """

    fingerprint: str
    application: str
    at_millis: int
    duration_millis: int
    joins: tuple[JoinRun, ...]
    arm: TrialArm | None = None

    @property
    def options(self) -> tuple[JoinOption | None, ...]:
        """What its joins ran as: runs of one fingerprint with equal options did the same work."""
        return tuple(join.option for join in self.joins)


def run_of(story: QueryStory) -> Run | None:
    """``story`` as evidence; ``None`` when the query still runs, failed, or has no credible duration."""
    millis = story.succeeded_in_millis
    if story.ended is None or millis is None:
        return None
    # Joins are logged in the order in which their stages finished, which differs from run to run.
    joins = sorted((_join_run(join, story.mode) for join in story.joins), key=lambda join: _order(join.facts))
    return Run(
        fingerprint=fingerprint(story),
        application=story.application,
        at_millis=story.ended.time_millis,
        duration_millis=millis,
        joins=tuple(joins),
        arm=story.arm,
    )


def newest(runs: Iterable[Run], most: int) -> list[Run]:
    """The newest ``most`` runs of each fingerprint and each way that its joins ran, oldest first.

    Old runs are of data that is gone; but for a way that is no longer taken, its last runs are all there is to compare.
    """
    alike: defaultdict[tuple[str, tuple[JoinOption | None, ...]], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=_age):
        alike[run.fingerprint, run.options].append(run)
    return sorted((run for group in alike.values() for run in group[-most:]), key=_age)


def without_outliers(runs: Sequence[Run]) -> list[Run]:
    """The runs but for those whose duration is far from that of runs with the same fingerprint and options.

    Far means that the logarithm of the duration is more than 3.5 standard deviations from the median, estimated as
    1.4826 times the median absolute deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993), and at
    least 3 %. Fewer than three such runs have no outliers. One bad day of a minority of runs is left out; what happens
    to most of them is not.
    """
    alike: defaultdict[tuple[str, tuple[JoinOption | None, ...]], list[float]] = defaultdict(list)
    for run in runs:
        alike[run.fingerprint, run.options].append(math.log(run.duration_millis))
    middles = {key: (median(logs), median_deviation(logs)) for key, logs in alike.items() if len(logs) >= 3}

    def fits(run: Run) -> bool:
        middle, sigma = middles.get((run.fingerprint, run.options), (0.0, math.inf))
        return abs(math.log(run.duration_millis) - middle) <= _OUTLIER_SIGMAS * max(sigma, _MIN_SIGMA)

    return [run for run in runs if fits(run)]


def median_deviation(values: Sequence[float]) -> float:
    """The standard deviation of ``values``, estimated from their median absolute deviation as if they were normal."""
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def _age(run: Run) -> tuple[int, str, str, int]:
    """Orders runs of one millisecond too, so that no result depends on the order in which logs were read."""
    return run.at_millis, run.fingerprint, run.application, run.duration_millis


def _order(facts: JoinFacts) -> tuple[str, ...]:
    return (facts.kind, *sorted(facts.keys))


def _join_run(join: JoinStory, mode: Mode) -> JoinRun:
    facts, option, rows = join.decision.facts, join.ran_as(mode), join.measured
    if rows is None:
        return JoinRun(facts, facts, option, None)
    scanned, passed = rows
    measured = _measured(join, scanned, passed / scanned)
    return JoinRun(facts, measured, option, (join.decision.pass_rate, passed / scanned))


def _measured(join: JoinStory, scanned: int, pass_rate: float) -> JoinFacts:
    """The facts with what the filter measured in place of estimates.

    The decision function takes no pass rate as input. It derives one from the distinct build keys before and after
    predicates, and uses it unchanged when no key range of the probe side is known.
    """
    facts = join.decision.facts
    probe, build = facts.probe, facts.build
    reaching = probe.rows / probe.scan_rows if probe.scan_rows > 0 else 1.0
    distinct = build.keys.distinct or max((outcome.keys for outcome in join.worked), default=0) or 1
    keys = replace(
        build.keys, distinct=distinct, origin_distinct=max(1, round(distinct / max(pass_rate, MIN_PASS_RATE)))
    )
    return replace(
        facts,
        build=replace(build, keys=keys),
        probe=replace(probe, scan_rows=scanned, rows=round(scanned * reaching), keys=None),
    )
