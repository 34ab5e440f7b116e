"""Decided joins with what came of them, and what they would have cost otherwise, by the plugin's own decision function.

The same reading of outcomes as :mod:`aqe_plugin.tuning.runs`, as transforms; a test holds the two against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from aqe_plugin.pipeline.shapes import join_shape
from aqe_plugin.tuning.spark_replay import with_decisions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["joined_outcomes", "measured_joins", "with_prices"]

_USELESS = ("pass_all", "missing")
_FEWEST_PASSING = 1e-9
# Its default would cut measured pass rates of keys of several columns.
_NO_COMPOSITE_BOUND = {"filter.compositeFactor": 1000.0}


def joined_outcomes(decisions: DataFrame, outcomes: DataFrame) -> DataFrame:
    """``decisions`` with what the filters of each join did: ``rowsIn, rowsOut, keysIn, worked, waitMillis``."""
    worked = ~F.col("kind").isin(*_USELESS)
    sums = outcomes.groupBy("log", "executionId", "joinId").agg(
        F.sum(F.when(worked, F.col("rowsIn").cast("double"))).alias("rowsIn"),
        F.sum(F.when(worked, F.col("rowsOut").cast("double"))).alias("rowsOut"),
        F.max(F.when(worked, F.col("keys"))).alias("keysIn"),
        F.coalesce(F.max(worked), F.lit(False)).alias("worked"),
        F.max("waitMillis").cast("double").alias("waitMillis"),
    )
    named = decisions.withColumn("joinId", F.col("decision.facts.joinId"))
    joined = named.join(sums, ["log", "executionId", "joinId"], "left")
    return joined.withColumn("worked", F.coalesce("worked", F.lit(False)))


def measured_joins(joined: DataFrame) -> DataFrame:
    """One row for each join: ``join``, what it ran as (``ranAs``, ``ranFiltered``), whether it ``waited``, ``facts``
    with the pass rate that came out, and ``predictedPass`` and ``measuredPass`` where a filter measured it.

    A rate is a share of the rows that the scan was expected to produce, unless it produced more.
    """
    facts, decision = F.col("decision.facts"), F.col("decision")
    applied = F.col("mode") == "apply"
    choice = F.when(applied, decision.choice).otherwise(facts.sparkStrategy)
    filtered = applied & decision.buildFilter & F.col("worked")
    measured = F.coalesce(F.col("rowsIn"), F.lit(0.0)) > 0
    scanned = F.greatest(F.col("rowsIn"), facts.probe.scanRows.cast("double"))
    named = joined.withColumns(
        {
            "join": join_shape(facts.kind, facts["keys"]),
            "ranAs": _method(facts.sparkStrategy, choice, filtered),
            "ranFiltered": filtered,
            "predictedPass": F.when(measured, decision.passRate),
            "measuredPass": F.when(measured, F.col("rowsOut") / scanned),
            "waited": F.coalesce(facts.waiting.waits, F.lit(False)),
            "_scanned": F.when(measured, scanned),
        }
    )
    return named.withColumn("facts", F.when(measured, _measured_facts(facts)).otherwise(facts)).drop("_scanned")


def with_prices(joins: DataFrame, thresholds: Mapping[str, float]) -> DataFrame:
    """:func:`measured_joins` with ``savedMillis``, the price of what Spark would have done less that of what ran, and
    ``regretMillis``, the price of what ran less that of the cheapest option; null where one of them has no price.

    Prices are the plugin's own, at ``thresholds`` (by key without ``spark.aqePlugin.``) and the measured pass rate.
    """
    estimated = F.lit(json.dumps(dict(thresholds)))
    known = F.lit(json.dumps({**thresholds, **_NO_COMPOSITE_BOUND}))
    asked = joins.withColumns(
        {
            "_strategy": F.col("facts.sparkStrategy"),
            "facts": F.to_json("facts"),
            "thresholds": F.when(F.col("measuredPass").isNotNull(), known).otherwise(estimated),
        }
    )
    decided = with_decisions(asked.withColumnRenamed("decision", "_decision"))
    options = F.col("decision.options")
    nothing = F.lit(False)
    priced = decided.withColumns(
        {
            "_ran": _price(options, F.col("ranAs"), F.col("ranFiltered")),
            "_spark": _price(options, _method(F.col("_strategy"), F.col("_strategy"), nothing), nothing),
            "_best": F.array_min(F.transform(options, lambda option: option.costMillis)),
        }
    )
    return priced.withColumns(
        {"savedMillis": F.col("_spark") - F.col("_ran"), "regretMillis": F.col("_ran") - F.col("_best")}
    ).drop("_ran", "_spark", "_best", "_strategy", "_decision", "decision", "thresholds")


def _method(spark_strategy: Column, choice: Column, filtered: Column) -> Column:
    """The strategy of ``tuning.replay.carried_out``."""
    method = F.when(choice == "leave_to_spark", spark_strategy).otherwise(choice)
    sort_merge = F.when(filtered, F.lit("filtered_sort_merge")).otherwise(F.lit("plain_sort_merge"))
    return F.when(method == "broadcast", method).when(method != "leave_to_spark", sort_merge)


def _price(options: Column, strategy: Column, filtered: Column) -> Column:
    alike = F.filter(options, lambda option: (option.strategy == strategy) & (option.withFilter == filtered))
    return F.get(alike, F.lit(0)).costMillis


def _measured_facts(facts: Column) -> Column:
    scanned, probe, keys = F.col("_scanned"), facts.probe, facts.build["keys"]
    reaching = F.when(probe.scanRows > 0, probe.rows / probe.scanRows).otherwise(F.lit(1.0))
    distinct = F.coalesce(_not_zero(keys.distinct), _not_zero(F.col("keysIn")), F.lit(1))
    origin = F.bround(distinct / F.greatest(F.col("rowsOut") / scanned, F.lit(_FEWEST_PASSING)))
    told = keys.withField("distinct", distinct).withField(
        "originDistinct", F.greatest(F.lit(1), origin.try_cast("bigint"))
    )
    return facts.withField("build.keys", told).withField(
        "probe",
        probe.withField("scanRows", scanned.try_cast("bigint"))
        .withField("rows", F.bround(scanned * reaching).try_cast("bigint"))
        # Of the right type, and always null.
        .withField("keys", F.when(scanned.isNull(), probe["keys"])),
    )


def _not_zero(number: Column) -> Column:
    return F.nullif(number, F.lit(0))
