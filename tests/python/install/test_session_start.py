"""Sessions as they start: by ``doctor``, and in a JVM that was started with and without the jar."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import aqe_plugin

pytestmark = pytest.mark.spark


def test_a_check_passes_on_a_working_machine() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "aqe_plugin", "check", "--run"], capture_output=True, text=True, timeout=400, check=False
    )
    rows = [row.split(maxsplit=2) for row in ran.stdout.splitlines()]
    assert [row[:2] for row in rows] == [
        ["ok", name]
        for name in ("Java", "PySpark", "jar", "classes", "session", "plugin", "mode", "events", "deciding")
    ], ran.stdout + ran.stderr
    assert rows[5][2] == "io.aqeplugin.AqePlugin and its rules are loaded"
    assert rows[6][2] == "apply"
    assert rows[7][2] == "1 readable, 1 decision in it"
    assert ran.returncode == 0


WITHOUT_JAR = """
import aqe_plugin
from aqe_plugin.errors import SessionError
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
def tried():
    try:
        aqe_plugin.configure(SparkSession.builder)
    except SessionError as error:
        print("SAID", error)
tried()
spark = SparkSession.builder.getOrCreate()
tried()
spark.stop()
"""

WITH_JAR = """
import aqe_plugin
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
spark = aqe_plugin.configure(SparkSession.builder, mode="observe").getOrCreate()
conf = spark.sparkContext.getConf()
print("SAID", conf.get("spark.plugins"), spark.conf.get("spark.aqePlugin.mode"))
print("SAID", *sorted(jar.rpartition("/")[2] for jar in conf.get("spark.jars").split(",")))
spark.stop()
"""


def submit(folder: Path, script: str, *options: str) -> list[str]:
    """What ``script`` printed, run by ``spark-submit``."""
    import pyspark

    (folder / "job.py").write_text(script)
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]"]
    ran = subprocess.run(
        [*command, "--conf", "spark.ui.enabled=false", *options, str(folder / "job.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    # Spark warns of metrics that are registered before the application has an id.
    assert "MetricsSystem" not in ran.stderr
    return [line.removeprefix("SAID ") for line in ran.stdout.splitlines() if line.startswith("SAID ")]


def test_configure_in_a_jvm_without_the_jar_says_what_to_do(tmp_path: Path) -> None:
    without_jar, running = submit(tmp_path, WITHOUT_JAR)
    assert "--jars $(aqe-plugin path jar) --conf spark.plugins=io.aqeplugin.AqePlugin" in without_jar
    assert "aqe_plugin.configure(builder)" in running


def test_configure_under_spark_submit_keeps_the_jars_that_were_submitted(tmp_path: Path) -> None:
    own = tmp_path / "own.jar"
    with zipfile.ZipFile(own, "w") as jar:
        jar.writestr("own.txt", "own")
    import pyspark

    plugin = aqe_plugin.jar_for(pyspark.__version__)
    plugins, jars = submit(tmp_path, WITH_JAR, "--jars", f"{own},{plugin}")
    assert plugins == "io.aqeplugin.AqePlugin observe"
    assert jars == f"{plugin.name} own.jar"
