"""A driver of 1 GB, which a broadcast of long computed strings would kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqe_plugin.events.model import JoinDecided
from submitted_jobs import submit_with_the_plugin
from tests.extent import only_in_test_all

pytestmark = pytest.mark.spark

RETURNS = 287_514
"""Rows of ``store_returns`` at scale 1; ``store_sales`` has ten times as many."""

AMOUNT_CHARACTERS = 6 * 900

# The build side's stage is small; the strings that are computed above it are not.
JOB = f"""
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
returns, sales = (f"{{sys.argv[1]}}/{{table}}" for table in ("store_returns", "store_sales"))
spark.range({RETURNS}).selectExpr(
    "id % 18000 AS sr_item_sk",
    "id AS sr_ticket_number",
    "CAST(100 + id % 900 AS decimal(7, 2)) AS sr_return_amt",
).write.parquet(returns)
spark.range({RETURNS} * 10).selectExpr(
    "(id DIV 10 + id % 10) % 18000 AS ss_item_sk",
    "id DIV 10 AS ss_ticket_number",
    "id AS ss_quantity",
).write.parquet(sales)
spark.read.parquet(returns).createOrReplaceTempView("store_returns")
spark.read.parquet(sales).createOrReplaceTempView("store_sales")
print("ANSWER", *spark.sql('''
    SELECT count(*), sum(length(amount))
    FROM store_sales
    JOIN (
        SELECT sr_item_sk, sr_ticket_number, repeat(max(CAST(sr_return_amt AS string)), 900) AS amount
        FROM store_returns GROUP BY sr_item_sk, sr_ticket_number
    ) ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
''').head())
spark.stop()
"""


@only_in_test_all
def test_long_computed_strings_are_not_broadcast_on_a_small_driver(tmp_path: Path) -> None:
    confs = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.aqePlugin.mode": "apply",
        # Files this small would have Spark itself broadcast them before the query runs.
        "spark.sql.autoBroadcastJoinThreshold": "1m",
        "spark.aqePlugin.filter.minProbeRows": "1000000000000",
    }
    job = submit_with_the_plugin(tmp_path, JOB, confs)
    assert f"ANSWER {RETURNS} {RETURNS * AMOUNT_CHARACTERS}" in job.stdout, job.stderr[-5000:]
    decided = [event.decision for event in job.events() if isinstance(event, JoinDecided)]
    reasons = {option.reason.code for decision in decided for option in decision.options}
    assert "BROADCAST_WIDTH" in reasons
