"""The runs of a query under every option of its joins, and what the choices cost beside the best of them."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.arms import OFF, PINNED, PLUGIN, Join, Passed, arm_name
from benchmarks.intervals import Interval, Precision, Seconds, is_settled, median_interval, paired_ratios, seconds_lost

# A choice counts as right when no option is faster by more.
TOLERATED = 0.05
# Fewer rounds say nothing.
_LEAST_ROUNDS = 3


@dataclass
class Measured:
    """What was measured of one query; grows with every run.

    Attributes:
        seconds: arm → round → wall seconds.
        refused: arms whose option was not taken, each with the code of the reason.
        failures: arms that failed, each with the error.
        differing: arms with other rows than the plugin's own run, each with the difference.
        passed: join id → what its filters let pass.
    """

    query: str
    joins: list[Join]
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    differing: dict[str, str] = field(default_factory=dict)
    passed: dict[str, Passed] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Adds a run as it is in the file; a warm-up has no time that counts."""
        arm = line["arm"]
        for found, name in ((self.refused, "refused"), (self.failures, "failure"), (self.differing, "differs")):
            if name in line:
                found[arm] = line[name]
        for join_id, (rows_in, rows_out) in line.get("passed", {}).items():
            self.passed.setdefault(join_id, Passed(rows_in, rows_out))
        if line["turn"] >= 0 and "failure" not in line:
            self.seconds.setdefault(arm, {})[line["turn"]] = line["seconds"]

    @property
    def base(self) -> Seconds:
        return self.seconds.get(PLUGIN.name, {})

    @property
    def next_turn(self) -> int:
        return 1 + max((turn for runs in self.seconds.values() for turn in runs), default=-1)

    def ratios(self, arm: str) -> list[float]:
        """Seconds of the arm per second of the plugin's own run, by round."""
        return paired_ratios(self.seconds.get(arm, {}), self.base)

    def is_active(self, arm: str, precision: Precision) -> bool:
        """Whether an arm other than the plugin's own run needs further rounds."""
        out = arm in self.refused or arm in self.failures
        return not out and not is_settled(self.ratios(arm), precision)

    def seconds_left(self, arms: Sequence[str], precision: Precision) -> float:
        """What the missing rounds of these arms take at most, if they go on as before."""
        typical = statistics.fmean(
            [*self.base.values(), *(one for arm in arms for one in self._seconds_of(arm))] or [0]
        )
        missing = (max(0, precision.most_runs - len(self.seconds.get(arm, {}))) for arm in arms)
        return typical * sum(missing)

    def _seconds_of(self, arm: str) -> Iterable[float]:
        return self.seconds.get(arm, {}).values()

    @property
    def problems(self) -> list[str]:
        return [f"{self.query}, {arm}: {why}" for arm, why in (*self.failures.items(), *self.differing.items())]


@dataclass(frozen=True)
class JoinRegret:
    """One join in hindsight.

    Attributes:
        best: the option with the least median ratio; the chosen one when no other is faster.
        regret: share of the query's time that the best option saves; 0 for the best choice.
        surely: of the interval of `regret`, the end next to 0.
        at_most: the other end.
        lost_seconds: without the bias of choosing the best by the runs that measure it; may be negative.
        options: alternatives that were measured, each with its ratio.
    """

    query: str
    join: Join
    best: str
    regret: float
    surely: float
    at_most: float
    lost_seconds: float
    options: Mapping[str, Interval]
    base_seconds: float
    passed: Passed | None

    @property
    def is_right(self) -> bool:
        return self.regret <= TOLERATED

    @property
    def is_surely_wrong(self) -> bool:
        return self.surely > TOLERATED

    @property
    def predicted_millis(self) -> float | None:
        """By how much the price of the best option, or of the closest one, differs from that of the choice."""
        chosen, other = self.join.prices.get(self.join.chosen), self.join.prices.get(self._compared)
        return None if chosen is None or other is None else other - chosen

    @property
    def measured_millis(self) -> float | None:
        ratio = self.options.get(self._compared)
        return None if ratio is None else 1000 * self.base_seconds * (ratio.median - 1)

    @property
    def _compared(self) -> str:
        others = {name: ratio.median for name, ratio in self.options.items()}
        return min(others, key=lambda name: others[name]) if self.best == self.join.chosen else self.best

    @property
    def pass_rate_factor(self) -> float | None:
        """How far the estimated pass rate is from the real one, as a factor of at least 1."""
        real = None if self.passed is None else self.passed.rate
        if real is None:
            return None
        # Rates below one in a million are equally good.
        low, high = sorted((max(real, 1e-6), max(self.join.pass_rate, 1e-6)))
        return high / low


def join_regrets(measured: Measured) -> list[JoinRegret]:
    """The joins of a query that had another option, of which enough rounds were measured."""
    return [found for join in measured.joins if (found := _regret(measured, join)) is not None]


def _regret(measured: Measured, join: Join) -> JoinRegret | None:
    arms = {option: arm_name(join, option) for option in join.alternatives}
    options = {
        option: median_interval(ratios)
        for option, arm in arms.items()
        if arm not in measured.refused and len(ratios := measured.ratios(arm)) >= _LEAST_ROUNDS
    }
    if not options:
        return None
    fastest = min(options, key=lambda option: options[option].median)
    ratio = options[fastest]
    is_faster = ratio.median < 1
    return JoinRegret(
        query=measured.query,
        join=join,
        best=fastest if is_faster else join.chosen,
        regret=1 - ratio.median if is_faster else 0.0,
        surely=max(0.0, 1 - ratio.high),
        at_most=max(0.0, 1 - ratio.low),
        lost_seconds=seconds_lost(measured.base, [measured.seconds[arms[option]] for option in options]),
        options=options,
        base_seconds=statistics.median(measured.base.values()),
        passed=measured.passed.get(join.join_id),
    )


@dataclass(frozen=True)
class Summary:
    """One workload.

    Attributes:
        joins: joins of all queries.
        with_options: those of which another option was measured.
        right: of these, the choices within `TOLERATED` of the best option.
        surely_wrong: those whose whole interval is above.
        total_seconds: of the plugin's own runs, the median of each query.
        lost_seconds: sum over all joins, each against its best option alone.
        off_seconds: of Spark without the plugin, for the same queries.
        noise: median distance from 1 of the ratio of the same choices, forced: what the measurement cannot tell apart.
        pass_rates: joins with a measured pass rate.
        pass_rates_close: those estimated within a factor of 2.
    """

    joins: int
    with_options: int
    right: int
    surely_wrong: int
    total_seconds: float
    lost_seconds: float
    off_seconds: float
    noise: float | None
    pass_rates: int
    pass_rates_close: int


def summary(measured: Sequence[Measured]) -> Summary:
    """The workload of these queries."""
    regrets = [one for query in measured for one in join_regrets(query)]
    timed = [query for query in measured if query.base and query.seconds.get(OFF.name)]
    controls = [statistics.median(ratios) for query in measured if (ratios := query.ratios(PINNED))]
    factors = [one.pass_rate_factor for one in regrets if one.pass_rate_factor is not None]
    return Summary(
        joins=sum(len(query.joins) for query in measured),
        with_options=len(regrets),
        right=sum(one.is_right for one in regrets),
        surely_wrong=sum(one.is_surely_wrong for one in regrets),
        total_seconds=_median_seconds(query.base for query in timed),
        lost_seconds=sum(one.lost_seconds for one in regrets),
        off_seconds=_median_seconds(query.seconds[OFF.name] for query in timed),
        noise=statistics.median(abs(ratio - 1) for ratio in controls) if controls else None,
        pass_rates=len(factors),
        pass_rates_close=sum(factor <= 2 for factor in factors),
    )


def _median_seconds(runs: Iterable[Seconds]) -> float:
    return sum(statistics.median(seconds.values()) for seconds in runs)
