"""Predicted against measured: by what factor each group of coefficients is off, as far as outcomes can tell.

A price is linear in the coefficients, so the plugin's own decision function says what each group contributes to it when
it is asked with every other coefficient at 0. The elapsed time of run *i* of fingerprint *f* is modelled as::

    duration_i = base_f * size_i + sum over groups g of scale_g * price_gi + noise

``price_gi`` is the group's price of what ran, at the measured pass rate. The base stands for all that the price leaves
out because it is the same in every option; it is assumed to grow with ``size_i``, the rows that any option reads, and
is removed from each fingerprint first. The scales then explain the differences between runs of one fingerprint that did
different work, so a group is identified only by fingerprints that were seen both ways, or whose pass rates vary.

A scale is positive, and as likely to be half as to be double what it should be: its logarithm has a normal prior around
0, which is "as it is". Without data a scale stays. The most likely scales are found by the Gauss-Newton method, and
their covariance is the inverse of the curvature there (Laplace's approximation; MacKay, "Information Theory, Inference,
and Learning Algorithms", 2003, chapter 27).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.groups import COEFFICIENTS, alone
from aqe_plugin.tuning.history import Run, median_deviation
from aqe_plugin.tuning.replay import JoinOption, Replay

# One option of one join: milliseconds by group, in the order of COEFFICIENTS.
Prices = tuple[float, ...]
# One run: for each of its joins, the prices of the options that have one.
RunPrices = tuple[Mapping[JoinOption, Prices], ...]

# The defaults are coarse: a factor of two is one standard deviation.
_PRIOR_SIGMA = math.log(2)
_MIN_NOISE = 0.03
_MIN_ALIKE = 3
_MAX_STEPS = 60
_MAX_STEP = 1.0
_MIN_STEP = 1e-4
# Its default would bound measured pass rates of keys of several columns; the largest value allowed bounds only those
# above 1000 times build rows ÷ probe rows.
NO_COMPOSITE_BOUND = {"filter.compositeFactor": 1000.0}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of each group, in the order of ``COEFFICIENTS``.

    Attributes:
        scales: measured ÷ predicted, above 0.
        covariance: of the scales, their prior included.
        identified: the share, from 0 to 1, of the prior's variance that outcomes removed; 0 is "not seen at all".
    """

    scales: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    identified: tuple[float, ...]

    def millis(self, prices: Prices) -> float:
        """The sum of ``prices`` at these scales."""
        return math.fsum(scale * price for scale, price in zip(self.scales, prices, strict=True))

    def deviation(self, prices: Prices) -> float:
        """Standard deviation, in milliseconds, of :meth:`millis`, from the uncertainty of the scales."""
        return math.sqrt(max(0.0, quadratic_form(self.covariance, prices)))


def prices_of(runs: Sequence[Run], thresholds: Mapping[str, float], replay: Replay) -> list[RunPrices]:
    """The price of each option of each join, by group, from measured facts where there are any."""
    joins = [join for run in runs for join in run.joins]
    measured = [join.measured for join in joins if join.pass_rates is not None]
    estimated = [join.facts for join in joins if join.pass_rates is None]
    known = iter(_prices(measured, {**thresholds, **NO_COMPOSITE_BOUND}, replay))
    expected = iter(_prices(estimated, thresholds, replay))
    return [tuple(next(expected if join.pass_rates is None else known) for join in run.joins) for run in runs]


def calibrate(runs: Sequence[Run], prices: Sequence[RunPrices]) -> Calibration:
    """The scales that explain the durations best; ``prices`` are those of ``runs``, in order."""
    size = len(COEFFICIENTS)
    misfit = _Misfit([[0.0] * size for _ in range(size)], [0.0] * size)
    for repeated in _by_fingerprint(runs, prices):
        _add(repeated, misfit)
    logs = [0.0] * size
    for _ in range(_MAX_STEPS):
        covariance = inverse(misfit.curvature(logs))
        gradient = misfit.gradient(logs)
        step = [-math.fsum(a * b for a, b in zip(row, gradient, strict=True)) for row in covariance]
        longest = max(map(abs, step))
        shortened = min(1.0, _MAX_STEP / longest) if longest > 0 else 1.0
        # Halved until it leads downhill; within rounding of the minimum no step does.
        while misfit.at([a + shortened * b for a, b in zip(logs, step, strict=True)]) > misfit.at(logs):
            shortened /= 2
            if shortened < _MIN_STEP:
                break
        else:
            logs = [a + shortened * b for a, b in zip(logs, step, strict=True)]
        if shortened * longest < _MIN_STEP:
            break
    covariance = inverse(misfit.curvature(logs))
    scales = [math.exp(value) for value in logs]
    return Calibration(
        scales=tuple(scales),
        covariance=tuple(
            tuple(one * value * other for value, other in zip(row, scales, strict=True))
            for one, row in zip(scales, covariance, strict=True)
        ),
        identified=tuple(max(0.0, 1 - covariance[at][at] / _PRIOR_SIGMA**2) for at in range(size)),
    )


def _executed(run: Run, prices: RunPrices) -> Prices:
    """The price of the options that ran, by group; a join that ran as none of the priced options adds nothing."""
    nothing = (0.0,) * len(COEFFICIENTS)
    ran = (
        nothing if join.option is None else priced[join.option] for join, priced in zip(run.joins, prices, strict=True)
    )
    return tuple(map(math.fsum, zip(nothing, *ran, strict=True)))


def _prices(
    facts: Sequence[JoinFacts], thresholds: Mapping[str, float], replay: Replay
) -> list[Mapping[JoinOption, Prices]]:
    if not facts:
        return []
    rest = {key: value for key, value in thresholds.items() if key in NO_COMPOSITE_BOUND}
    by_group = replay(facts, [{**rest, **alone(thresholds, group)} for group in COEFFICIENTS])
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


@dataclass(frozen=True, slots=True)
class _Misfit:
    """The misfit of scales ``s``, ``s' squares s / 2 - s' products``, plus the prior of their logarithms."""

    squares: list[list[float]]
    products: list[float]

    def at(self, logs: Sequence[float]) -> float:
        scales = [math.exp(value) for value in logs]
        pulled = math.fsum(a * b for a, b in zip(scales, self.products, strict=True))
        return (
            quadratic_form(self.squares, scales) / 2 - pulled + math.fsum(a * a for a in logs) / (2 * _PRIOR_SIGMA**2)
        )

    def gradient(self, logs: Sequence[float]) -> list[float]:
        scales = [math.exp(value) for value in logs]
        return [
            scale * (math.fsum(a * b for a, b in zip(row, scales, strict=True)) - product) + log / _PRIOR_SIGMA**2
            for scale, row, product, log in zip(scales, self.squares, self.products, logs, strict=True)
        ]

    def curvature(self, logs: Sequence[float]) -> list[list[float]]:
        """Of the misfit by the logarithms, without the part that Gauss and Newton leave out: positive definite."""
        scales = [math.exp(value) for value in logs]
        return [
            [
                one * value * other + (1 / _PRIOR_SIGMA**2 if at == column else 0.0)
                for column, (value, other) in enumerate(zip(row, scales, strict=True))
            ]
            for at, (one, row) in enumerate(zip(scales, self.squares, strict=True))
        ]


def _add(repeated: _Repeated, misfit: _Misfit) -> None:
    if len(repeated.durations) < 2:
        return
    weight = 1 / _noise(repeated) ** 2
    columns = [residuals(column, repeated.sizes) for column in zip(*repeated.prices, strict=True)]
    left = residuals(repeated.durations, repeated.sizes)
    for row, one in enumerate(columns):
        misfit.products[row] += weight * math.fsum(a * b for a, b in zip(one, left, strict=True))
        for column, other in enumerate(columns):
            misfit.squares[row][column] += weight * math.fsum(a * b for a, b in zip(one, other, strict=True))


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


# Linear algebra for a few unknowns, for which no numerical library is needed.


def inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The inverse of a symmetric positive definite matrix, of n rows of n numbers.

    Raises:
        ValueError: it is not positive definite.
    """
    size = len(matrix)
    # The matrix and beside it the identity, turned into the identity and beside it the inverse. The pivots of a
    # positive definite matrix are positive, in any order.
    rows = [[*row, *(1.0 if at == column else 0.0 for column in range(size))] for at, row in enumerate(matrix)]
    for at in range(size):
        pivot = rows[at][at]
        if not pivot > 0:
            raise ValueError("the matrix is not positive definite")
        rows[at] = [value / pivot for value in rows[at]]
        for other in (other for other in range(size) if other != at):
            factor = rows[other][at]
            rows[other] = [value - factor * above for value, above in zip(rows[other], rows[at], strict=True)]
    return [row[size:] for row in rows]


def quadratic_form(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> float:
    """``vector' matrix vector``."""
    return math.fsum(
        left * value * right
        for left, row in zip(vector, matrix, strict=True)
        for value, right in zip(row, vector, strict=True)
    )


def residuals(values: Sequence[float], covariate: Sequence[float]) -> list[float]:
    """``values`` less their part that is proportional to ``covariate``, a sequence of the same length.

    Other covariates have to explain the rest (Frisch and Waugh, "Partial Time Regressions as Compared with Individual
    Trends", Econometrica 1933). A covariate of zeros explains nothing.
    """
    square = math.fsum(value * value for value in covariate)
    if square == 0:
        return list(values)
    share = math.fsum(a * b for a, b in zip(values, covariate, strict=True)) / square
    return [value - share * other for value, other in zip(values, covariate, strict=True)]
