"""Coefficients from samples.

The time of arm *a* of experiment *e* is modelled as::

    millis_ea = base_e + sum over coefficients c of factor_c * predicted_eac + noise

The base is what all arms of an experiment share, and is removed first. How likely each factor is before anything is
measured, and how the most likely ones are found, is said in ``scales``. Where the model does not explain the medians
within their errors, all errors are taken to be larger by what is missing (Birge's ratio: Birge, "The Calculation of
Errors by the Method of Least Squares", Physical Review 40, 1932), so that the intervals hold the misfit too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.tuning.calibration.samples import Sample
from aqe_plugin.tuning.scales import Misfit, Scales

_COVERED = 0.95
_DIGITS = 3
_REFITS = 5


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One key as measured.

    Attributes:
        key: with ``spark.aqePlugin.``.
        old: at which it was predicted; ``value``, ``low`` and ``high`` the best value and its 95 % interval.
        identified: the share, from 0 to 1, of what was uncertain about it that the samples removed.
    """

    key: str
    old: float
    value: float
    low: float
    high: float
    identified: float


@dataclass(frozen=True, slots=True)
class Point:
    """A sample beside what is predicted for it, in milliseconds, with the old and the fitted coefficients."""

    experiment: str
    arm: str
    measured: float
    error: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Fit:
    """What a calibration found.

    Attributes:
        inflation: the factor by which the errors of the medians are too small to explain the misfit; at least 1.
    """

    coefficients: tuple[Coefficient, ...]
    points: tuple[Point, ...]
    inflation: float

    def proposed(self, least_identified: float) -> tuple[Coefficient, ...]:
        """The coefficients that the samples tell enough about."""
        return tuple(one for one in self.coefficients if one.identified >= least_identified)


def fit(samples: Sequence[Sample], thresholds: Mapping[str, float]) -> Fit:
    """The coefficients that explain the samples best; ``thresholds`` are those at which they were predicted."""
    inflation = 1.0
    scales = _scales(samples, inflation, len(thresholds))
    for _ in range(_REFITS):
        grown = max(1.0, _misfit_ratio(samples, scales))
        if abs(grown - inflation) <= 0.01 * inflation:
            break
        inflation = grown
        scales = _scales(samples, inflation, len(thresholds))
    return Fit(
        coefficients=tuple(_coefficient(at, key, old, scales) for at, (key, old) in enumerate(thresholds.items())),
        points=tuple(_points(samples, scales)),
        inflation=inflation,
    )


def _scales(samples: Sequence[Sample], inflation: float, keys: int) -> Scales:
    misfit = Misfit(keys)
    for arms in _by_experiment(samples):
        sigma = inflation * _error(arms)
        columns = [_centred(column) for column in zip(*(one.predicted for one in arms), strict=True)]
        misfit.add(columns, _centred([one.median for one in arms]), sigma)
    return misfit.most_likely()


def _misfit_ratio(samples: Sequence[Sample], scales: Scales) -> float:
    """The root of the squares of what is left unexplained, in standard deviations, by their degrees of freedom."""
    squares, free = 0.0, 0.0
    for arms in _by_experiment(samples):
        left = _centred([one.median - scales.millis(one.predicted) for one in arms])
        squares += math.fsum(value * value for value in left) / _error(arms) ** 2
        free += len(arms) - 1
    return math.sqrt(squares / max(1.0, free - math.fsum(scales.identified)))


def _by_experiment(samples: Sequence[Sample]) -> list[list[Sample]]:
    found: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.experiment].append(sample)
    return [arms for arms in found.values() if len(arms) > 1]


def _error(arms: Sequence[Sample]) -> float:
    return math.sqrt(fmean(one.error**2 for one in arms))


def _centred(values: Sequence[float]) -> list[float]:
    middle = fmean(values)
    return [value - middle for value in values]


def _coefficient(at: int, key: str, old: float, scales: Scales) -> Coefficient:
    factor = scales.factors[at]
    sigma = math.sqrt(scales.covariance[at][at]) / factor
    reach = math.exp(NormalDist().inv_cdf((1 + _COVERED) / 2) * sigma)
    low, value, high = (_allowed(PREFIX + key, old * one) for one in (factor / reach, factor, factor * reach))
    return Coefficient(PREFIX + key, old, value, low, high, scales.identified[at])


def _allowed(key: str, value: float) -> float:
    low, high = conf_keys()[key].limits
    return min(max(float(f"{value:.{_DIGITS}g}"), low), high)


def _points(samples: Sequence[Sample], scales: Scales) -> list[Point]:
    points = []
    for arms in _by_experiment(samples):
        old, new = ([math.fsum(one.predicted) for one in arms], [scales.millis(one.predicted) for one in arms])
        measured = fmean(one.median for one in arms)
        points += [
            Point(one.experiment, one.arm, one.median, one.error, measured + before, measured + after)
            for one, before, after in zip(arms, _centred(old), _centred(new), strict=True)
        ]
    return points
