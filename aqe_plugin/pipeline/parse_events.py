"""Lines into events, and rejected lines with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.events.lines import OLDEST_SCHEMA_VERSION, SCHEMA_VERSION
from aqe_plugin.events.model import JoinDecided, LimitDecided, PredicateInferred, QueryEnded
from aqe_plugin.pipeline.required_members import rules_of
from aqe_plugin.pipeline.schemas import (
    JOIN_DECIDED,
    LIMIT_DECIDED,
    PREDICATE_INFERRED,
    QUERY_ENDED,
    SQL_ENDED,
    SQL_STARTED,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The kind of a rejected line that a newer aqe-plugin may be able to read.
UNKNOWN_VERSION = "unknown version"
_NOT_WHOLE = "not whole"

_OURS = {
    "decided": (JoinDecided, JOIN_DECIDED),
    "ended": (QueryEnded, QUERY_ENDED),
    "limited": (LimitDecided, LIMIT_DECIDED),
    "inferred": (PredicateInferred, PREDICATE_INFERRED),
}
_DAMAGED = "the file is cut off or damaged from here on"


def parsed(lines: DataFrame) -> DataFrame:
    """``log, position, kind`` of each line, with each of the plugin's events in the column of its kind.

    A rejected one has ``rejectedKind``, ``why`` and ``line``; an event of Spark has only ``line``.
    """
    events = lines.select("*", F.lit(None).cast("struct<kind: string, why: string>").alias("fault"))
    for kind, (model, schema) in _OURS.items():
        event = F.from_json("line", f"{schema}, _corrupt string", {"columnNameOfCorruptRecord": "_corrupt"})
        ours = F.col("kind") == kind
        # A generator is a barrier for the optimizer, which would parse the line once for every member looked at.
        once = events.select("*", F.explode(F.array(F.when(ours, event))).alias(kind))
        events = once.withColumn("fault", F.when(ours, _fault(model, kind)).otherwise(F.col("fault")))
    usable = F.col("kind").isin(*_OURS) & F.col("fault").isNull()
    return events.select(
        "log",
        "position",
        "kind",
        *_OURS,
        "fault.why",
        F.col("fault.kind").alias("rejectedKind"),
        F.when(~usable, F.col("line")).alias("line"),
    )


def whole(events: DataFrame, kind: str) -> DataFrame:
    """The usable events of ``kind`` in :func:`parsed`: ``log, position`` and the event's members."""
    usable = events.where((F.col("kind") == kind) & F.col("why").isNull())
    return usable.select("log", "position", f"{kind}.*").drop("_corrupt")


def rejected(events: DataFrame, attempts: DataFrame) -> DataFrame:
    """The plugin's lines that cannot be used, and the positions at which logs of ended applications are damaged.

    The last line of a running application's log may be incomplete; the next ingest reads it again.
    """
    damaged = F.col("kind") == "damaged"
    found = events.where(damaged | F.col("why").isNotNull()).select(
        "log",
        "position",
        F.when(damaged, "damaged").otherwise(F.col("rejectedKind")).alias("kind"),
        F.when(damaged, _DAMAGED).otherwise(F.col("why")).alias("why"),
        F.when(~damaged, F.col("line")).alias("line"),
    )
    running = attempts.where("inProgress").select("log")
    # A line rejected before is read again with its log, if the log still exists.
    waiting = found.where(F.col("kind") == UNKNOWN_VERSION).dropDuplicates(["log", "line"])
    lasting = found.where(F.col("kind") != UNKNOWN_VERSION).join(running, "log", "left_anti")
    return waiting.unionByName(lasting)


def started(lines: DataFrame) -> DataFrame:
    """``log, executionId, description, startedMillis`` of the queries that Spark began."""
    event = F.from_json("line", SQL_STARTED)
    return _of_spark(lines, "started", event).select(
        "log", "event.executionId", "event.description", F.col("event.time").alias("startedMillis")
    )


def over(lines: DataFrame) -> DataFrame:
    """``log, executionId, endedMillis, errorMessage`` of the queries that Spark ended."""
    event = F.from_json("line", SQL_ENDED)
    return _of_spark(lines, "over", event).select(
        "log", "event.executionId", F.col("event.time").alias("endedMillis"), "event.errorMessage"
    )


def applications(lines: DataFrame) -> DataFrame:
    """``log, applicationId, applicationName, startedMillis``, once for each log that has the application's start."""
    event = F.from_json("line", "`App ID` string, `App Name` string, Timestamp bigint")
    found = lines.where("kind = 'application'").withColumn("event", event)
    start = F.struct(
        F.col("event.`App ID`").alias("applicationId"),
        F.coalesce("event.`App Name`", F.lit("")).alias("applicationName"),
        F.coalesce("event.Timestamp", F.lit(0)).alias("startedMillis"),
    )
    return found.groupBy("log").agg(F.max_by(start, "position").alias("start")).select("log", "start.*")


def _of_spark(lines: DataFrame, kind: str, event: Column) -> DataFrame:
    return lines.where(F.col("kind") == kind).withColumn("event", event).where("event.executionId IS NOT NULL")


def _fault(model: type[Any], column: str) -> Column:
    """``kind`` and ``why`` of an unusable event in ``column``; null for a usable one."""
    version = F.col(f"{column}.schemaVersion")
    unknown = ~version.between(OLDEST_SCHEMA_VERSION, SCHEMA_VERSION)
    lacking = F.coalesce(
        *(
            F.when(~F.coalesce(F.expr(rule.condition), F.lit(False)), F.lit(rule.member))
            for rule in rules_of(model, column)
        )
    )
    bad = F.col(f"{column}._corrupt").isNotNull() | lacking.isNotNull()
    not_json = F.col(column).isNull() | F.json_object_keys("line").isNull()
    # A newer version may lack members of this one: its version is the reason.
    raw_version = F.get_json_object("line", "$.schemaVersion")
    other = ~F.coalesce(raw_version.try_cast("bigint").between(OLDEST_SCHEMA_VERSION, SCHEMA_VERSION), F.lit(True))
    members = F.concat(F.coalesce(lacking, F.lit(model.__name__)), F.lit(": absent, or of another type"))
    return (
        F.when(~unknown & ~bad, None)
        .when(not_json, _rejection(_NOT_WHOLE, F.lit("the line is not whole JSON")))
        .when(other, _rejection(UNKNOWN_VERSION, _version_in_words(model.__name__, raw_version)))
        .otherwise(_rejection(_NOT_WHOLE, members))
    )


def _rejection(kind: str, why: Column) -> Column:
    return F.struct(F.lit(kind).alias("kind"), why.alias("why"))


def _version_in_words(name: str, version: Column) -> Column:
    return F.concat(
        F.lit(f"{name} has schemaVersion "),
        version,
        F.lit(f", this aqe-plugin reads {OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}"),
    )
