"""Lines into events, and rejected lines with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.events.lines import OLDEST_SCHEMA_VERSION, SCHEMA_VERSION
from aqe_plugin.events.model import JoinDecided, LimitDecided, PredicateInferred, QueryEnded
from aqe_plugin.pipeline.required_members import rules_of
from aqe_plugin.pipeline.schemas import APPLICATION, SQL_ENDED, SQL_STARTED, members_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The kind of a rejected line that a newer aqe-plugin may be able to read.
UNKNOWN_VERSION = "unknown version"

_OURS: dict[str, type[Any]] = {
    "decided": JoinDecided,
    "ended": QueryEnded,
    "limited": LimitDecided,
    "inferred": PredicateInferred,
}


def parsed(lines: DataFrame) -> DataFrame:
    """``log, position, kind`` of each line, with each of the plugin's events in the column of its kind.

    A rejected one has ``rejectedKind``, ``why`` and ``line``; an event of Spark has only ``line``.
    """
    parses = ", ".join(
        f"if(kind = '{kind}', from_json(line, '{members_of(model)}, _corrupt string', "
        f"map('columnNameOfCorruptRecord', '_corrupt')), null) AS {kind}"
        for kind, model in _OURS.items()
    )
    # A generator is a barrier for the optimizer, which would parse the line once for every member looked at.
    events = lines.selectExpr("*", f"inline(array(struct({parses})))")
    # One text for each column: an expression of its own for each member takes seconds to plan.
    names = _case(f"kind = '{kind}' THEN '{model.__name__}'" for kind, model in _OURS.items())
    lacking = _case(f"kind = '{kind}' THEN {_lacking(model, kind)}" for kind, model in _OURS.items())
    checked = events.selectExpr(
        *("*", f"{names} AS name", f"{lacking} AS lacking"),
        f"coalesce({', '.join(f'{kind}.schemaVersion' for kind in _OURS)}) AS version",
        f"coalesce({', '.join(f'{kind}._corrupt' for kind in _OURS)}) AS corrupt",
    )
    known = f"BETWEEN {OLDEST_SCHEMA_VERSION} AND {SCHEMA_VERSION}"
    # A newer version may lack members of this one: its version is the reason.
    raw = "get_json_object(line, '$.schemaVersion')"
    versions = f"this aqe-plugin reads {OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}"
    another = f"concat(name, ' has schemaVersion ', {raw}, ', {versions}')"
    branches = (
        f"name IS NULL OR (version {known} AND corrupt IS NULL AND lacking IS NULL) THEN null",
        "json_object_keys(line) IS NULL THEN struct('not whole' AS kind, 'the line is not whole JSON' AS why)",
        f"NOT try_cast({raw} AS bigint) {known} THEN struct('{UNKNOWN_VERSION}' AS kind, {another} AS why)",
        "true THEN struct('not whole' AS kind, coalesce(lacking, name) || ': absent, or of another type' AS why)",
    )
    return checked.selectExpr("*", f"{_case(branches)} AS fault").selectExpr(
        *("log", "position", "kind", *_OURS, "fault.why", "fault.kind AS rejectedKind"),
        "if(name IS NULL OR fault IS NOT NULL, line, null) AS line",
    )


def whole(events: DataFrame, kind: str) -> DataFrame:
    """The usable events of ``kind`` in :func:`parsed`: ``log, position`` and the event's members."""
    return events.where(f"kind = '{kind}' AND why IS NULL").select("log", "position", f"{kind}.*").drop("_corrupt")


def rejected(events: DataFrame, attempts: DataFrame) -> DataFrame:
    """The plugin's lines that cannot be used, and the positions at which logs of ended applications are damaged.

    The last line of a running application's log may be incomplete; the next ingest reads it again.
    """
    found = events.where("kind = 'damaged' OR why IS NOT NULL").selectExpr(
        *("log", "position", "coalesce(rejectedKind, kind) AS kind"),
        "coalesce(why, 'the file is cut off or damaged from here on') AS why",
        "if(why IS NULL, null, line) AS line",
    )
    running = attempts.where("inProgress").select("log")
    # A line rejected before is read again with its log, if the log still exists.
    waiting = found.where(F.col("kind") == UNKNOWN_VERSION).dropDuplicates(["log", "line"])
    lasting = found.where(F.col("kind") != UNKNOWN_VERSION).join(running, "log", "left_anti")
    return waiting.unionByName(lasting)


def started(lines: DataFrame) -> DataFrame:
    """``log, executionId, description, startedMillis`` of the queries that Spark began."""
    begun = _of_spark(lines, "started", SQL_STARTED).where("executionId IS NOT NULL")
    return begun.drop("position").withColumnRenamed("time", "startedMillis")


def over(lines: DataFrame) -> DataFrame:
    """``log, executionId, endedMillis, errorMessage`` of the queries that Spark ended."""
    done = _of_spark(lines, "over", SQL_ENDED).where("executionId IS NOT NULL")
    return done.drop("position").withColumnRenamed("time", "endedMillis")


def applications(lines: DataFrame) -> DataFrame:
    """``log`` and ``start`` (``applicationId, applicationName, startedMillis``) of each log that has one."""
    start = "struct(`App ID` AS applicationId, coalesce(`App Name`, '') AS applicationName, "
    start += "coalesce(`Timestamp`, 0) AS startedMillis)"
    return (
        _of_spark(lines, "application", APPLICATION).groupBy("log").agg(F.expr(f"max_by({start}, position) AS start"))
    )


def _of_spark(lines: DataFrame, kind: str, schema: str) -> DataFrame:
    return lines.where(f"kind = '{kind}'").selectExpr("log", "position", f"inline(array(from_json(line, '{schema}')))")


def _lacking(model: type[Any], kind: str) -> str:
    return _case(f"NOT coalesce({holds}, false) THEN '{member}'" for member, holds in rules_of(model, kind))


def _case(branches: Iterable[str]) -> str:
    return f"CASE {' '.join(f'WHEN {branch}' for branch in branches)} END"
