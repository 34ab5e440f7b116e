"""What tells apart two queries with the same joins: what their plans compute.

That is the command, the aggregate functions and the constants in conditions, of the plan that Spark began with. These
are the same in every mode: predicates that the plugin infers change conditions and columns, and repeat constants. Only
a bound may be a new one, `day <= 16` from `day < other AND other < 18`, and is left out in every mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256

_DIGITS = 16
_ROOT = re.compile(r"== Physical Plan ==\n(?P<root>[ \w]+)")
# In the formatted plan, where an operator has its number in brackets, and in the others.
_FUNCTIONS = re.compile(r"(?:Functions(?: \[\d+\])?: |functions=)(.*)")
_CONDITIONS = re.compile(r"(?:Condition\s*:|Filter \((?!\d+\))|PartitionFilters:)(.*)")
# Sources that take predicates over keep no condition above them.
_PUSHED = re.compile(r"PushedFilters:(.*)")
_COLUMN = re.compile(r"[\w.`-]+#\d+L?")
_CAST = re.compile(r"\bas \w+(?:\([\d,]+\))?\)")
_CONSTANT = re.compile(r"[\w.:-]+(?![\w.:-]*\()")
# The values of `GreaterThan(day,17)`, without the column.
_PUSHED_VALUES = re.compile(r",([^,()\[\]]+)(?=[)\],])")
# Of a long in SQL, where a plan has the digits alone.
_LONG = re.compile(r"(?<=\d)L\b")
_WORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END"})


def plan_parts(plan: str) -> tuple[str, ...]:
    """What ``plan``, the text in Spark's event, computes: each part once."""
    return tuple(sorted(set(_parts(plan))))


def plan_digest(parts: Iterable[str], bounds: Iterable[str] = ()) -> str:
    """16 hexadecimal digits for what a plan computes; empty where nothing is known of it.

    Args:
        bounds: predicates that were inferred from inequalities, in SQL.
    """
    new = {constant for bound in bounds for constant in _CONSTANT.findall(_LONG.sub("", bound.replace("'", "")))}
    kept = "\n".join(part for part in parts if part not in new)
    return sha256(kept.encode("utf-8", "replace")).hexdigest()[:_DIGITS] if kept else ""


def _parts(plan: str) -> Iterator[str]:
    yield from (found["root"].strip() for found in _ROOT.finditer(plan))
    yield from (re.sub(r"#\d+L?", "", found[1]) for found in _FUNCTIONS.finditer(plan))
    for found in _CONDITIONS.finditer(plan):
        without = _CAST.sub(")", _COLUMN.sub("", found[1]))
        yield from (word for word in _CONSTANT.findall(without) if word.upper() not in _WORDS)
    for found in _PUSHED.finditer(plan):
        for value in _PUSHED_VALUES.findall(found[1]):
            yield from _CONSTANT.findall(value)
