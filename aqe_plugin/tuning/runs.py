"""Finished queries as evidence: what each join ran as, what was known of it, and what was measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from aqe_plugin.events.model import FilterOutcome, JoinFacts, PluginMode, TrialArm
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.tuning.cohorts import fingerprint
from aqe_plugin.tuning.replay import JoinOption, carried_out

__all__ = ["JoinRun", "Run", "median_deviation", "newest", "run_of", "without_outliers"]

# Makes the median absolute deviation of normal noise its standard deviation.
_MAD_TO_SIGMA = 1.4826
_OUTLIER_SIGMAS = 3.5
_LEAST_SIGMA = 0.03
# A filter that passes everything has no rate that a distinct-key count could stand for.
_FEWEST_PASSING = 1e-9
_USELESS = ("pass_all", "missing")
# Ten years.
_LONGEST_MILLIS = 10 * 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class JoinRun:
    """One join of one run.

    Attributes:
        facts: what the decision looked at.
        measured: the same with the pass rate that came out, where a filter measured it.
        option: what ran, ``None`` when it is none of the priced options.
        pass_rates: share of probe rows that was expected to pass a filter, and that did; ``None`` without a filter.
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
        errors: errors in the plugin, which left Spark's own plan in force.
        arm: the side of a trial that it was on, ``None`` when nothing was tried.
    """

    cohort: str
    application: str
    at_millis: int
    duration_millis: int
    errors: int
    joins: tuple[JoinRun, ...]
    arm: TrialArm | None = None

    @property
    def options(self) -> tuple[JoinOption | None, ...]:
        """What its joins ran as: runs of a cohort with equal options did the same work."""
        return tuple(join.option for join in self.joins)


def run_of(story: QueryStory) -> Run | None:
    """``story`` as evidence; ``None`` when the query still runs, failed, or took no time that can have been measured:
    a clock that is set meanwhile makes times of any sign and length.
    """
    millis = story.duration_millis or 0
    if story.ended is None or story.error is not None or not 0 < millis < _LONGEST_MILLIS:
        return None
    # Joins are logged in the order in which their stages finished, which is another in each run.
    joins = sorted((_join_run(join, story.mode) for join in story.joins), key=lambda join: _order(join.facts))
    return Run(
        cohort=fingerprint(story),
        application=story.application,
        at_millis=story.ended.time_millis,
        duration_millis=millis,
        errors=story.ended.errors,
        joins=tuple(joins),
        arm=story.arm,
    )


def newest(runs: Iterable[Run], most: int) -> list[Run]:
    """The newest ``most`` runs of each cohort and each way its joins ran, oldest first.

    Old runs tell of data that is no more; but the last ones of a way that is not taken any longer are all there is to
    compare with.
    """
    alike: defaultdict[tuple[str, tuple[JoinOption | None, ...]], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=_age):
        alike[run.cohort, run.options].append(run)
    return sorted((run for group in alike.values() for run in group[-most:]), key=_age)


def without_outliers(runs: Sequence[Run]) -> list[Run]:
    """The runs but for those whose duration is out of line with runs of the same cohort and the same options.

    Out of line is a logarithm of the duration that lies more than 3.5 standard deviations from the median, these taken
    as 1.4826 times the median absolute deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993), and
    as 3 % at least. Fewer than three such runs have none. What a bad day did to a minority of runs goes; what most of
    them show is no outlier.
    """
    alike: defaultdict[tuple[str, tuple[JoinOption | None, ...]], list[float]] = defaultdict(list)
    for run in runs:
        alike[run.cohort, run.options].append(math.log(run.duration_millis))
    middles = {key: (median(logs), median_deviation(logs)) for key, logs in alike.items() if len(logs) >= 3}

    def fits(run: Run) -> bool:
        middle, sigma = middles.get((run.cohort, run.options), (0.0, math.inf))
        return abs(math.log(run.duration_millis) - middle) <= _OUTLIER_SIGMAS * max(sigma, _LEAST_SIGMA)

    return [run for run in runs if fits(run)]


def median_deviation(values: Sequence[float]) -> float:
    """The standard deviation of ``values`` as their median absolute deviation tells it, were they normal."""
    middle = median(values)
    return _MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def _age(run: Run) -> tuple[int, str, str, int]:
    """Unlike for runs of the same millisecond too, so that no result depends on the order in which logs were read."""
    return run.at_millis, run.cohort, run.application, run.duration_millis


def _order(facts: JoinFacts) -> tuple[str, ...]:
    return (facts.kind.value, *sorted(facts.keys))


def _join_run(join: JoinStory, mode: PluginMode) -> JoinRun:
    decision, facts = join.decision, join.decision.facts
    worked = [outcome for outcome in join.outcomes if outcome.kind not in _USELESS]
    applied = mode is PluginMode.APPLY
    option = carried_out(
        facts.spark_strategy,
        decision.choice if applied else facts.spark_strategy,
        applied and decision.build_filter and bool(worked),
    )
    if sum(outcome.rows_in for outcome in worked) <= 0:
        return JoinRun(facts, facts, option, None)
    measured, pass_rate = _measured(facts, worked)
    return JoinRun(facts, measured, option, (decision.pass_rate, pass_rate))


def _measured(facts: JoinFacts, outcomes: Sequence[FilterOutcome]) -> tuple[JoinFacts, float]:
    """The facts with what the filter did instead of what was estimated, and the share of rows that passed it.

    That is a share of the rows that the scan was expected to produce, unless it produced more: rows that were pruned
    with their file or row group, because the filter's range was pushed there, never reached the filter and are removed
    all the same. The decision function takes no pass rate: it is told one as the share of distinct build keys that
    predicates left, which it takes as it is when no key range of the probe side is known.
    """
    probe = facts.probe
    checked, passed = sum(outcome.rows_in for outcome in outcomes), sum(outcome.rows_out for outcome in outcomes)
    scanned = max(checked, probe.scan_rows)
    pass_rate = passed / scanned
    reaching = probe.rows / probe.scan_rows if probe.scan_rows > 0 else 1.0
    distinct = facts.build.keys.distinct or max((outcome.keys for outcome in outcomes), default=0) or 1
    keys = replace(
        facts.build.keys, distinct=distinct, origin_distinct=max(1, round(distinct / max(pass_rate, _FEWEST_PASSING)))
    )
    measured = replace(
        facts,
        build=replace(facts.build, keys=keys),
        probe=replace(probe, scan_rows=scanned, rows=round(scanned * reaching), keys=None),
    )
    return measured, pass_rate
