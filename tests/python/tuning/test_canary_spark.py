"""A canary in real applications: ``spark-submit`` through the conf of a ``rollout``, judged by their event logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aqe_plugin.conf.keys import CANARY, PREFIX
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.machine.pyspark import import_pyspark
from aqe_plugin.tuning.history import history_of, in_arm
from commands import Answer
from drawing import draws
from samples import query_lines, write_log
from tests.extent import only_in_test_all

SHARE = 0.5
DRAWN, NOT_DRAWN = "application_1763712000000_0002", "spark-9f4c1c2de9c1497cbc35e3b7bd2d84e5"
MIN_PROBE_ROWS = f"{PREFIX}filter.minProbeRows"
QUERY = "SELECT sum(x) FROM (SELECT v / (w - {0}) AS x FROM fact JOIN dimension ON k = id WHERE w = 7)"
# Each row that the join puts out takes 20 seconds.
SLOW_QUERY = QUERY.replace("AS x", "+ length(reflect('java.lang.Thread', 'sleep', 20000L)) AS x")
DIVIDES_BY_ZERO, CANCELLED = 7, 0
APPLICATION = f"""\
import sys
import threading

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("nightly").getOrCreate()
spark.sql("SELECT id % 100 AS k, id AS v FROM range(5000)").write.parquet(sys.argv[1] + "/fact")
spark.sql("SELECT id, id % 10 AS w FROM range(100)").write.parquet(sys.argv[1] + "/dimension")
for table in ("fact", "dimension"):
    spark.read.parquet(sys.argv[1] + "/" + table).createOrReplaceTempView(table)
for number in map(int, sys.argv[2:]):
    if number == {CANCELLED}:
        threading.Timer(8, spark.sparkContext.cancelAllJobs).start()
    try:
        spark.sql(({SLOW_QUERY!r} if number == {CANCELLED} else {QUERY!r}).format(number)).collect()
    except Exception as error:
        assert ("DIVIDE_BY_ZERO" if number == {DIVIDES_BY_ZERO} else "cancelled") in str(error), error
    else:
        assert number not in ({DIVIDES_BY_ZERO}, {CANCELLED})
spark.stop()
"""


def submit(folder: Path, target: Path, application: str, *numbers: int) -> None:
    """Runs the query with each of ``numbers`` in an application of that id."""
    script, data = folder / "nightly.py", folder / application
    script.write_text(APPLICATION)
    home = Path(str(import_pyspark().__file__)).parent
    confs = {
        "spark.test.appId": application,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (data / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }
    words = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    command = [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--properties-file", str(target), *words]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(
        [*command, str(script), str(data), *map(str, numbers)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    # Spark sends what Python says to standard output.
    assert ran.returncode == 0, ran.stdout


@only_in_test_all
@pytest.mark.spark
def test_events_of_real_applications_name_the_arm_and_tell_failed_from_cancelled(
    tmp_path: Path, answer: Answer
) -> None:
    target, events = tmp_path / "spark-defaults.conf", tmp_path / "events"
    events.mkdir()
    write_log(events / "before", query_lines())
    target.write_text("# ours\nspark.sql.ansi.enabled true\n")
    assert answer("install", "--target", str(target), "--mode", "apply", "--yes")[0] == 0
    words = ("rollout", str(events), "--target", str(target), "--format", "json", "--yes")
    asked = ("--canary-share", str(SHARE), "--set", f"{MIN_PROBE_ROWS}=0")
    code, out, err = answer(*words, *asked)
    assert (code, json.loads(out)["ring"]) == (0, "canary"), err
    assert CANARY in target.read_text()

    assert draws(DRAWN, SHARE)
    assert not draws(NOT_DRAWN, SHARE)
    submit(tmp_path, target, DRAWN, DIVIDES_BY_ZERO, 1)
    submit(tmp_path, target, NOT_DRAWN, CANCELLED, 2)

    told = [story for story in read_queries(events) if story.application != "app-1"]
    assert {(story.application, story.arm) for story in told} == {
        (DRAWN, "canary"),
        (NOT_DRAWN, "control"),
    }
    gates = {
        story.application: {join.decision.filter_reason.conf_key for join in story.joins if story.error is None}
        for story in told
    }
    assert MIN_PROBE_ROWS in gates[NOT_DRAWN]
    assert MIN_PROBE_ROWS not in gates[DRAWN]
    history = history_of(told)
    sides = [in_arm(history, arm) for arm in ("canary", "control")]
    assert [[one.cancelled for one in side.failures] for side in sides] == [[False], [True]]
    assert [len(side.runs) for side in sides] == [1, 1]

    code, out, err = answer(*words)
    found = json.loads(out)
    assert (code, found["ring"], found["why"][:17]) == (0, "canary", "undecided so far:"), err
    (ledger,) = tmp_path.glob(".aqe-plugin/*/rollouts.jsonl")
    (pair,) = json.loads(ledger.read_text().splitlines()[-1])["pairs"]
    counts = [(pair[side]["failed"], pair[side]["cancelled"]) for side in ("changed", "unchanged")]
    assert counts == [(1, 0), (0, 1)]
