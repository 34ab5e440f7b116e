"""Which queries are runs of the same query: those of the same fingerprint.

The fingerprint stands for the set of a query's equi-joins, each with its type and the columns, tables included, that it
joins on; a query without them has that of its joins by ranges. It does not depend on

- literals in key expressions, ids of expressions, or the order of joins, of a join's keys, and of an equality's sides;
- the build side: a right outer join is a left outer join with its sides swapped;
- joins that are decided again after a re-plan;
- the plugin's decisions, and so on its filters and their tables: one run has them, the next does not.

It changes when a table or alias is renamed, also when the name holds the day's date; when Spark rewrites a join (a
semi-join into an inner one); and when AQE drops a join that it finds to be empty. Events do not contain predicates:
queries that differ only in predicates have one fingerprint.
"""

from __future__ import annotations

import re
from hashlib import sha256

from aqe_plugin.events.model import JoinFacts
from aqe_plugin.events.queries import QueryStory

_DIGITS = 16
# A quoted identifier is matched first, to be kept: digits and quotes in it are a part of its name.
_TOKENS = re.compile(
    r"(?P<name>`(?:[^`]|``)*`)|'(?:[^'\\]|\\.|'')*'|#\d+|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[a-zA-Z]{0,2}\b"
)
_EQUALS = " = "
_AS_LEFT_JOIN = {"right_outer": "left_outer"}


def fingerprint(story: QueryStory) -> str:
    """16 hexadecimal digits of SHA-256 of :func:`join_conditions`; the same on every machine and in every release."""
    return sha256("\n".join(join_conditions(story)).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def join_conditions(story: QueryStory) -> tuple[str, ...]:
    """What the fingerprint stands for, in alphabetical order: ``inner: date_dim.d_date_sk = sales.date_sk``."""
    conditions = sorted({condition_of(join.decision.facts) for join in story.joins})
    # Whether a range is reported depends on how its join was carried out.
    return tuple([condition for condition in conditions if _EQUALS in condition] or conditions)


def condition_of(facts: JoinFacts) -> str:
    """Type and columns of one join: ``inner: date_dim.d_date_sk = sales.date_sk``."""
    kind = _AS_LEFT_JOIN.get(facts.kind, facts.kind)
    return f"{kind}: " + ", ".join(sorted(map(_equality, facts.keys)))


def _equality(key: str) -> str:
    # An expression may contain an equality of its own: sorting all parts still ignores the order of sides.
    return _EQUALS.join(sorted(_without_literals(part).strip() for part in key.split(_EQUALS)))


def _without_literals(text: str) -> str:
    return _TOKENS.sub(lambda match: match["name"] or "?", text)
