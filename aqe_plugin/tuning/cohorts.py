"""Which queries are runs of the same query shape.

A shape is the set of a query's equi-joins, each as its type and the columns, tables included, that it joins on. The
same query of another day, over other sizes, in another mode and with other decisions has the same fingerprint:

- literal values in key expressions, ids of expressions and the order of joins, of keys in a join, and of the two
  sides of an equality do not count, and neither does which side is built from (a right outer join is a left outer join
  seen from the other side);
- a join that is decided once more after a re-plan does not count twice;
- what the plugin decided does not count, which is why its filters and their tables are not looked at: they are there in
  one run and not in the next.

It is another shape when a table or alias has another name, also when that is the day's date; when Spark rewrites a join
(a semi-join into an inner one); and when AQE finds a join to be empty and drops it. Predicates are not in the events:
two queries that differ in them alone are of one shape.
"""

from __future__ import annotations

import re
from hashlib import sha256

from aqe_plugin.events.model import JoinFacts, JoinKind
from aqe_plugin.events.queries import QueryStory

__all__ = ["fingerprint", "shape_of"]

_DIGITS = 16
# A quoted identifier is matched first, to be kept: digits and quotes in it are a part of its name.
_TOKENS = re.compile(
    r"(?P<name>`(?:[^`]|``)*`)|'(?:[^'\\]|\\.|'')*'|#\d+|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[a-zA-Z]{0,2}\b"
)
_SEEN_FROM_THE_LEFT = {JoinKind.RIGHT_OUTER: JoinKind.LEFT_OUTER}


def fingerprint(story: QueryStory) -> str:
    """16 hexadecimal digits of SHA-256 over :func:`shape_of`; the same on every machine and in every release."""
    return sha256("\n".join(shape_of(story)).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def shape_of(story: QueryStory) -> tuple[str, ...]:
    """The joins of the shape in words, in alphabetical order: ``inner: date_dim.d_date_sk = sales.date_sk``."""
    return tuple(sorted({_join(join.decision.facts) for join in story.joins}))


def _join(facts: JoinFacts) -> str:
    kind = _SEEN_FROM_THE_LEFT.get(facts.kind, facts.kind)
    return f"{kind.value}: " + ", ".join(sorted(map(_equality, facts.keys)))


def _equality(key: str) -> str:
    # An expression may hold an equality of its own; sorting all the parts is indifferent to sides all the same.
    return " = ".join(sorted(_without_literals(part).strip() for part in key.split(" = ")))


def _without_literals(text: str) -> str:
    return _TOKENS.sub(lambda match: match["name"] or "?", text)
