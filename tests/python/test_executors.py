"""A cluster of executors that have the plugin's jar from ``--jars`` alone, as on a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqe_plugin.events.model import JoinDecided, QueryEnded
from submitted_jobs import submit_with_the_plugin

pytestmark = pytest.mark.spark

# A slow build side, so that executors report to the driver while its keys are being sketched.
JOB = """
import sys
import time
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
sales, items = (f"{sys.argv[1]}/{table}" for table in ("sales", "items"))
spark.range(400000).selectExpr("id % 5000 AS item").repartition(4).write.parquet(sales)
spark.range(5000).selectExpr("id AS item", "id AS weight").repartition(3).write.parquet(items)
nap = F.udf(lambda weight: time.sleep(0.002) is None, "boolean")
chosen = spark.read.parquet(items).where("item < 1500").where(nap("weight"))
print("ANSWER", spark.read.parquet(sales).join(chosen, "item").count())
print("EXECUTORS", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
spark.stop()
"""


def test_executors_sketch_the_keys_of_a_build_side_for_the_driver(tmp_path: Path) -> None:
    confs = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.aqePlugin.test.openGates": "true",
        "spark.executor.heartbeatInterval": "500ms",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "4",
    }
    job = submit_with_the_plugin(tmp_path, JOB, confs)
    assert job.stdout.split()[:4] == ["ANSWER", "120000", "EXECUTORS", "2"], job.stderr[-5000:]
    events = job.events()
    (decided,) = [event.decision for event in events if isinstance(event, JoinDecided)]
    assert (decided.facts.build.keys.distinct, decided.build_filter) == (1500, True)
    (ended,) = [event for event in events if isinstance(event, QueryEnded) and event.outcomes]
    assert ended.errors == 0
    assert [outcome.keys for outcome in ended.outcomes] == [1500]
