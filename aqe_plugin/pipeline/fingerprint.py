"""The fingerprint of a query in Spark's functions: :mod:`aqe_plugin.events.fingerprint` over columns.

The patterns are those of that module, with character classes spelled out where Java's differ from Python's; a test
compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

# Possessive where that matches the same: Java's matcher recurses for every repetition of alternatives.
_NAME = r"`(?:[^`]++|``)*`"
_WORD = r"\p{L}\p{N}_"
_LITERAL = (
    r"'(?:[^'\\]++|\\[^\n]|'')*'"
    r"|#\p{Nd}+"
    rf"|(?<![{_WORD}.])[-+]?\p{{Nd}}+(?:\.\p{{Nd}}+)?(?:[eE][-+]?\p{{Nd}}+)?[a-zA-Z]{{0,2}}(?![{_WORD}])"
)
_SPACE = r"[\p{Z}\x09-\x0d\x1c-\x1f\x85]+"
_DIGITS = 16
_EQUALS = " = "


def join_condition(kind: Column, keys: Column) -> Column:
    """One join as text: ``inner: date_dim.d_date_sk = sales.date_sk``."""
    as_left_join = F.when(kind == "right_outer", F.lit("left_outer")).otherwise(kind)
    return F.concat(as_left_join, F.lit(": "), F.array_join(F.array_sort(F.transform(keys, _equality)), ", "))


def join_conditions(joins: Column) -> Column:
    """The joins of a query, an array of :func:`join_condition`, as one text, a join a line."""
    equal = F.filter(joins, lambda join: F.contains(join, F.lit(_EQUALS)))
    return F.array_join(F.array_sort(F.array_distinct(F.when(F.size(equal) > 0, equal).otherwise(joins))), "\n")


def fingerprint(conditions: Column) -> Column:
    """That of :func:`join_conditions`."""
    return F.substring(F.sha2(conditions, 256), 1, _DIGITS)


def _equality(key: Column) -> Column:
    return F.array_join(F.array_sort(F.transform(F.split(key, _EQUALS), _without_literals)), _EQUALS)


def _without_literals(part: Column) -> Column:
    # A replacement does not know which alternative matched: `?` is put behind a name too, and then removed.
    marked = F.regexp_replace(part, f"({_NAME})|{_LITERAL}", "$1?")
    unmarked = F.regexp_replace(marked, rf"({_NAME})\?", "$1")
    return F.regexp_replace(unmarked, f"^{_SPACE}|{_SPACE}$", "")
