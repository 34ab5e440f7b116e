"""Jobs on a real YARN with the plugin, as docs/try.md and deploy/yarn say; run by `make test-yarn`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from tests.hadoop.servers import Yarn, yarn
from tests.programs import program_of

pytestmark = pytest.mark.spark

_ROOT = Path(__file__).resolve().parents[2]
_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
JOB = """
import sys
from pyspark.sql import SparkSession

spark, folder = SparkSession.builder.getOrCreate(), sys.argv[1]
spark.range(400_000).selectExpr("id % 20000 AS item", "id AS amount").write.parquet(f"{folder}/sales")
spark.range(20_000).selectExpr("id AS item", "concat('n', id) AS name").write.parquet(f"{folder}/items")
items = spark.read.parquet(f"{folder}/items").where("name LIKE '%77'")
counted = spark.read.parquet(f"{folder}/sales").join(items, "item").count()
spark.sparkContext.parallelize([counted], 1).saveAsTextFile(f"{folder}/counted")
spark.stop()
"""
COMPARED = """
CREATE TEMP VIEW sales AS SELECT id % 20000 AS item, id AS amount FROM range(400000);
CREATE TEMP VIEW items AS SELECT id AS item, concat('n', id) AS name FROM range(20000);
SELECT name, sum(amount) AS amount FROM sales JOIN items USING (item) WHERE name LIKE '%77' GROUP BY name;
"""
# What this machine and this small job need, and has nothing to do with how the plugin gets in.
_SMALL = {
    "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent}/jars/*",
    "spark.pyspark.python": sys.executable,
    **{f"spark.{where}.SPARK_LOCAL_IP": "127.0.0.1" for where in ("yarn.appMasterEnv", "executorEnv")},
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "10k",
    "spark.aqePlugin.force": "*=filtered_sort_merge",
}


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    servers = program_of(_ROOT / "project" / "minicluster", os.environ)
    with yarn(servers, _ROOT / ".build" / "yarn", tmp_path_factory.mktemp("yarn")) as started:
        terminal: Any = request.config.pluginmanager.get_plugin("terminalreporter")
        terminal.write_line(f"YARN and HDFS {started.version}, Spark {pyspark.__version__}")
        yield started


class Submitted:
    """Submits the job to a cluster and reads what it logged, each from a process with the cluster's conf."""

    def __init__(self, cluster: Yarn, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        (folder / "job.py").write_text(JOB)
        (folder / "conf").mkdir()
        self.defaults = folder / "conf" / "spark-defaults.conf"

    def job(self, mode: str, name: str, *options: str) -> None:
        """Submits it in a deploy mode, and makes sure that its answer is right."""
        confs = [word for key, value in _SMALL.items() for word in ("--conf", f"{key}={value}")]
        command = [str(_SUBMIT), "--master", "yarn", "--deploy-mode", mode, *confs, *options]
        self._run([*command, str(self._folder / "job.py"), f"hdfs:///jobs/{name}"])
        assert self._cluster.files.text_in(f"/jobs/{name}/counted") == "4000\n"

    def explained(self, folder: str) -> tuple[str, str]:
        """What `explain` prints, and what it says beside."""
        ran = self._run([sys.executable, "-m", "aqe_plugin", "explain", folder])
        return ran.stdout, ran.stderr

    def compared(self, query: str, runs: int) -> str:
        """What `compare` prints of a query that runs on the cluster."""
        file = self._folder / "query.sql"
        file.write_text(query)
        confs = [
            word for key, value in {"spark.master": "yarn", **_SMALL}.items() for word in ("--conf", f"{key}={value}")
        ]
        command = [sys.executable, "-m", "aqe_plugin", "compare", str(file), "--runs", str(runs), *confs]
        return self._run(command).stdout

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "HADOOP_CONF_DIR": str(self._cluster.conf),
            "SPARK_CONF_DIR": str(self.defaults.parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "COLUMNS": "120",
        }
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
        assert ran.returncode == 0, ran.stderr[-6000:]
        return ran


@pytest.fixture
def submitted(cluster: Yarn, tmp_path: Path) -> Submitted:
    return Submitted(cluster, tmp_path)


def logging(folder: str, *more: str) -> tuple[str, ...]:
    """The options of the page: the plugin in a mode, and a log."""
    keys = (f"spark.plugins={PLUGIN_CLASS}", "spark.eventLog.enabled=true", f"spark.eventLog.dir={folder}", *more)
    return tuple(word for key in keys for word in ("--conf", key))


_REMOVED = "396.0 k of 400.0 k rows (99 %) that filters checked were removed"


def test_a_job_in_cluster_mode_is_observed_and_then_changed(cluster: Yarn, submitted: Submitted) -> None:
    jar = cluster.files.put(jar_for(pyspark.__version__), "/apps/aqe-plugin")
    for mode, said in (("observe", "1 join decided, 1 would be changed"), ("apply", _REMOVED)):
        cluster.files.make(f"/{mode}")
        options = ("--jars", jar, *logging(f"hdfs:///{mode}", f"spark.aqePlugin.mode={mode}"))
        submitted.job("cluster", mode, *options)
        assert said in submitted.explained(f"hdfs:///{mode}")[0]


def test_the_conf_for_a_whole_cluster_serves_both_deploy_modes_and_a_job_without_it_is_named(
    cluster: Yarn, submitted: Submitted, tmp_path: Path
) -> None:
    cluster.files.put(jar_for(pyspark.__version__), "/apps/aqe-plugin")
    cluster.files.make("/var/log/spark-events")
    submitted.defaults.write_bytes((_ROOT / "deploy" / "yarn" / "spark-defaults.conf").read_bytes())
    submitted.job("client", "observed")
    submitted.job("cluster", "changed", "--conf", "spark.aqePlugin.mode=apply")
    own = tmp_path / "own.conf"
    own.write_text("spark.eventLog.enabled true\nspark.eventLog.dir hdfs:///var/log/spark-events\n")
    submitted.job("cluster", "unloaded", "--properties-file", str(own))
    head, said = submitted.explained("hdfs:///var/log/spark-events")
    assert "2 queries of 2 applications: 2 joins decided, 1 changed" in head
    assert _REMOVED in head
    assert "it did not load the plugin (it has no spark.plugins)" in said
    assert "--properties-file" in said


def test_a_jar_of_the_machine_that_submits_reaches_driver_and_executors(cluster: Yarn, submitted: Submitted) -> None:
    cluster.files.make("/uploaded")
    options = ("--jars", str(jar_for(pyspark.__version__)), *logging("hdfs:///uploaded", "spark.aqePlugin.mode=apply"))
    submitted.job("cluster", "uploaded", *options)
    assert _REMOVED in submitted.explained("hdfs:///uploaded")[0]


def test_compare_runs_a_query_on_the_cluster(cluster: Yarn, submitted: Submitted) -> None:
    said = submitted.compared(COMPARED, 1)
    assert "Rows equal: 200 rows" in said
    assert "1 of 1 joins changed" in said
