"""The schemas of events and tables, as Spark's DDL; those of events are made of their dataclasses."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from aqe_plugin.events.json_values import camel_case, required, words_of
from aqe_plugin.events.model import FilterOutcome, FlipPoint, JoinDecided, JoinSaving, LimitDecided, PredicateInferred

_TYPES = {int: "bigint", float: "double", str: "string", bool: "boolean"}


def members_of(model: Any, colon: str = "") -> str:
    """The members of the dataclass ``model`` and their types."""
    return ", ".join(f"{camel_case(name)}{colon} {_type(hint)}" for name, hint in get_type_hints(model).items())


def _type(hint: Any) -> str:
    value = required(hint)
    if get_origin(value) is tuple:
        return f"array<{_type(get_args(value)[0])}>"
    if is_dataclass(value):
        return f"struct<{members_of(value, ':')}>"
    return "string" if words_of(value) else _TYPES[value]


# Only the needed members of Spark's own events.
SQL_STARTED = "executionId bigint, description string, time bigint"
SQL_ENDED = "executionId bigint, time bigint, errorMessage string"
APPLICATION = "`App ID` string, `App Name` string, Timestamp bigint"

# The offset of an event in the log of its attempt, in bytes before compression, which orders events as written.
_POSITION = "position struct<part: int, offset: bigint>"

ATTEMPTS = (
    "log string, applicationId string, applicationName string, startedMillis bigint, inProgress boolean, "
    "files array<struct<path: string, bytes: bigint, modifiedMillis: bigint>>, readsSchemaVersion int"
)
DECISIONS = f"log string, {_POSITION}, {members_of(JoinDecided)}, date date"
OUTCOMES = f"log string, executionId bigint, timeMillis bigint, number int, {members_of(FilterOutcome)}, date date"
LIMITS = f"log string, {_POSITION}, {members_of(LimitDecided)}, date date"
PREDICATES = f"log string, {_POSITION}, {members_of(PredicateInferred)}, date date"
QUERIES = (
    "log string, executionId bigint, description string, startedMillis bigint, endedMillis bigint, "
    "errorMessage string, schemaVersion bigint, timeMillis bigint, durationMillis bigint, ruleMillis bigint, "
    "planned bigint, applied bigint, errors bigint, joins bigint, mode string, fingerprint string, "
    f"joinConditions string, date date, arm string, badConf string, flips {_type(tuple[FlipPoint, ...])}, "
    f"savings {_type(tuple[JoinSaving, ...])}"
)
REJECTED = f"log string, {_POSITION}, kind string, why string, line string"

# The tables of a run, and whether they are partitioned by date.
TABLES = {
    "attempts": (ATTEMPTS, False),
    "decisions": (DECISIONS, True),
    "outcomes": (OUTCOMES, True),
    "queries": (QUERIES, True),
    "limits": (LIMITS, True),
    "predicates": (PREDICATES, True),
    "rejected": (REJECTED, False),
}

_OF_JOINS = (
    "joins bigint, filtered bigint, waited bigint, waitMillis double, rowsIn double, rowsOut double, "
    "savedMillis double, regretMillis double"
)

_FINGERPRINT_DAYS = (
    "fingerprint string, joinConditions string, mode string, queries bigint, failed bigint, running bigint, "
    "totalMillis double, medianMillis double, ruleMillis double, planned double, applied double, errors double, "
    f"{_OF_JOINS}, date date"
)
_JOIN_DAYS = (
    f"fingerprint string, join string, mode string, {_OF_JOINS}, predictedPass double, measuredPass double, "
    "measuredJoins bigint, date date"
)

# The tables that `aggregate` makes of them, anew each time.
AGGREGATES = {
    "fingerprint_days": (_FINGERPRINT_DAYS, True),
    "join_days": (_JOIN_DAYS, True),
}
