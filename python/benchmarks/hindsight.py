"""What the choices of a query cost beside the best options in hindsight."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.arms import Join, Passed, arm_name
from benchmarks.intervals import Interval, Ratios, has_both_halves, median_interval, share_lost
from benchmarks.measured import Measured

# A choice counts as right when no option is faster by more.
TOLERATED = 0.05
# Fewer rounds say nothing.
_LEAST_ROUNDS = 3


@dataclass(frozen=True)
class JoinRegret:
    """One join in hindsight.

    Attributes:
        best: the option with the least median ratio; the chosen one when no other is faster.
        regret: share of the query's time that the best option saves; 0 for the best choice.
        surely: of the interval of `regret`, the end next to 0.
        at_most: the other end.
        share_lost: regret without the bias of choosing the best by the runs that measure it; may be negative.
        options: alternatives that were measured, each with its ratio.
    """

    query: str
    join: Join
    best: str
    regret: float
    surely: float
    at_most: float
    share_lost: float
    options: Mapping[str, Interval]
    base_seconds: float
    passed: Passed | None

    @property
    def is_right(self) -> bool:
        return self.share_lost <= TOLERATED

    @property
    def lost_seconds(self) -> float:
        return self.share_lost * self.base_seconds

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
    """The joins of a query that had another option, of which enough rounds were measured.

    None where the plugin's own rows are wrong, or Spark alone has different ones.
    """
    if measured.is_wrong:
        return []
    return [found for join in measured.joins if (found := _regret(measured, join)) is not None]


def _regret(measured: Measured, join: Join) -> JoinRegret | None:
    arms = {option: arm_name(join, option) for option in join.alternatives}
    ratios = {option: measured.ratios(arm) for option, arm in arms.items() if measured.is_candidate(arm)}
    ratios = {option: rounds for option, rounds in ratios.items() if _is_enough(rounds)}
    if not ratios:
        return None
    options = {option: median_interval(list(rounds.values())) for option, rounds in ratios.items()}
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
        share_lost=share_lost(list(ratios.values())),
        options=options,
        base_seconds=statistics.median(measured.base.values()),
        passed=measured.passed.get(join.join_id),
    )


def _is_enough(rounds: Ratios) -> bool:
    return len(rounds) >= _LEAST_ROUNDS and has_both_halves(rounds)


@dataclass(frozen=True)
class Summary:
    """One workload.

    Attributes:
        joins: joins of all queries.
        with_options: those of which another option was measured.
        right: of these, the choices within `TOLERATED` of the best option, cross-fitted.
        surely_wrong: those whose whole interval is above.
        lost_seconds: sum over all joins, each against its best option alone.
        base_seconds: of the plugin's choices forced, the median of each query.
        total_seconds: of the plugin by itself, in rounds in which Spark without it ran too.
        off_seconds: of Spark without the plugin in these rounds.
        noise: of the same choices forced twice in a round, the median over the queries of the ratio's distance from 1:
            what the measurement cannot tell apart.
        own_ratio: of the plugin by itself beside the same choices forced, the median over the queries.
        otherwise_ratio: the mean of the runs in which it chose otherwise, beside the learned choices forced.
        own_runs: of the plugin by itself.
        own_runs_chosen_otherwise: those with other choices than the learned ones.
        rounds: of the choices forced.
        rounds_dropped: those in which one of these was not taken.
        forced_runs: runs with forced options.
        forced_runs_dropped: those whose option was not taken.
        countable: joins that were decided when the build side had finished, with a scan to filter, and without a part
            of the build side's table.
        counted: those whose number of distinct keys was measured.
        pass_rates: joins with a measured pass rate.
        pass_rates_close: those estimated within a factor of 2.
    """

    joins: int
    with_options: int
    right: int
    surely_wrong: int
    lost_seconds: float
    base_seconds: float
    total_seconds: float
    off_seconds: float
    noise: float | None
    own_ratio: float | None
    otherwise_ratio: float | None
    own_runs: int
    own_runs_chosen_otherwise: int
    rounds: int
    rounds_dropped: int
    forced_runs: int
    forced_runs_dropped: int
    countable: int
    counted: int
    pass_rates: int
    pass_rates_close: int


def summary(measured: Sequence[Measured]) -> Summary:
    """The workload of these queries; those in which the rows are wrong only count as joins and runs."""
    regrets = [one for query in measured for one in join_regrets(query)]
    sound = [query for query in measured if query.base and not query.is_wrong]
    medians = [both for query in sound if (both := query.beside_spark) is not None]
    controls = [statistics.median(ratios.values()) for query in sound if (ratios := query.control_ratios)]
    own = [statistics.median(ratios.values()) for query in sound if (ratios := query.own_ratios)]
    otherwise = [ratio for query in sound for ratio in query.otherwise_ratios.values()]
    counted = [join.is_counted for query in measured for join in query.joins if join.is_counted is not None]
    factors = [one.pass_rate_factor for one in regrets if one.pass_rate_factor is not None]
    return Summary(
        joins=sum(len(query.joins) for query in measured),
        with_options=len(regrets),
        right=sum(one.is_right for one in regrets),
        surely_wrong=sum(one.is_surely_wrong for one in regrets),
        lost_seconds=sum(one.lost_seconds for one in regrets),
        base_seconds=sum(statistics.median(query.base.values()) for query in sound),
        total_seconds=sum(plugin for plugin, _ in medians),
        off_seconds=sum(off for _, off in medians),
        noise=statistics.median(abs(ratio - 1) for ratio in controls) if controls else None,
        own_ratio=statistics.median(own) if own else None,
        otherwise_ratio=statistics.fmean(otherwise) if otherwise else None,
        own_runs=sum(query.own_runs for query in measured),
        own_runs_chosen_otherwise=sum(query.own_runs_chosen_otherwise for query in measured),
        rounds=sum(query.rounds for query in measured),
        rounds_dropped=sum(query.rounds_dropped for query in measured),
        forced_runs=sum(query.forced_runs for query in measured),
        forced_runs_dropped=sum(query.forced_runs_dropped for query in measured),
        countable=len(counted),
        counted=sum(counted),
        pass_rates=len(factors),
        pass_rates_close=sum(factor <= 2 for factor in factors),
    )
