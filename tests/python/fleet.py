"""A fleet of recurring queries whose best thresholds are known, to see whether tuning finds them.

It stands in for a cluster, not for the plugin: each query has drawn amounts of each kind of work, the elapsed time of
an option is that work at *true* prices, and the simulated decision function takes the cheapest option at the prices
that the thresholds say. Sizes drift, durations are noisy, some runs are far out, and one day is bad for everybody.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.groups import COEFFICIENTS, current
from aqe_plugin.tuning.replay import Replayed
from aqe_plugin.tuning.runs import JoinRun, Run
from samples import APPLICATION_START, DECISION, FACTS, LOG_START, OUTCOME, decided, ended, line, over, started

__all__ = ["DEFAULTS", "OPTIONS", "Fleet", "Noise", "Query", "fleet_of", "log_of"]

BROADCAST, FILTERED_BROADCAST = JoinOption("broadcast", False), JoinOption("broadcast", True)
SORT_MERGE, FILTERED_SORT_MERGE = (
    JoinOption("plain_sort_merge", False),
    JoinOption("filtered_sort_merge", True),
)
OPTIONS = (BROADCAST, FILTERED_BROADCAST, FILTERED_SORT_MERGE, SORT_MERGE)
DEFAULTS = current({})
DAY_MILLIS = 86_400_000
_UNIT_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Noise:
    """What happens to durations.

    Attributes:
        sigma: standard deviation of their logarithm.
        far_out: share of runs that take three times as long.
        bad_day: the day on which every run takes two and a half times as long.
        drift: by what share sizes grow in a day.
    """

    sigma: float = 0.05
    far_out: float = 0.02
    bad_day: int | None = 3
    drift: float = 0.004


@dataclass(frozen=True, slots=True)
class Query:
    """One recurring query.

    Attributes:
        work: milliseconds of each option by group at the default thresholds, in the order of ``COEFFICIENTS``, for
            one unit of size.
        base_millis: what does not depend on the option, for one unit of size.
        pass_rate: of a filter, as expected and as it is.
        spark: what Spark does by itself.
    """

    name: str
    work: Mapping[JoinOption, tuple[float, ...]]
    base_millis: float
    pass_rate: float
    spark: JoinOption

    def facts(self, size: float) -> JoinFacts:
        rows = round(size * _UNIT_ROWS)
        return replace(
            FACTS,
            join_id=self.name,
            keys=(f"fact.{self.name} = dimension.{self.name}",),
            probe=replace(FACTS.probe, scan_rows=rows, rows=rows),
            spark_strategy=self.spark.strategy,
        )


@dataclass
class Fleet:
    """Cohorts, the true price of each group as a factor of its default, and the days that have passed."""

    queries: Sequence[Query]
    truth: tuple[float, ...]
    noise: Noise
    dice: random.Random
    day: int = 0

    def replay(self, facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]) -> list[list[Replayed]]:
        """The simulated decision function, as a ``Replay``."""
        return [self._all_decided(facts, candidate) for candidate in thresholds]

    def true_millis(self, query: Query, option: JoinOption) -> float:
        """What a run of size 1 takes, without noise."""
        return query.base_millis + math.fsum(a * b for a, b in zip(query.work[option], self.truth, strict=True))

    def excess(self, thresholds: Mapping[str, float]) -> float:
        """Elapsed time of all queries under ``thresholds`` as a multiple of that under the best: 1 or more."""
        return self._total(thresholds) / self._total(self.best_thresholds())

    def losses(self, before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
        """By query, the share of its true time that it loses by a change; negative when it gains."""
        return {query.name: self._chosen(query, after) / self._chosen(query, before) - 1 for query in self.queries}

    def best_thresholds(self) -> dict[str, float]:
        scaled = {
            key: DEFAULTS[key] * factor
            for group, factor in zip(COEFFICIENTS, self.truth, strict=True)
            for key in group.keys
        }
        return {**DEFAULTS, **scaled}

    def week(self, thresholds: Mapping[str, float] | None, runs: int = 8) -> list[Run]:
        """Runs of every query on consecutive days; without thresholds the plugin only observes."""
        made = []
        for _ in range(runs):
            made += [self._run(query, thresholds) for query in self.queries]
            self.day += 1
        return made

    def _total(self, thresholds: Mapping[str, float]) -> float:
        return math.fsum(self._chosen(query, thresholds) for query in self.queries)

    def _chosen(self, query: Query, thresholds: Mapping[str, float]) -> float:
        option = self._decided(query, thresholds, _scales(thresholds)).option
        assert option is not None
        return self.true_millis(query, option)

    def _run(self, query: Query, thresholds: Mapping[str, float] | None) -> Run:
        size = round((1 + self.noise.drift) ** self.day * math.exp(self.dice.gauss(0, 0.02)), 2)
        facts = query.facts(size)
        option = query.spark if thresholds is None else self._decided(query, thresholds, _scales(thresholds)).option
        assert option is not None
        millis = self.true_millis(query, option) * size * math.exp(self.dice.gauss(0, self.noise.sigma))
        if self.dice.random() < self.noise.far_out:
            millis *= 3
        if self.day == self.noise.bad_day:
            millis *= 2.5
        rates = (query.pass_rate, query.pass_rate) if option.with_filter else None
        return Run(
            fingerprint=query.name,
            application=f"app-{self.day}",
            at_millis=self.day * DAY_MILLIS,
            duration_millis=max(1, round(millis)),
            joins=(JoinRun(facts, facts, option, rates),),
        )

    def _all_decided(self, facts: Sequence[JoinFacts], thresholds: Mapping[str, float]) -> list[Replayed]:
        scales = _scales(thresholds)
        units = {query.name: self._decided(query, thresholds, scales) for query in self.queries}
        keys = [(one.join_id, one.probe.scan_rows) for one in facts]
        known = {(name, rows): _sized(units[name], rows / _UNIT_ROWS) for name, rows in set(keys)}
        return [known[key] for key in keys]

    def _decided(self, query: Query, thresholds: Mapping[str, float], scales: Sequence[float]) -> Replayed:
        """The decision about a run of size 1; work grows with the size, so that the choice is the same at any size."""
        gated = query.pass_rate > thresholds.get("filter.maxPassRate", 0.7)
        prices = {
            option: math.fsum(a * b for a, b in zip(query.work[option], scales, strict=True))
            for option in OPTIONS
            if not (gated and option.with_filter)
        }
        cheapest = min(prices, key=prices.__getitem__)
        keeps = prices[query.spark] - prices[cheapest] <= 0.05 * prices[query.spark]
        return Replayed(query.spark if keeps else cheapest, prices)


def _sized(unit: Replayed, size: float) -> Replayed:
    return Replayed(unit.option, {option: size * price for option, price in unit.prices.items()})


def log_of(runs: Sequence[Run], application: str, errors: int = 0) -> bytes:
    """An event log of one application that ran ``runs``; the last one with so many errors of the plugin."""
    begun = min(run.at_millis - run.duration_millis for run in runs)
    start = APPLICATION_START.replace(b"app-1", application.encode()).replace(
        b'"Timestamp":1,', b'"Timestamp":%d,' % begun
    )
    lines = [LOG_START, start]
    for number, run in enumerate(runs, start=1):
        lines += [
            started(number, run.fingerprint),
            *_events(run, number, errors if run is runs[-1] else 0),
            over(number),
        ]
    return b"".join(lines)


def _events(run: Run, number: int, errors: int) -> list[bytes]:
    (join,) = run.joins
    assert join.option is not None
    decision = replace(
        DECISION,
        facts=join.facts,
        choice=join.option.strategy,
        build_filter=join.option.with_filter,
        pass_rate=join.pass_rates[0] if join.pass_rates else 1.0,
    )
    rows = join.facts.probe.scan_rows
    passed = round(rows * join.pass_rates[1]) if join.pass_rates else rows
    outcomes = (replace(OUTCOME, join_id=join.facts.join_id, rows_in=rows, rows_out=passed),) if join.pass_rates else ()
    made = replace(decided(number, decision), filters=(), arm=run.arm)
    gone = replace(
        ended(number, outcomes),
        time_millis=run.at_millis,
        duration_millis=run.duration_millis,
        errors=errors,
        arm=run.arm,
    )
    return [line(made), line(gone)]


def _scales(thresholds: Mapping[str, float]) -> list[float]:
    """The price of each group as a factor of its default."""
    return [thresholds.get(group.keys[0], DEFAULTS[group.keys[0]]) / DEFAULTS[group.keys[0]] for group in COEFFICIENTS]


def fleet_of(seed: int, truth: tuple[float, ...] | None = None, queries: int = 8, noise: Noise | None = None) -> Fleet:
    """A drawn fleet; without ``truth`` each group's true price is drawn between a third and three times its default."""
    dice = random.Random(seed)
    drawn = tuple(3 ** dice.uniform(-1, 1) for _ in COEFFICIENTS)
    return Fleet([_query(f"c{number}", dice) for number in range(queries)], truth or drawn, noise or Noise(), dice)


def _query(name: str, dice: random.Random) -> Query:
    def drawn(low: float, high: float) -> float:
        return math.exp(dice.uniform(math.log(low), math.log(high)))

    probe, pass_rate = drawn(1000, 20_000), dice.uniform(0.02, 0.9)
    relation, check, launch = drawn(0.02, 1.5) * probe, drawn(0.03, 0.5) * probe, 50.0

    def work(option: JoinOption) -> tuple[float, ...]:
        rows = probe * (pass_rate if option.with_filter else 1.0)
        merges = option.strategy != "broadcast"
        return (
            0.6 * rows if merges else 0.0,
            0.5 * rows + 0.05 * probe if merges else 0.0,
            0.0 if merges else relation + 0.1 * rows,
            check if option.with_filter else 0.0,
            0.2 * rows,
            launch * (1 + option.with_filter),
        )

    return Query(
        name=name,
        work={option: work(option) for option in OPTIONS},
        base_millis=drawn(0.3, 1.5) * probe,
        pass_rate=pass_rate,
        spark=dice.choice((SORT_MERGE, SORT_MERGE, BROADCAST)),
    )
