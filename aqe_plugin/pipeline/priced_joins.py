"""Decided joins with their outcomes, and the prices of other options, by the plugin's own decision function.

Outcomes are read as in :mod:`aqe_plugin.tuning.runs`; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from aqe_plugin.events.filtered_rows import FILTERS_WITHOUT_EFFECT
from aqe_plugin.pipeline.fingerprint import join_condition
from aqe_plugin.tuning.run_scales import NO_COMPOSITE_BOUND
from aqe_plugin.tuning.runs import MIN_PASS_RATE
from aqe_plugin.tuning.spark_replay import with_decisions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def joined_outcomes(decisions: DataFrame, outcomes: DataFrame) -> DataFrame:
    """``decisions`` with the sums of each join's filters: ``rowsIn, rowsOut, unchecked, keysIn, worked``, and whether
    filters of other joins checked rows of the same tables, ``besideOthers``."""
    worked = ~F.col("kind").isin(*FILTERS_WITHOUT_EFFECT)
    of_table = Window.partitionBy("log", "executionId", "table")
    joins_of_table = F.size(F.collect_set(F.when(worked, F.col("joinId"))).over(of_table))
    sums = (
        outcomes.withColumn("beside", worked & (joins_of_table > 1))
        .groupBy("log", "executionId", "joinId")
        .agg(
            F.sum(F.when(worked, F.col("rowsIn").cast("double"))).alias("rowsIn"),
            F.sum(F.when(worked, F.col("rowsOut").cast("double"))).alias("rowsOut"),
            F.sum(F.when(worked, F.col("rowsUnchecked").cast("double"))).alias("unchecked"),
            F.max(F.when(worked, F.col("keys"))).alias("keysIn"),
            F.coalesce(F.max(worked), F.lit(False)).alias("worked"),
            F.coalesce(F.max("beside"), F.lit(False)).alias("besideOthers"),
        )
    )
    named = decisions.withColumn("joinId", F.col("decision.facts.joinId"))
    joined = named.join(sums, ["log", "executionId", "joinId"], "left")
    return joined.withColumn("worked", F.coalesce("worked", F.lit(False)))


def measured_joins(joined: DataFrame) -> DataFrame:
    """One row for each join: ``join``, the option that ran (``ranAs``, ``ranFiltered``), whether it ``waited``, and
    where a filter measured a pass rate, ``predictedPass``, ``measuredPass``, and ``facts`` with the measured rate.

    A rate is that of ``JoinStory.measured``.
    """
    facts, decision = F.col("decision.facts"), F.col("decision")
    applied = F.col("mode") == "apply"
    choice = F.when(applied, decision.choice).otherwise(facts.sparkStrategy)
    filtered = applied & decision.buildFilter & F.col("worked")
    measured = F.coalesce(F.col("rowsIn"), F.lit(0.0)) > 0
    read = F.col("rowsIn") + F.col("unchecked")
    scanned = F.greatest(read, facts.probe.scanRows.cast("double"))
    passed = F.col("rowsOut") + F.col("unchecked")
    passed = F.when(F.col("besideOthers"), F.bround(F.try_divide(passed, read) * scanned)).otherwise(passed)
    named = joined.withColumns(
        {
            "join": join_condition(facts.kind, facts["keys"]),
            "ranAs": _method(facts.sparkStrategy, choice, filtered),
            "ranFiltered": filtered,
            "predictedPass": F.when(measured, decision.passRate),
            "measuredPass": F.when(measured, passed / scanned),
            "waited": applied & (F.coalesce(facts.waiting.waits, F.lit(False)) | facts.waiting.outcome.isNotNull()),
            "waitMillis": facts.waiting.waitedMillis,
            "_scanned": F.when(measured, scanned),
            "_passed": passed,
        }
    )
    return named.withColumn("facts", F.when(measured, _measured_facts(facts)).otherwise(facts)).drop(
        "_scanned", "_passed"
    )


def with_prices(joins: DataFrame, thresholds: Mapping[str, float]) -> DataFrame:
    """:func:`measured_joins` with ``savedMillis``, as :func:`aqe_plugin.events.saved_price.saved_millis` says, and
    ``regretMillis``, the price of the option that ran less that of the cheapest; null where one has no price.

    Prices are the plugin's own, at ``thresholds`` (by key without ``spark.aqePlugin.``) and the measured pass rate.
    """
    estimated = F.lit(json.dumps(dict(thresholds)))
    known = F.lit(json.dumps({**thresholds, **NO_COMPOSITE_BOUND}))
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
    """The strategy that ``tuning.replay.carried_out`` gives."""
    method = F.when(choice == "leave_to_spark", spark_strategy).otherwise(choice)
    sort_merge = F.when(filtered, F.lit("filtered_sort_merge")).otherwise(F.lit("plain_sort_merge"))
    return F.when(method.isin("broadcast", "shuffled_hash"), method).when(method != "leave_to_spark", sort_merge)


def _price(options: Column, strategy: Column, filtered: Column) -> Column:
    alike = F.filter(options, lambda option: (option.strategy == strategy) & (option.withFilter == filtered))
    return F.get(alike, F.lit(0)).costMillis


def _measured_facts(facts: Column) -> Column:
    scanned, probe, keys = F.col("_scanned"), facts.probe, facts.build["keys"]
    reaching = F.when(probe.scanRows > 0, probe.rows / probe.scanRows).otherwise(F.lit(1.0))
    distinct = F.coalesce(_not_zero(keys.distinct), _not_zero(F.col("keysIn")), F.lit(1))
    origin = F.bround(distinct / F.greatest(F.col("_passed") / scanned, F.lit(MIN_PASS_RATE)))
    measured = keys.withField("distinct", distinct).withField(
        "originDistinct", F.greatest(F.lit(1), origin.try_cast("bigint"))
    )
    return facts.withField("build.keys", measured).withField(
        "probe",
        probe.withField("scanRows", scanned.try_cast("bigint"))
        .withField("rows", F.bround(scanned * reaching).try_cast("bigint"))
        # Always null, but of the right type.
        .withField("keys", F.when(scanned.isNull(), probe["keys"])),
    )


def _not_zero(number: Column) -> Column:
    return F.nullif(number, F.lit(0))
