"""The fingerprint of a query shape, in Spark's functions: :mod:`aqe_plugin.tuning.fingerprint` over a column.

The patterns are those of that module; where Java's classes of characters differ from Python's they are spelled out, and
a test holds the two against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["fingerprint", "join_shape", "shape"]

# Possessive where that changes nothing: Java's matcher calls itself for every turn of a loop over alternatives.
_NAME = r"`(?:[^`]++|``)*`"
_WORD = r"\p{L}\p{N}_"
_LITERAL = (
    r"'(?:[^'\\]++|\\[^\n]|'')*'"
    r"|#\p{Nd}+"
    rf"|(?<![{_WORD}.])[-+]?\p{{Nd}}+(?:\.\p{{Nd}}+)?(?:[eE][-+]?\p{{Nd}}+)?[a-zA-Z]{{0,2}}(?![{_WORD}])"
)
_SPACE = r"[\p{Z}\x09-\x0d\x1c-\x1f\x85]+"
_DIGITS = 16


def join_shape(kind: Column, keys: Column) -> Column:
    """One join in words: ``inner: date_dim.d_date_sk = sales.date_sk``."""
    seen_from_the_left = F.when(kind == "right_outer", F.lit("left_outer")).otherwise(kind)
    return F.concat(seen_from_the_left, F.lit(": "), F.array_join(F.array_sort(F.transform(keys, _equality)), ", "))


def shape(joins: Column) -> Column:
    """The joins of a query, an array of :func:`join_shape`, as one text, a join a line."""
    return F.array_join(F.array_sort(F.array_distinct(joins)), "\n")


def fingerprint(shape_text: Column) -> Column:
    """What ``aqe_plugin.tuning.fingerprint.fingerprint`` gives."""
    return F.substring(F.sha2(shape_text, 256), 1, _DIGITS)


def _equality(key: Column) -> Column:
    return F.array_join(F.array_sort(F.transform(F.split(key, " = "), _without_literals)), " = ")


def _without_literals(part: Column) -> Column:
    # A replacement cannot ask which alternative matched: a name gets the mark of a literal behind it, and loses it.
    marked = F.regexp_replace(part, f"({_NAME})|{_LITERAL}", "$1?")
    unmarked = F.regexp_replace(marked, rf"({_NAME})\?", "$1")
    return F.regexp_replace(unmarked, f"^{_SPACE}|{_SPACE}$", "")
