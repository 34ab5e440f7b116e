"""Events into rows of tables, together with the rows of earlier ingests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from aqe_plugin.pipeline.fingerprint import fingerprint, join_condition, join_conditions
from aqe_plugin.pipeline.parse_events import over, started

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DAY_MILLIS = 86_400_000
# 9999-12-31, the last day that every reader of dates accepts.
_LAST_DAY = 2_932_896
_ACCOUNT = (
    *("schemaVersion", "timeMillis", "durationMillis", "ruleMillis", "planned", "applied", "errors"),
    *("arm", "badConf", "flips", "savings"),
)
# What tells the events of a query apart; its limits have no id, so equal ones of one moment count once.
_KEYS = {
    "decisions": ("decision.facts.joinId",),
    "limits": ("timeMillis", "decision"),
    "predicates": ("table", "predicate"),
}
_SPARKS = ("description", "startedMillis", "endedMillis", "errorMessage")


def date_of(millis: Column) -> Column:
    """The day in UTC, whatever the session's time zone; a damaged number gives the first or last possible day."""
    day = F.floor(millis / _DAY_MILLIS)
    return F.date_add(
        F.lit("1970-01-01").cast("date"), F.greatest(F.lit(0), F.least(F.lit(_LAST_DAY), day)).cast("int")
    )


def rows_of(table: str, events: DataFrame, earlier: DataFrame | None) -> DataFrame:
    """Rows of ``decisions``, ``limits`` or ``predicates``: of those that mean the same, the first that was written."""
    rows = events.withColumn("date", date_of(F.col("timeMillis")))
    return _first(rows if earlier is None else rows.unionByName(earlier), "log", "executionId", *_KEYS[table])


def outcomes_of(events: DataFrame, earlier: DataFrame | None) -> DataFrame:
    """Rows of ``outcomes``: one for each filter on each scan; ``number`` counts from 0 in the order of the event."""
    each = _first(events, "log", "executionId").select(
        "log", "executionId", "timeMillis", F.posexplode("outcomes").alias("number", "outcome")
    )
    rows = each.select(
        "log", "executionId", "timeMillis", "number", "outcome.*", date_of(F.col("timeMillis")).alias("date")
    )
    return _newer(rows, earlier, ["log", "executionId", "number"])


def queries_of(decisions: DataFrame, ended: DataFrame, events: DataFrame, earlier: DataFrame | None) -> DataFrame:
    """Rows of ``queries``: one for each query with a decision or with an end event of the plugin.

    Args:
        decisions: rows of ``decisions``, those of earlier reads among them.
        ended: the plugin's end events.
        events: those of Spark.
        earlier: rows of ``queries`` of the same attempts.
    """
    key = ["log", "executionId"]
    of_joins = decisions.groupBy(*key).agg(
        F.count(F.lit(1)).alias("joins"),
        F.max_by("mode", "position").alias("mode"),
        join_conditions(
            F.collect_list(join_condition(F.col("decision.facts.kind"), F.col("decision.facts.keys")))
        ).alias("joinConditions"),
        F.max("timeMillis").alias("_decidedMillis"),
    )
    accounts = _first(ended, *key).select(*key, *_ACCOUNT)
    accounts = _newer(accounts, earlier, key, "timeMillis IS NOT NULL")
    begun = _newer(started(events).dropDuplicates(key), earlier, key, "startedMillis IS NOT NULL")
    done = _newer(over(events).dropDuplicates(key), earlier, key, "endedMillis IS NOT NULL")
    rows = of_joins.join(accounts, key, "full").join(begun, key, "left").join(done, key, "left")
    at = F.coalesce("timeMillis", "_decidedMillis")
    return rows.select(
        *key,
        *_SPARKS,
        *_ACCOUNT,
        F.coalesce("joins", F.lit(0)).alias("joins"),
        F.coalesce("mode", F.lit("apply")).alias("mode"),
        fingerprint(F.coalesce("joinConditions", F.lit(""))).alias("fingerprint"),
        F.coalesce("joinConditions", F.lit("")).alias("joinConditions"),
        date_of(at).alias("date"),
    )


def _first(frame: DataFrame, *key: str) -> DataFrame:
    """The first row of each key: two copies of a log, or a part and its compacted form, count once."""
    number = F.row_number().over(Window.partitionBy(*key).orderBy("position"))
    return frame.withColumn("_number", number).where("_number = 1").drop("_number")


def _newer(rows: DataFrame, earlier: DataFrame | None, key: list[str], counting: str = "true") -> DataFrame:
    """``rows``, and of ``earlier`` the ``counting`` ones of other keys."""
    if earlier is None:
        return rows
    return rows.unionByName(earlier.where(counting).select(rows.columns).join(rows, key, "left_anti"))
