"""Least squares for a few unknowns, by the normal equations and a Cholesky factor; no numerical library is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = list[float]
Matrix = list[list[float]]


def inverse(matrix: Sequence[Sequence[float]]) -> Matrix:
    """The inverse of a symmetric positive definite matrix, of n rows of n numbers.

    Raises:
        ValueError: it is not positive definite.
    """
    lower = _cholesky(matrix)
    size = len(lower)
    columns = [_solve(lower, [1.0 if row == column else 0.0 for row in range(size)]) for column in range(size)]
    return [[columns[column][row] for column in range(size)] for row in range(size)]


def quadratic_form(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> float:
    """``vector' matrix vector``."""
    return math.fsum(
        left * value * right
        for left, row in zip(vector, matrix, strict=True)
        for value, right in zip(row, vector, strict=True)
    )


def residuals(values: Sequence[float], covariate: Sequence[float]) -> Vector:
    """``values`` less their part that is proportional to ``covariate``, a sequence of the same length.

    Other covariates have to explain the rest (Frisch and Waugh, "Partial Time Regressions as Compared with Individual
    Trends", Econometrica 1933). A covariate of zeros explains nothing.
    """
    square = math.fsum(value * value for value in covariate)
    if square == 0:
        return list(values)
    share = math.fsum(a * b for a, b in zip(values, covariate, strict=True)) / square
    return [value - share * other for value, other in zip(values, covariate, strict=True)]


def _cholesky(matrix: Sequence[Sequence[float]]) -> Matrix:
    size = len(matrix)
    lower = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            rest = matrix[row][column] - math.fsum(lower[row][k] * lower[column][k] for k in range(column))
            if row != column:
                lower[row][column] = rest / lower[column][column]
            elif rest > 0:
                lower[row][row] = math.sqrt(rest)
            else:
                raise ValueError("the matrix is not positive definite")
    return lower


def _solve(lower: Matrix, right: Vector) -> Vector:
    size = len(lower)
    forward: Vector = []
    for row in range(size):
        forward.append((right[row] - math.fsum(lower[row][k] * forward[k] for k in range(row))) / lower[row][row])
    found = [0.0] * size
    for row in reversed(range(size)):
        below = math.fsum(lower[k][row] * found[k] for k in range(row + 1, size))
        found[row] = (forward[row] - below) / lower[row][row]
    return found
