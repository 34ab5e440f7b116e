"""Compares answers as multisets of rows, ignoring order and number types."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isclose, isnan
from typing import Any

Row = tuple[Any, ...]
_Cell = tuple[int, Any]


@dataclass(frozen=True)
class Tolerance:
    """How far apart two inexact numbers (floats, decimals) may be.

    Engines round averages and quotients of decimals at different digits; exact columns are always compared exactly.
    """

    relative: float = 1e-9
    absolute: float = 0.0

    def same(self, left: float, right: float) -> bool:
        return (isnan(left) and isnan(right)) or isclose(left, right, rel_tol=self.relative, abs_tol=self.absolute)


SAME_ENGINE = Tolerance()
OTHER_ENGINE = Tolerance(relative=1e-5, absolute=1e-5)


@dataclass(frozen=True)
class Difference:
    """Rows that only one of two answers has; both are empty when the answers are equal."""

    only_left: list[Row]
    only_right: list[Row]

    def __bool__(self) -> bool:
        return bool(self.only_left or self.only_right)

    def describe(self, left: str, right: str, shown: int = 5) -> str:
        """Both lists, each cut after `shown` rows."""
        return "\n".join(
            f"{len(rows)} row(s) only in {name}: {[tuple(map(str, row)) for row in rows[:shown]]}"
            for name, rows in ((left, self.only_left), (right, self.only_right))
        )


def difference(
    left: Iterable[Sequence[Any]], right: Iterable[Sequence[Any]], tolerance: Tolerance = SAME_ENGINE
) -> Difference:
    """Removes equal rows from both answers, counting duplicates, and returns the rest.

    Rows are grouped by their exact columns; inside a group the inexact ones are matched in order of size.
    """
    groups: dict[tuple[_Cell, ...], tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((left, right)):
        for row in rows:
            groups[_exact_part(row)][side].append(tuple(row))
    only_left: list[Row] = []
    only_right: list[Row] = []
    for left_rows, right_rows in groups.values():
        unmatched = _unmatched(left_rows, right_rows, tolerance)
        only_left += unmatched.only_left
        only_right += unmatched.only_right
    return Difference(only_left, only_right)


def _unmatched(left: list[Row], right: list[Row], tolerance: Tolerance) -> Difference:
    waiting = sorted(right, key=_inexact_part)
    only_left: list[Row] = []
    for row in sorted(left, key=_inexact_part):
        match = next((i for i, other in enumerate(waiting) if _close(row, other, tolerance)), None)
        if match is None:
            only_left.append(row)
        else:
            del waiting[match]
    return Difference(only_left, waiting)


def _close(left: Row, right: Row, tolerance: Tolerance) -> bool:
    return all(tolerance.same(a, b) for a, b in zip(_inexact_part(left), _inexact_part(right), strict=True))


def _exact_part(row: Sequence[Any]) -> tuple[_Cell, ...]:
    return tuple((i, value) for i, value in enumerate(row) if not _is_inexact(value))


def _inexact_part(row: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in row if _is_inexact(value))


def _is_inexact(value: Any) -> bool:
    return isinstance(value, float | Decimal)
