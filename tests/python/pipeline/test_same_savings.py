"""A saving is the same in the pipeline, which asks the plugin for prices, and in ``explain``, which has the events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.json_values import decode, decode_text, encode
from aqe_plugin.events.model import JoinDecision, JoinFacts
from aqe_plugin.events.saved_price import prices_at, saved_millis
from aqe_plugin.pipeline.priced_joins import joined_outcomes, measured_joins, with_prices
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.run_scales import NO_COMPOSITE_BOUND
from aqe_plugin.tuning.runs import run_of
from aqe_plugin.tuning.spark_replay import SparkReplay
from pipeline_logs import read

pytestmark = pytest.mark.spark

DEFAULTS = current({})
KNOWN = {**DEFAULTS, **NO_COMPOSITE_BOUND}


def test_the_saving_of_columns_is_that_of_values(spark: SparkSession, tables: str) -> None:
    house = Warehouse(spark, tables)
    joined = joined_outcomes(house.current("decisions"), house.current("outcomes"))
    rows = with_prices(measured_joins(joined), DEFAULTS).collect()
    facts = [decode(JoinFacts, json.loads(row.facts)) for row in rows]
    replayed = SparkReplay(spark)(facts, [DEFAULTS, KNOWN])
    compared = 0
    for row, one, *answers in zip(rows, facts, *replayed, strict=True):
        prices = answers[row.measuredPass is not None].prices
        option = JoinOption(row.ranAs, row.ranFiltered) if row.ranAs else None
        saved = saved_millis(prices, one.spark_strategy, option)
        assert (row.savedMillis or 0) == pytest.approx(saved or 0), (row.log, row.executionId, row.joinId)
        compared += bool(saved)
    assert compared > 30


def test_a_price_at_a_measured_pass_rate_is_nearly_that_of_the_plugin(spark: SparkSession, logs: Path) -> None:
    runs = (run for story in read(logs) if (run := run_of(story)) is not None)
    joins = [join for run in runs for join in run.joins if join.pass_rates is not None]
    asked = [(one, known) for join in joins for one, known in ((join.facts, DEFAULTS), (join.measured, KNOWN))]
    rows = [(number, json.dumps(encode(one)), json.dumps(known)) for number, (one, known) in enumerate(asked)]
    frame = spark.createDataFrame(rows, "number int, facts string, thresholds string")
    answers = frame.select("number", F.expr("aqe_decide(facts, thresholds)").alias("decision")).orderBy("number")
    decisions = [decode_text(JoinDecision, row.decision.encode()) for row in answers.collect()]
    compared = 0
    for join, expected, measured in zip(joins, decisions[::2], decisions[1::2], strict=True):
        found, own = prices_at(expected, measured.pass_rate), prices_at(measured, None)
        # Where the scan had other rows than expected, all prices differ.
        if join.measured.probe.scan_rows <= 1.01 * join.facts.probe.scan_rows:
            for option in found.keys() & own.keys():
                assert found[option] == pytest.approx(own[option], rel=0.02, abs=0.02 * max(own.values())), option
                compared += 1
    assert compared > 30
