"""What a report shows: the few rows that are left when a fleet's tables are summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.errors import NoDataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from aqe_plugin.pipeline.warehouse import Warehouse

__all__ = ["Row", "Summary", "cohorts_both_ways", "summary_of"]

Row = Mapping[str, Any]

_MOST_DAYS = 400
_MOST_ROWS = 15
_FEWEST_RUNS = 5


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums and the heads of lists; every list is bounded.

    Attributes:
        totals: sums over all cohorts and days, with ``since`` and ``until``.
        days: by day, oldest first: ``savedMillis``, ``regretMillis``, ``waitMillis``, ``rowsIn``, ``rowsOut`` of
            queries in mode ``apply``.
        cohorts: shapes that ran with and without the plugin's choices, most gained first: ``savedMillis`` from what
            their runs took; ``lost`` those that ran longer with them, most lost first.
        joins: joins with most regret.
        pass_rates: predicted against measured, by bucket of the predicted rate.
        rejected: what was kept aside, by reason.
    """

    totals: Row
    days: list[Row]
    cohorts: list[Row]
    lost: list[Row]
    joins: list[Row]
    pass_rates: list[Row]
    rejected: list[Row]


def summary_of(house: Warehouse) -> Summary:
    """The summary of the latest aggregates.

    Raises:
        NoDataError: nothing was aggregated yet.
        TablesError: the tables are of a newer aqe-plugin.
    """
    commits = house.commits("aggregate")[-1:]
    if not commits:
        raise NoDataError(f"{house.root}: no aggregates there. `aqe-plugin pipeline aggregate` makes them.")
    names = ("cohort_days", "join_days", "pass_rate_days")
    cohorts, joins, rates = (house.read(name, commits) for name in names)
    both = cohorts_both_ways(cohorts)
    return Summary(
        totals=_rows(_totals(cohorts), 1)[0],
        days=list(reversed(_rows(_days(cohorts).orderBy(F.desc("date")), _MOST_DAYS))),
        cohorts=_rows(both.where("savedMillis > 0").orderBy(F.desc("savedMillis"), "cohort"), _MOST_ROWS),
        lost=_rows(both.where("savedMillis < 0").orderBy("savedMillis", "cohort"), _MOST_ROWS),
        joins=_rows(_joins(joins).orderBy(F.desc("regretMillis"), "join"), _MOST_ROWS),
        pass_rates=_rows(_pass_rates(rates).orderBy("bucket"), 1000),
        rejected=_rows(_rejected(house.current("rejected")), _MOST_ROWS),
    )


def cohorts_both_ways(cohort_days: DataFrame) -> DataFrame:
    """Cohorts with at least five finished queries in mode ``apply`` and in another mode.

    ``observedMillis`` and ``appliedMillis`` are typical times of one query: means of the daily medians, weighted with
    the queries of the day. ``savedMillis`` is their difference times the queries in mode ``apply``.
    """
    finished = F.col("queries") - F.col("failed") - F.col("running")
    applied = F.col("mode") == "apply"
    timed = cohort_days.where("medianMillis IS NOT NULL").withColumn("_runs", finished).where("_runs > 0")

    def typical(which: Any) -> Any:
        return F.sum(F.when(which, F.col("medianMillis") * F.col("_runs"))) / F.sum(F.when(which, F.col("_runs")))

    both = timed.groupBy("cohort").agg(
        F.first("shape").alias("shape"),
        F.sum(F.when(applied, F.col("_runs"))).alias("applied"),
        F.sum(F.when(~applied, F.col("_runs"))).alias("observed"),
        typical(applied).alias("appliedMillis"),
        typical(~applied).alias("observedMillis"),
    )
    enough = (F.col("applied") >= _FEWEST_RUNS) & (F.col("observed") >= _FEWEST_RUNS)
    saved = (F.col("observedMillis") - F.col("appliedMillis")) * F.col("applied")
    return both.where(enough).withColumn("savedMillis", saved)


def _totals(cohort_days: DataFrame) -> DataFrame:
    summed = ("queries", "failed", "running", "totalMillis", "ruleMillis", "planned", "applied", "errors")
    of_joins = ("joins", "filtered", "waited", "waitMillis", "rowsIn", "rowsOut", "savedMillis", "regretMillis")
    return cohort_days.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (*summed, *of_joins)),
        F.count_distinct("cohort").alias("cohorts"),
        F.min("date").alias("since"),
        F.max("date").alias("until"),
    )


def _days(cohort_days: DataFrame) -> DataFrame:
    names = ("savedMillis", "regretMillis", "waitMillis", "rowsIn", "rowsOut", "totalMillis", "queries")
    return cohort_days.where("mode = 'apply'").groupBy("date").agg(*(F.sum(name).alias(name) for name in names))


def _joins(join_days: DataFrame) -> DataFrame:
    names = ("joins", "filtered", "regretMillis", "savedMillis", "rowsIn", "rowsOut", "measuredJoins")
    weighted = [
        (F.sum(F.col(name) * F.col("measuredJoins")) / F.nullif(F.sum("measuredJoins"), F.lit(0))).alias(name)
        for name in ("predictedPass", "measuredPass")
    ]
    rows = join_days.groupBy("join", "mode").agg(*(F.sum(name).alias(name) for name in names), *weighted)
    return rows.where("regretMillis > 0")


def _pass_rates(rates: DataFrame) -> DataFrame:
    def mean(name: str) -> Any:
        return (F.sum(F.col(name) * F.col("joins")) / F.sum("joins")).alias(name)

    return rates.groupBy("bucket").agg(
        mean("predictedPass"), mean("measuredPass"), mean("absoluteError"), F.sum("joins").alias("joins")
    )


def _rejected(rejected: DataFrame) -> DataFrame:
    # Of one reason, the part before the member that lacks is enough to be told once.
    return (
        rejected.groupBy("kind", "why")
        .agg(F.count(F.lit(1)).alias("lines"), F.count_distinct("log").alias("logs"))
        .orderBy(F.desc("lines"), "why")
    )


def _rows(frame: DataFrame, most: int) -> list[Row]:
    return [row.asDict() for row in frame.limit(most).toLocalIterator()]
