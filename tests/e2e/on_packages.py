"""The plugin in the newest patch release of each Spark line, started from its PySpark package: ``make test-lines``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aqe_plugin.install.jars import jar_for

pytestmark = pytest.mark.spark

_ROOT = Path(__file__).resolve().parents[2]
_JVMS = Path("/usr/lib/jvm")

JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(40000).selectExpr("id", "id % 5000 AS item").write.parquet("sales")
spark.range(5000).selectExpr("id AS item", "id AS weight").write.parquet("items")

def rows(mode):
    spark.conf.set("spark.aqePlugin.mode", mode)
    items = spark.read.parquet("items").where("weight < 500")
    return sorted(map(tuple, spark.read.parquet("sales").join(items, "item").collect()))

spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
same = rows("apply") == rows("off")
dropped = spark.sql("SELECT sum(filter_rows_in - filter_rows_out) FROM aqe_decisions()").first()[0]
print("same", same, "dropped", dropped)
"""


def _java_homes(version: str) -> list[str]:
    """The Java of this process; Spark 4.3 also on a Java 25. Before it, Hadoop's login does not know Java 25."""
    newer = sorted(_JVMS.glob("*25*")) if version.startswith("4.3") else []
    return ["", *(str(home) for home in newer[:1])]


@pytest.mark.parametrize("version", ["4.0.5", "4.1.4", "4.2.1", "4.3.0"])
def test_a_patch_release_runs_a_filtered_join_with_the_jar_of_its_line(version: str, tmp_path: Path) -> None:
    made = subprocess.run([_ROOT / "project" / "pyspark-package", version], capture_output=True, text=True, check=True)
    package = Path(made.stdout.strip())
    (py4j,) = (package / "lib").glob("py4j-*.zip")
    for java_home in _java_homes(version):
        folder = tmp_path / (Path(java_home).name or "java")
        folder.mkdir()
        (folder / "job.py").write_text(JOB)
        environment = {
            **os.environ,
            "SPARK_HOME": str(package / "deps"),
            "PYTHONPATH": f"{package}:{py4j}",
            "PYSPARK_PYTHON": sys.executable,
            **({"JAVA_HOME": java_home} if java_home else {}),
        }
        ran = subprocess.run(
            [
                *(
                    str(package / "deps" / "bin" / "spark-submit"),
                    "--master",
                    "local[2]",
                    "--jars",
                    str(jar_for(version)),
                ),
                *("--conf", "spark.plugins=io.aqeplugin.AqePlugin", "--conf", "spark.aqePlugin.test.openGates=true"),
                *("--conf", "spark.ui.enabled=false", "job.py"),
            ],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.stdout.splitlines()[-1:] == ["same True dropped 36000"], ran.stderr[-5000:]
