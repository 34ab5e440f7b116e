"""Whether a query has the same rows on two sides, found in bounded memory: checksums first, then the few rows in doubt.

Spark adds up, for each bucket of rows, how many there are and a hash of all their columns, which do not depend on the
rows' order. Only the rows of buckets that differ are fetched, at most :data:`MOST_ROWS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from aqe_plugin.api.query_shape import QueryShape
from aqe_plugin.api.row_difference import Row, Tolerance, difference

Side = Literal["off", "apply"]
"""Spark alone, or Spark with the plugin: the mode of the session."""

RowsVerdict = Literal["equal", "differ", "unsettled", "failed"]
"""``unsettled``: other rows, of a query that need not have the same in each run. ``failed``: the query, on one side."""

MOST_ROWS = 20_000
"""Rows that are fetched from a side to look for those that differ."""

MOST_ORDERED_ROWS = 100_000
"""Rows of an answer whose order is compared."""

# Spark sums in any order, so the last digits of a double are not defined. A FLOAT has 24 bits of its 53.
_LAST_DIGITS = Tolerance(relative=2.0**-23, absolute=1e-9)
SIDES: tuple[Side, Side] = ("off", "apply")
_NOTHING_PROVED = "So nothing is proved; compare a query that says which rows it has."
_SHOWN = 6
_MOST_CHARACTERS = 300

Bucket = tuple[int, int, int]
"""Rows, and two sums of their hashes."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What is known of the rows of an answer: of each bucket, by its number, how many rows and their checksums."""

    buckets: Mapping[int, Bucket]

    @property
    def rows(self) -> int:
        """How many rows the answer has."""
        return self.rows_of(self.buckets)

    def rows_of(self, buckets: Iterable[int]) -> int:
        """How many rows these buckets have."""
        return sum(self.buckets[number][0] for number in buckets if number in self.buckets)

    def differing(self, other: Digest) -> Sequence[int]:
        """The buckets with other rows than those of ``other``."""
        numbers = sorted(self.buckets.keys() | other.buckets.keys())
        return [number for number in numbers if self.buckets.get(number) != other.buckets.get(number)]


class Answers(Protocol):
    """The answers of one query, which is run on a side for each of them."""

    @property
    def shape(self) -> QueryShape:
        """What its plan says of its rows."""

    @property
    def checked(self) -> str:
        """In words, by what its rows are compared."""

    def digest(self, side: Side) -> Digest:
        """What is known of all its rows."""

    def rows(self, side: Side, buckets: Sequence[int]) -> list[Row]:
        """Its rows of these buckets, at most :data:`MOST_ROWS`: doubles as they are, other columns as text."""

    def order(self, side: Side) -> list[Row]:
        """The columns that order its rows, in the order of the rows, doubles as they are, others as text."""


@dataclass(frozen=True, slots=True)
class RowsCompared:
    """Whether the rows are the same, and how that is known.

    Attributes:
        found: a sentence.
        rows: of the answer under Spark alone.
        examples: rows that one side alone has, each with its side.
    """

    verdict: RowsVerdict
    found: str
    rows: int
    examples: tuple[str, ...] = ()


def compare_rows(answers: Answers, off: Digest, apply: Digest) -> RowsCompared:
    """Compares the rows behind two digests; the query runs again for what is in doubt."""
    differing = off.differing(apply)
    if not differing:
        return _same(answers, off.rows, answers.checked)
    left, right = (answers.rows(side, differing) for side in SIDES)
    delta = difference(left, right, _LAST_DIGITS)
    are_all = len(left) == off.rows_of(differing) == len(right) == apply.rows_of(differing)
    if not delta and are_all:
        return _same(answers, off.rows, f"{answers.checked}, apart from their last digits")
    only = ((side, row) for side, rows in zip(SIDES, (delta.only_left, delta.only_right), strict=True) for row in rows)
    examples = tuple(f"{side} alone: {row}"[:_MOST_CHARACTERS] for side, row in islice(only, _SHOWN))
    counts = f"{off.rows:,} rows with the mode off, {apply.rows:,} with apply"
    if cause := _why_they_may_differ(answers, off, apply):
        return RowsCompared("unsettled", f"{counts}, but {cause}. {_NOTHING_PROVED}", off.rows, examples)
    return RowsCompared("differ", counts, off.rows, examples)


def _same(answers: Answers, rows: int, how: str) -> RowsCompared:
    shape = answers.shape
    compared = f"{rows:,} row{'' if rows == 1 else 's'}, compared {how}" if rows else "no row, so little is proved"
    if not shape.is_ordered:
        return RowsCompared("equal", f"{compared}, in any order", rows)
    if not shape.ordered_by or rows > MOST_ORDERED_ROWS:
        why = f"more than {MOST_ORDERED_ROWS:,} rows" if shape.ordered_by else "not by columns of the answer"
        return RowsCompared("equal", f"{compared}; their order was not compared ({why})", rows)
    if _same_order(answers):
        return RowsCompared("equal", f"{compared}, and in the order of {', '.join(shape.ordered_by)}", rows)
    return RowsCompared("differ", f"{compared}, are the same, but not in the same order", rows)


def _same_order(answers: Answers) -> bool:
    """Whether the keys of ORDER BY have the same values one after the other; rows that tie may stand in any order."""
    off, apply = (answers.order(side) for side in SIDES)
    return len(off) == len(apply) and not any(
        difference([one], [other], _LAST_DIGITS) for one, other in zip(off, apply, strict=True) if one != other
    )


def _why_they_may_differ(answers: Answers, off: Digest, apply: Digest) -> str:
    """In words, why Spark may give other rows of this query in any run; empty when it may not."""
    shape = answers.shape
    if off.differing(answers.digest("off")):
        return "Spark alone gives other rows in each run"
    if shape.unstable:
        return f"the query leaves open which rows it has: {', '.join(shape.unstable)}"
    is_seen = bool(shape.ordered_by) and off.rows <= MOST_ORDERED_ROWS
    if shape.limits_ordered and off.rows == apply.rows and (not is_seen or _same_order(answers)):
        return "LIMIT may take any of the rows that tie in ORDER BY"
    return ""
