"""What tells apart two queries with the same joins: what their plans compute.

That is the command, the aggregate functions and the constants in conditions, of the plan that Spark began with.
Predicates that the plugin infers change conditions and columns, and repeat constants, so all of these are the same in
every mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_WORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END"})


def plan_digest(plan: str) -> str:
    """16 hexadecimal digits for what ``plan``, the text in Spark's event, computes; empty when it does not say."""
    parts = "\n".join(sorted(set(_parts(plan))))
    return sha256(parts.encode("utf-8", "replace")).hexdigest()[:_DIGITS] if parts else ""


def _parts(plan: str) -> Iterator[str]:
    yield from (found["root"].strip() for found in _ROOT.finditer(plan))
    yield from (re.sub(r"#\d+L?", "", found[1]) for found in _FUNCTIONS.finditer(plan))
    for found in _CONDITIONS.finditer(plan):
        without = _CAST.sub(")", _COLUMN.sub("", found[1]))
        yield from (word for word in _CONSTANT.findall(without) if word.upper() not in _WORDS)
    for found in _PUSHED.finditer(plan):
        for value in _PUSHED_VALUES.findall(found[1]):
            yield from _CONSTANT.findall(value)
