"""The classes of the plugin that a driver loads before the first join that is worth a look."""

from __future__ import annotations

from pathlib import Path

import pytest

from submitted_jobs import submit_with_the_plugin

pytestmark = pytest.mark.spark

JOB = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

spark = SparkSession.builder.getOrCreate()

def loaded(phase):
    Path(sys.argv[1], phase).write_text(Path(sys.argv[1], "loaded").read_text())

spark.range(1000).selectExpr("id AS k", "id % 7 AS v").write.parquet(f"{sys.argv[1]}/few")
few = spark.read.parquet(f"{sys.argv[1]}/few")
few.groupBy("v").count().collect()
loaded("without-a-join")
few.alias("a").join(few.alias("b").where("b.v = 3"), "k").groupBy("a.v").count().collect()
spark.sql("SELECT count(*) FROM aqe_metrics()").collect()
loaded("not-looked-at")
for table in "decisions", "limits", "predicates":
    spark.sql(f"SELECT count(*) FROM aqe_{table}()").collect()
spark.conf.set("spark.aqePlugin.cost.lookNanosPerJoin", "0")
less = expr("a.k = b.k AND a.v < b.v")
few.alias("a").join(few.alias("b").where("b.v = 3"), less).groupBy("a.v").count().collect()
loaded("all")
spark.stop()
"""

# What only queries on the plugin's tables need; what only a join that may be decided needs.
COLUMNS = {"tell.DecisionColumns$", "tell.LimitColumns$", "tell.PredicateColumns$"}
JOINS = {"observe.JoinFinder$", "decide.DecideJoin$"}
LOOKS = {"rules.WantedFilters", "rules.JoinEstimator", "place.JoinSite$", "storage.KnownTables$", "infer.Inference"}


def test_a_session_loads_what_its_queries_need(tmp_path: Path) -> None:
    log = f"-Xlog:class+load=info:file={tmp_path}/loaded:none:filesize=0"
    confs = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": log, "spark.aqePlugin.mode": "apply"}
    job = submit_with_the_plugin(tmp_path, JOB, confs)
    assert (tmp_path / "all").exists(), job.stderr[-5000:]
    before = _loaded(tmp_path / "without-a-join")
    assert "rules.ReadFewerFiles" in before
    assert not before & (COLUMNS | JOINS | LOOKS)
    passed_by = _loaded(tmp_path / "not-looked-at")
    assert passed_by >= JOINS
    assert not passed_by & (COLUMNS | LOOKS)
    # Only names that exist can be missing.
    assert _loaded(tmp_path / "all") >= COLUMNS | LOOKS


def _loaded(log: Path) -> set[str]:
    names = (line.split(" ", 1)[0] for line in log.read_text().splitlines())
    return {name.removeprefix("io.aqeplugin.") for name in names if name.startswith("io.aqeplugin.")}
