"""The most likely factors by which known contributions to a time are off, and how sure they are.

A factor is positive, and as likely to be half as to be double what it should be: its logarithm has a normal prior
around 0, which is "as it is". Without data a factor stays. The most likely factors are found by the Gauss-Newton
method, and their covariance is the inverse of the curvature there (Laplace's approximation; MacKay, "Information
Theory, Inference, and Learning Algorithms", 2003, chapter 27).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Prices are coarse: a factor of two is one standard deviation.
PRIOR_SIGMA = math.log(2)
_MAX_STEPS = 60
_MAX_STEP = 1.0
_MIN_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Scales:
    """The factor of each of several contributions.

    Attributes:
        factors: measured ÷ predicted, above 0.
        covariance: of the factors, their prior included.
        identified: the share, from 0 to 1, of the prior's variance that data removed; 0 is "not seen at all".
    """

    factors: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    identified: tuple[float, ...]

    def millis(self, prices: Sequence[float]) -> float:
        """The sum of ``prices``, one for each factor, at these factors."""
        return math.fsum(factor * price for factor, price in zip(self.factors, prices, strict=True))

    def deviation(self, prices: Sequence[float]) -> float:
        """Standard deviation, in milliseconds, of :meth:`millis`, from the uncertainty of the factors."""
        return math.sqrt(max(0.0, quadratic_form(self.covariance, prices)))


class Misfit:
    """The misfit of factors ``s``, ``s' squares s / 2 - s' products``, plus the prior of their logarithms.

    Args:
        size: how many factors there are.
    """

    def __init__(self, size: int) -> None:
        self._squares = [[0.0] * size for _ in range(size)]
        self._products = [0.0] * size

    def add(self, contributions: Sequence[Sequence[float]], values: Sequence[float], sigma: float) -> None:
        """Counts observations of ``values`` with the standard deviation ``sigma``.

        Args:
            contributions: for each factor, what it contributes to each of ``values``.
        """
        weight = 1 / sigma**2
        for row, one in enumerate(contributions):
            self._products[row] += weight * math.fsum(a * b for a, b in zip(one, values, strict=True))
            for column, other in enumerate(contributions):
                self._squares[row][column] += weight * math.fsum(a * b for a, b in zip(one, other, strict=True))

    def most_likely(self) -> Scales:
        """The factors that explain the values best."""
        size = len(self._products)
        logs = [0.0] * size
        for _ in range(_MAX_STEPS):
            covariance = inverse(self._curvature(logs))
            gradient = self._gradient(logs)
            step = [-math.fsum(a * b for a, b in zip(row, gradient, strict=True)) for row in covariance]
            longest = max(map(abs, step), default=0.0)
            shortened = min(1.0, _MAX_STEP / longest) if longest > 0 else 1.0
            # Halved until it leads downhill; within rounding of the minimum no step does.
            while self._at([a + shortened * b for a, b in zip(logs, step, strict=True)]) > self._at(logs):
                shortened /= 2
                if shortened < _MIN_STEP:
                    break
            else:
                logs = [a + shortened * b for a, b in zip(logs, step, strict=True)]
            if shortened * longest < _MIN_STEP:
                break
        covariance = inverse(self._curvature(logs))
        factors = [math.exp(value) for value in logs]
        return Scales(
            factors=tuple(factors),
            covariance=tuple(
                tuple(one * value * other for value, other in zip(row, factors, strict=True))
                for one, row in zip(factors, covariance, strict=True)
            ),
            identified=tuple(max(0.0, 1 - covariance[at][at] / PRIOR_SIGMA**2) for at in range(size)),
        )

    def _at(self, logs: Sequence[float]) -> float:
        factors = [math.exp(value) for value in logs]
        pulled = math.fsum(a * b for a, b in zip(factors, self._products, strict=True))
        return (
            quadratic_form(self._squares, factors) / 2 - pulled + math.fsum(a * a for a in logs) / (2 * PRIOR_SIGMA**2)
        )

    def _gradient(self, logs: Sequence[float]) -> list[float]:
        factors = [math.exp(value) for value in logs]
        return [
            factor * (math.fsum(a * b for a, b in zip(row, factors, strict=True)) - product) + log / PRIOR_SIGMA**2
            for factor, row, product, log in zip(factors, self._squares, self._products, logs, strict=True)
        ]

    def _curvature(self, logs: Sequence[float]) -> list[list[float]]:
        """Of the misfit by the logarithms, without the part that Gauss and Newton leave out: positive definite."""
        factors = [math.exp(value) for value in logs]
        return [
            [
                one * value * other + (1 / PRIOR_SIGMA**2 if at == column else 0.0)
                for column, (value, other) in enumerate(zip(row, factors, strict=True))
            ]
            for at, (one, row) in enumerate(zip(factors, self._squares, strict=True))
        ]


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
