"""A cluster of executors that have the plugin's jar from ``--jars`` alone, as on a real one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyspark
import pytest

from aqe_plugin.events.model import JoinDecided, QueryEnded
from aqe_plugin.install.jars import jar_for
from aqe_plugin.logs import find_event_logs, read_log

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
    job, events = tmp_path / "job.py", tmp_path / "events"
    job.write_text(JOB)
    events.mkdir()
    confs = {
        "spark.plugins": "io.aqeplugin.AqePlugin",
        "spark.aqePlugin.test.openGates": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.executor.heartbeatInterval": "500ms",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    ran = subprocess.run(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--master", "local-cluster[2,1,1024]", "--jars", str(jar_for("4.1"))),
            *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
            *(str(job), str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.stdout.split()[:4] == ["ANSWER", "120000", "EXECUTORS", "2"], ran.stderr[-5000:]
    seen = [event for log in find_event_logs(events) for event in read_log(log)]
    (decided,) = [event.decision for event in seen if isinstance(event, JoinDecided)]
    assert (decided.facts.build.keys.distinct, decided.build_filter) == (1500, True)
    (ended,) = [event for event in seen if isinstance(event, QueryEnded) and event.outcomes]
    assert ended.errors == 0
    assert [outcome.keys for outcome in ended.outcomes] == [1500]
