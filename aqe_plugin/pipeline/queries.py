"""Events into rows of ``decisions``, ``outcomes`` and ``queries``, with the rows of earlier reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from aqe_plugin.pipeline.parse import over, started
from aqe_plugin.pipeline.shapes import fingerprint, join_shape, shape

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["date_of", "decisions_of", "outcomes_of", "queries_of"]

_DAY_MILLIS = 86_400_000
# 9999-12-31, the last day that every reader of dates knows.
_LAST_DAY = 2_932_896
_ACCOUNT = ("schemaVersion", "timeMillis", "durationMillis", "ruleMillis", "planned", "applied", "errors")
# A column that came later stands behind the others.
_ADDED = ("arm",)
_SPARKS = ("description", "startedMillis", "endedMillis", "errorMessage")


def date_of(millis: Column) -> Column:
    """The day of UTC, in every session's time zone; a damaged number gives the first or the last day there is."""
    day = F.floor(millis / _DAY_MILLIS)
    return F.date_add(
        F.lit("1970-01-01").cast("date"), F.greatest(F.lit(0), F.least(F.lit(_LAST_DAY), day)).cast("int")
    )


def decisions_of(events: DataFrame, earlier: DataFrame) -> DataFrame:
    """Rows of ``decisions``: one for each join of each query, as it was written first."""
    both = events.withColumn("date", date_of(F.col("timeMillis"))).unionByName(earlier)
    return _first(both, "log", "executionId", "decision.facts.joinId")


def outcomes_of(events: DataFrame, earlier: DataFrame) -> DataFrame:
    """Rows of ``outcomes``: one for each filter on each scan; ``number`` counts from 0 in the order of the event."""
    each = _first(events, "log", "executionId").select(
        "log", "executionId", "timeMillis", F.posexplode("outcomes").alias("number", "outcome")
    )
    rows = each.select(
        "log", "executionId", "timeMillis", "number", "outcome.*", date_of(F.col("timeMillis")).alias("date")
    )
    return rows.unionByName(earlier.join(rows, ["log", "executionId", "number"], "left_anti"))


def queries_of(decisions: DataFrame, ended: DataFrame, events: DataFrame, earlier: DataFrame) -> DataFrame:
    """Rows of ``queries``: one for each query with a decision or with an account of the plugin.

    Args:
        decisions: rows of ``decisions``, those of earlier reads among them.
        ended: the plugin's accounts.
        events: where Spark's own are.
        earlier: rows of ``queries`` of the same attempts.
    """
    key = ["log", "executionId"]
    of_joins = decisions.groupBy(*key).agg(
        F.count(F.lit(1)).alias("joins"),
        F.max_by("mode", "position").alias("mode"),
        shape(F.collect_list(join_shape(F.col("decision.facts.kind"), F.col("decision.facts.keys")))).alias("shape"),
        F.max("timeMillis").alias("_decidedMillis"),
    )
    accounts = _first(ended, *key).select(*key, *_ACCOUNT, *_ADDED)
    accounts = _newer(accounts, earlier.where("timeMillis IS NOT NULL").select(*key, *_ACCOUNT, *_ADDED), key)
    begun = _newer(started(events), earlier.where("startedMillis IS NOT NULL").select(*key, *_SPARKS[:2]), key)
    done = _newer(over(events), earlier.where("endedMillis IS NOT NULL").select(*key, *_SPARKS[2:]), key)
    rows = of_joins.join(accounts, key, "full").join(begun, key, "left").join(done, key, "left")
    at = F.coalesce("timeMillis", "_decidedMillis")
    return rows.select(
        *key,
        *_SPARKS,
        *_ACCOUNT,
        F.coalesce("joins", F.lit(0)).alias("joins"),
        F.coalesce("mode", F.lit("apply")).alias("mode"),
        fingerprint(F.coalesce("shape", F.lit(""))).alias("cohort"),
        F.coalesce("shape", F.lit("")).alias("shape"),
        date_of(at).alias("date"),
        *_ADDED,
    )


def _first(frame: DataFrame, *key: str) -> DataFrame:
    """The first row of each key: a log that lies in two places, or a part and its compacted form, count once."""
    place = F.row_number().over(Window.partitionBy(*key).orderBy("position"))
    return frame.withColumn("_place", place).where("_place = 1").drop("_place")


def _newer(rows: DataFrame, earlier: DataFrame, key: list[str]) -> DataFrame:
    fresh = rows.dropDuplicates(key)
    return fresh.unionByName(earlier.join(fresh, key, "left_anti"))
