"""Predicted against measured: by what factor each group of coefficients is off, as far as outcomes can tell.

A price is linear in the coefficients, so the plugin's own decision function says what each group contributes to it when
it is asked with every other coefficient at 0. The elapsed time of run *i* of fingerprint *f* is modelled as::

    duration_i = base_f * size_i + sum over groups g of scale_g * price_gi + noise

``price_gi`` is the group's price of what ran, at the measured pass rate. The base stands for all that the price leaves
out because it is the same in every option; it is assumed to grow with ``size_i``, the rows that any option reads, and
is removed from each fingerprint first. The scales then explain the differences between runs of one fingerprint that did
different work, so a group is identified only by fingerprints that were seen both ways, or whose pass rates vary.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.groups import COEFFICIENTS, Group, alone
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.runs import Run, median_deviation
from aqe_plugin.tuning.scales import Misfit, Scales, residuals

# One option of one join: milliseconds by group.
Prices = tuple[float, ...]
# One run: for each of its joins, the prices of the options that have one.
RunPrices = tuple[Mapping[JoinOption, Prices], ...]

_MIN_NOISE = 0.03
_MIN_ALIKE = 3
# Its default would bound measured pass rates of keys of several columns; the largest value allowed bounds only those
# above 1000 times build rows ÷ probe rows.
NO_COMPOSITE_BOUND = {"filter.compositeFactor": 1000.0}


def prices_of(
    runs: Sequence[Run], thresholds: Mapping[str, float], replay: Replay, groups: Sequence[Group] = COEFFICIENTS
) -> list[RunPrices]:
    """The price of each option of each join, by group in the order of ``groups``, from measured facts where there are
    any."""
    joins = [join for run in runs for join in run.joins]
    measured = [join.measured for join in joins if join.pass_rates is not None]
    estimated = [join.facts for join in joins if join.pass_rates is None]
    known = iter(_prices(measured, {**thresholds, **NO_COMPOSITE_BOUND}, replay, groups))
    expected = iter(_prices(estimated, thresholds, replay, groups))
    return [tuple(next(expected if join.pass_rates is None else known) for join in run.joins) for run in runs]


def scales_of(runs: Sequence[Run], prices: Sequence[RunPrices]) -> Scales:
    """The scales of ``COEFFICIENTS``, in order, that explain the durations best; ``prices`` are those of ``runs``."""
    misfit = Misfit(len(COEFFICIENTS))
    for repeated in _by_fingerprint(runs, prices):
        _add(repeated, misfit)
    return misfit.most_likely()


def largest_difference(runs: Sequence[Run], prices: Sequence[RunPrices], at: int) -> float:
    """How far apart two runs of one fingerprint are in the price of the ``at``-th of ``COEFFICIENTS``, in milliseconds;
    0 when no fingerprint ran in two ways that differ in it."""
    executed = (tuple(one[at] for one in repeated.prices) for repeated in _by_fingerprint(runs, prices))
    return max((max(found) - min(found) for found in executed), default=0.0)


def _executed(run: Run, prices: RunPrices) -> Prices:
    """The price of the options that ran, by group; a join that ran as none of the priced options adds nothing."""
    nothing = (0.0,) * len(COEFFICIENTS)
    ran = (
        nothing if join.option is None else priced[join.option] for join, priced in zip(run.joins, prices, strict=True)
    )
    return tuple(map(math.fsum, zip(nothing, *ran, strict=True)))


def _prices(
    facts: Sequence[JoinFacts], thresholds: Mapping[str, float], replay: Replay, groups: Sequence[Group]
) -> list[Mapping[JoinOption, Prices]]:
    if not facts:
        return []
    rest = {key: value for key, value in thresholds.items() if key in NO_COMPOSITE_BOUND}
    by_group = replay(facts, [{**rest, **alone(thresholds, group)} for group in groups])
    return [
        {option: tuple(one.prices[option] for one in decisions) for option in decisions[0].prices}
        for decisions in zip(*by_group, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The runs of one fingerprint: an entry for each run in every list."""

    durations: list[float]
    sizes: list[float]
    prices: list[Prices]
    options: list[tuple[JoinOption | None, ...]]


def _by_fingerprint(runs: Sequence[Run], prices: Sequence[RunPrices]) -> list[_Repeated]:
    found: defaultdict[str, _Repeated] = defaultdict(lambda: _Repeated([], [], [], []))
    for run, priced in zip(runs, prices, strict=True):
        if not _is_priced(run, priced):
            continue
        repeated = found[run.fingerprint]
        repeated.durations.append(float(run.duration_millis))
        repeated.sizes.append(1.0 + sum(_rows(join.facts) for join in run.joins))
        repeated.prices.append(_executed(run, priced))
        repeated.options.append(run.options)
    return list(found.values())


def _is_priced(run: Run, prices: RunPrices) -> bool:
    """Whether the whole price of what ran is known; a part of it would look like a cheap way to run."""
    return all(join.option is None or join.option in priced for join, priced in zip(run.joins, prices, strict=True))


def _rows(facts: JoinFacts) -> int:
    return max(0, facts.probe.scan_rows) + max(0, facts.build.rows)


def _add(repeated: _Repeated, misfit: Misfit) -> None:
    if len(repeated.durations) < 2:
        return
    columns = [residuals(column, repeated.sizes) for column in zip(*repeated.prices, strict=True)]
    misfit.add(columns, residuals(repeated.durations, repeated.sizes), _noise(repeated))


def _noise(repeated: _Repeated) -> float:
    """Standard deviation, in milliseconds, of runs that did the same work, or of all where fewer than three did."""
    alike: defaultdict[tuple[JoinOption | None, ...], list[float]] = defaultdict(list)
    for options, duration in zip(repeated.options, residuals(repeated.durations, repeated.sizes), strict=True):
        alike[options].append(duration)
    several = [values for values in alike.values() if len(values) >= _MIN_ALIKE] or [
        list(itertools.chain(*alike.values()))
    ]
    around = [value - median(values) for values in several for value in values]
    return max(median_deviation(around), _MIN_NOISE * median(repeated.durations), 1.0)
