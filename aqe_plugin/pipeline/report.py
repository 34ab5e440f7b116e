"""Job: the latest aggregates of a fleet, summed up to a few rows, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.errors import NoDataError
from aqe_plugin.events.savings import savings_of
from aqe_plugin.machine.disk import replace_file
from aqe_plugin.pipeline.history import stories_of
from aqe_plugin.pipeline.report_page import Row, Summary, page
from aqe_plugin.pipeline.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MAX_DAYS = 400
_MAX_ROWS = 15
_MIN_RUNS = 5


def report(spark: SparkSession, tables: str, output: Path) -> None:
    """Writes the page to ``output``, which holds the whole old page or the whole new one."""
    replace_file(output, page(summary_of(Warehouse(spark, tables)), tables).encode())


def summary_of(house: Warehouse) -> Summary:
    """The summary of the latest aggregates.

    Raises:
        NoDataError: nothing was aggregated yet.
    """
    commits = house.commits("aggregate")[-1:]
    if not commits:
        raise NoDataError(f"{house.root}: no aggregates in this folder. `aqe-plugin pipeline report` makes them.")
    queries, joins = (house.read(name, commits) for name in ("fingerprint_days", "join_days"))
    both = both_ways(queries)
    return Summary(
        savings=savings_of(stories_of(house)),
        totals=_rows(_totals(queries), 1)[0],
        days=list(reversed(_rows(_days(queries).orderBy(F.desc("date")), _MAX_DAYS))),
        faster=_rows(both.where("savedMillis > 0").orderBy(F.desc("savedMillis"), "fingerprint"), _MAX_ROWS),
        slower=_rows(both.where("savedMillis < 0").orderBy("savedMillis", "fingerprint"), _MAX_ROWS),
        joins=_rows(_joins(joins).orderBy(F.desc("regretMillis"), "join"), _MAX_ROWS),
        rejected=_rows(_rejected(house.current("rejected")), _MAX_ROWS),
    )


def both_ways(fingerprint_days: DataFrame) -> DataFrame:
    """Fingerprints with at least five finished queries in mode ``apply`` and in another mode.

    ``observedMillis`` and ``appliedMillis`` are typical times of one query: means of the daily medians, weighted with
    the queries of the day. ``savedMillis`` is their difference times the queries in mode ``apply``.
    """
    finished = F.col("queries") - F.col("failed") - F.col("running")
    applied = F.col("mode") == "apply"
    timed = fingerprint_days.where("medianMillis IS NOT NULL").withColumn("_runs", finished).where("_runs > 0")

    def typical(which: Any) -> Any:
        return F.sum(F.when(which, F.col("medianMillis") * F.col("_runs"))) / F.sum(F.when(which, F.col("_runs")))

    both = timed.groupBy("fingerprint").agg(
        F.first("joinConditions").alias("joinConditions"),
        F.sum(F.when(applied, F.col("_runs"))).alias("applied"),
        F.sum(F.when(~applied, F.col("_runs"))).alias("observed"),
        typical(applied).alias("appliedMillis"),
        typical(~applied).alias("observedMillis"),
    )
    enough = (F.col("applied") >= _MIN_RUNS) & (F.col("observed") >= _MIN_RUNS)
    saved = (F.col("observedMillis") - F.col("appliedMillis")) * F.col("applied")
    return both.where(enough).withColumn("savedMillis", saved)


def _totals(fingerprint_days: DataFrame) -> DataFrame:
    return fingerprint_days.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("filtered", "waited", "regretMillis")),
        F.count_distinct("fingerprint").alias("fingerprints"),
        F.min("date").alias("since"),
        F.max("date").alias("until"),
    )


def _days(fingerprint_days: DataFrame) -> DataFrame:
    names = ("savedMillis", "regretMillis", "waitMillis", "rowsIn", "rowsOut", "totalMillis", "queries")
    return fingerprint_days.where("mode = 'apply'").groupBy("date").agg(*(F.sum(name).alias(name) for name in names))


def _joins(join_days: DataFrame) -> DataFrame:
    names = ("joins", "filtered", "regretMillis", "savedMillis", "rowsIn", "rowsOut", "measuredJoins")
    weighted = [
        (F.sum(F.col(name) * F.col("measuredJoins")) / F.nullif(F.sum("measuredJoins"), F.lit(0))).alias(name)
        for name in ("predictedPass", "measuredPass")
    ]
    rows = join_days.groupBy("join", "mode").agg(*(F.sum(name).alias(name) for name in names), *weighted)
    return rows.where("regretMillis > 0")


def _rejected(rejected: DataFrame) -> DataFrame:
    return (
        rejected.groupBy("kind", "why")
        .agg(F.count(F.lit(1)).alias("lines"), F.count_distinct("log").alias("logs"))
        .orderBy(F.desc("lines"), "why")
    )


def _rows(frame: DataFrame, most: int) -> list[Row]:
    return [row.asDict() for row in frame.limit(most).toLocalIterator()]
