"""A cluster of executors that have the plugin's jar from ``--jars`` alone, as on a real one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from aqe_plugin.events.model import JoinDecided, QueryEnded
from submitted_jobs import submit_with_the_plugin
from tests.extent import only_in_test_all

pytestmark = pytest.mark.spark

# A slow build side, so that executors report to the driver while its keys are being sketched.
JOB = """
import os
import signal
import sys
import threading
import time
from pathlib import Path
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
sales, items = (f"{sys.argv[1]}/{table}" for table in ("sales", "items"))
spark.range(400000).selectExpr("id % 5000 AS item").repartition(4).write.parquet(sales)
spark.range(5000).selectExpr("id AS item", "id AS weight").repartition(PARTS).write.parquet(items)
LOSS
nap = F.udf(lambda weight: time.sleep(0.002) is None, "boolean")
chosen = spark.read.parquet(items).where("item < 1500").where(nap("weight"))
print("ANSWER", spark.read.parquet(sales).join(chosen, "item").count())
print("EXECUTORS", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
spark.stop()
"""


# Kills one executor when it has finished a task of the build side, which the other has to run again.
LOSS = """
def lose_an_executor():
    tracker, parts = spark.sparkContext.statusTracker(), 8
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(one and one.numTasks == parts and 3 <= one.numCompletedTasks < parts for one in stages):
            break
        time.sleep(0.01)
    application = spark.sparkContext.applicationId
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\\0")
        except OSError:
            continue
        if application in words and words[words.index("--executor-id") + 1] == "0":
            os.kill(int(process.name), signal.SIGKILL)
"""


def confs(**more: str) -> dict[str, str]:
    return {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.aqePlugin.test.openGates": "true",
        "spark.executor.heartbeatInterval": "500ms",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "4",
        **more,
    }


@only_in_test_all
def test_executors_sketch_the_keys_of_a_build_side_for_the_driver(tmp_path: Path) -> None:
    job = submit_with_the_plugin(tmp_path, JOB.replace("LOSS", "").replace("PARTS", "3"), confs())
    assert job.stdout.split()[:4] == ["ANSWER", "120000", "EXECUTORS", "2"], job.stderr[-5000:]
    events = job.events()
    (decided,) = [event.decision for event in events if isinstance(event, JoinDecided)]
    assert (decided.facts.build.keys.distinct, decided.build_filter) == (1500, True)
    (ended,) = [event for event in events if isinstance(event, QueryEnded) and event.outcomes]
    assert ended.errors == 0
    assert [outcome.keys for outcome in ended.outcomes] == [1500]


def test_a_build_side_that_lost_an_executor_has_each_row_once(tmp_path: Path) -> None:
    loss = f"{LOSS}\nthreading.Thread(target=lose_an_executor, daemon=True).start()"
    script = JOB.replace("LOSS", loss).replace("PARTS", "8")
    more = {
        "spark.sql.files.minPartitionNum": "8",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    job = submit_with_the_plugin(tmp_path, script, confs(**more))
    assert job.stdout.split()[:2] == ["ANSWER", "120000"], job.stderr[-5000:]
    (decided,) = [event.decision for event in job.events() if isinstance(event, JoinDecided)]
    build = decided.facts.build
    assert (build.rows, build.keys.distinct, decided.build_filter) == (1500, 1500, True)
    assert tasks_that_ran_twice(job.event_log_folder), "the test lost no finished task"


def tasks_that_ran_twice(event_logs: Path) -> list[tuple[int, int]]:
    """Stages and partitions of which more than one task succeeded."""
    (log,) = event_logs.iterdir()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ended = Counter(
        (event["Stage ID"], event["Task Info"]["Index"])
        for event in events
        if event["Event"] == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "Success"
    )
    return [task for task, times in ended.items() if times > 1]
