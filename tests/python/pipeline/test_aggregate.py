"""``aggregate`` and the page of ``report``."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aqe_plugin.events.savings import savings_of
from aqe_plugin.pipeline.aggregate import aggregate
from aqe_plugin.pipeline.report import both_ways, report, summary_of
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.render.savings import head_of
from aqe_plugin.tuning.groups import current
from opened_page import opened
from pipeline_logs import read

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def aggregated(spark: SparkSession, tables: str) -> str:
    aggregate(spark, tables, current({}))
    return tables


def test_aggregates_are_the_sums_of_the_queries(spark: SparkSession, logs: Path, aggregated: str) -> None:
    house = Warehouse(spark, aggregated)
    days = house.read("fingerprint_days", house.commits("aggregate")[-1:]).drop("run").collect()
    stories = [story for story in read(logs) if story.joins or story.ended is None or story.ended.errors]
    finished = [story for story in stories if story.ended is not None and story.error is None]
    outcomes = [one for story in stories for join in story.joins for one in join.outcomes if one.kind != "pass_all"]
    assert sum(day.queries for day in days) == len(stories)
    assert sum(day.failed for day in days) == sum(story.error is not None for story in stories)
    assert sum(day.totalMillis for day in days) == sum(story.duration_millis or 0 for story in finished)
    assert sum(day.joins for day in days) == sum(len(story.joins) for story in stories)
    assert sum(day.rowsIn for day in days) == sum(one.rows_in for one in outcomes)
    assert sum(day.rowsOut for day in days) == sum(one.rows_out for one in outcomes)
    assert sum(day.savedMillis for day in days) == pytest.approx(savings_of(stories).applied.net_millis)
    assert all(day.regretMillis >= 0 for day in days)
    assert any(day.regretMillis > 0 for day in days)


def test_a_fingerprint_is_compared_when_it_ran_both_ways_often_enough(spark: SparkSession) -> None:
    rows = [("a", "apply", 6, 100.0), ("a", "observe", 5, 300.0), ("b", "apply", 4, 1.0), ("b", "observe", 9, 9.0)]
    frame = spark.createDataFrame(rows, "fingerprint string, mode string, queries int, medianMillis double")
    days = frame.selectExpr("*", "fingerprint AS joinConditions", "0 AS failed", "0 AS running")
    (found,) = both_ways(days).collect()
    assert (found.fingerprint, found.applied, found.observed, found.savedMillis) == ("a", 6, 5, 6 * 200.0)


def test_the_savings_of_the_tables_are_those_of_explain(spark: SparkSession, logs: Path, aggregated: str) -> None:
    from_tables, from_logs = summary_of(Warehouse(spark, aggregated)).savings, savings_of(read(logs))
    assert astuple(from_tables.applied) == pytest.approx(astuple(from_logs.applied))
    assert astuple(from_tables.observed) == pytest.approx(astuple(from_logs.observed))
    # Of queries that saved as much, those are kept that came first, and logs come in another order.
    saved = [sorted((one.saved_millis, one.millis) for one in savings.queries) for savings in (from_tables, from_logs)]
    assert saved[0] == saved[1]
    same = replace(from_tables, applied=from_logs.applied, observed=from_logs.observed, queries=from_logs.queries)
    assert same == from_logs
    assert from_logs.applied.saved_millis > 1000


def test_the_page_loads_nothing_and_hostile_text_stays_text(
    spark: SparkSession, logs: Path, aggregated: str, tmp_path: Path
) -> None:
    output = tmp_path / "page.html"
    report(spark, aggregated, output)
    page = opened(output.read_text(encoding="utf-8"))
    assert page.unclosed == []
    assert not page.tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert page.loads == []
    assert page.tags >= {"table", "meter"}
    assert aggregated in page.text
    head = head_of(savings_of(read(logs)))
    for text in (
        head.heading,
        *(value for row in head.rows for value in row),
        "Saved and lost by day",
        "the line is not whole JSON",
        "Joins with most regret",
    ):
        assert text in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
