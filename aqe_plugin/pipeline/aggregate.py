"""Job: the tables of events summed up by day, by fingerprint and join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from aqe_plugin.pipeline.priced_joins import joined_outcomes, measured_joins, with_prices
from aqe_plugin.pipeline.schemas import AGGREGATES
from aqe_plugin.pipeline.warehouse import Commit, Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_JOIN_COLUMNS = (
    *("log", "executionId", "fingerprint", "date", "join", "mode", "ranFiltered", "waited", "waitMillis"),
    *("rowsIn", "rowsOut", "predictedPass", "measuredPass", "savedMillis", "regretMillis"),
)


def aggregate(spark: SparkSession, tables: str, thresholds: Mapping[str, float]) -> Commit:
    """Makes the aggregates anew from all rows of the tables at ``tables``.

    Args:
        thresholds: those at which joins are priced, by key without ``spark.aqePlugin.``.
    """
    house = Warehouse(spark, tables)
    queries = house.current("queries").drop("run").where("joins > 0 OR errors > 0")
    decisions, outcomes = house.current("decisions").drop("run"), house.current("outcomes").drop("run")
    priced = with_prices(measured_joins(joined_outcomes(decisions, outcomes)), thresholds)
    of_query = queries.select("log", "executionId", "fingerprint", "date")
    succeeded = queries.where("coalesce(errorMessage, '') = ''").select("log", "executionId", F.inline("savings"))
    saved = succeeded.where("applied").withColumnRenamed("elapsedMillis", "savedMillis")
    joins = (
        priced.drop("date")
        .join(of_query, ["log", "executionId"])
        .join(saved.select("log", "executionId", "joinId", "savedMillis"), ["log", "executionId", "joinId"], "left")
        .select(*_JOIN_COLUMNS)
    )
    run = house.new_run()
    staged = house.path("_staging", run)
    # So that joins are decided again once, and not for each table.
    joins.write.parquet(staged)
    joins = spark.read.parquet(staged)
    frames = {
        "fingerprint_days": fingerprint_days(queries, joins),
        "join_days": join_days(joins),
    }
    rows = {
        table: house.write(frames[table], table, run, by_date=by_date) for table, (_, by_date) in AGGREGATES.items()
    }
    commit = Commit(run, "aggregate", rows)
    house.commit(commit)
    house.delete("_staging", run)
    return commit


def fingerprint_days(queries: DataFrame, joins: DataFrame) -> DataFrame:
    """One row for each day, fingerprint and mode; a query counts on the day it ended.

    Args:
        queries: rows of the table.
        joins: priced joins with ``fingerprint`` and ``date``.
    """
    key = ["date", "fingerprint", "mode"]
    running, failed = F.col("timeMillis").isNull(), F.coalesce("errorMessage", F.lit("")) != ""
    # A failed query's time says nothing about its plan.
    duration = F.when(~running & ~failed, F.col("durationMillis").cast("double"))
    of_queries = queries.groupBy(*key).agg(
        F.first("joinConditions").alias("joinConditions"),
        F.count(F.lit(1)).alias("queries"),
        F.count_if(failed).alias("failed"),
        F.count_if(running).alias("running"),
        _sum(duration).alias("totalMillis"),
        F.percentile_approx(duration, 0.5, 10_000).alias("medianMillis"),
        *(_sum(F.col(name)).alias(name) for name in ("ruleMillis", "planned", "applied", "errors")),
    )
    rows = of_queries.join(joins.groupBy(*key).agg(*_of_joins()), key, "left")
    return rows.fillna(0, [name for name in rows.columns if name not in {*key, "medianMillis"}]).select(
        *_columns("fingerprint_days")
    )


def join_days(joins: DataFrame) -> DataFrame:
    """One row for each day, fingerprint, join and mode; pass rates are means over the joins that measured one."""
    rows = joins.groupBy("date", "fingerprint", "join", "mode").agg(
        *_of_joins(),
        F.avg("predictedPass").alias("predictedPass"),
        F.avg("measuredPass").alias("measuredPass"),
        F.count("measuredPass").alias("measuredJoins"),
    )
    return rows.select(*_columns("join_days"))


def _of_joins() -> list[Column]:
    return [
        F.count(F.lit(1)).alias("joins"),
        F.count_if("ranFiltered").alias("filtered"),
        F.count_if("waited").alias("waited"),
        *(_sum(F.col(name)).alias(name) for name in ("waitMillis", "rowsIn", "rowsOut", "savedMillis", "regretMillis")),
    ]


def _sum(number: Column) -> Column:
    """As a floating-point number, so that one damaged log does not overflow the sum."""
    return F.coalesce(F.sum(number.cast("double")), F.lit(0.0))


def _columns(table: str) -> list[str]:
    return cast("StructType", StructType.fromDDL(AGGREGATES[table][0])).names
