"""The line that the entry point of Spark's image runs for a driver, with executors as processes in place of pods."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from commands import Answer
from tests.extent import only_in_test_all

pytestmark = pytest.mark.spark

JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
few = spark.range(1000).selectExpr("id AS key").where("key = 7")
print("ROWS", spark.range(100000).selectExpr("id % 1000 AS key").join(few, "key").count())
spark.stop()
"""
_PLUGIN = {"spark.plugins": PLUGIN_CLASS, "spark.aqePlugin.mode": "observe"}


@dataclass(frozen=True)
class Image:
    """Spark's image: `/opt/spark` is ``home``."""

    home: Path
    jar: Path

    def drive(self, conf: dict[str, str]) -> tuple[int, str, Path]:
        """Runs the driver with the conf of a submission: exit code, output and its event logs."""
        events = self.home / "events"
        events.mkdir()
        properties = {
            # What a submission in cluster mode puts into the driver's ConfigMap, but the master.
            "spark.master": "local-cluster[1,1,1024]",
            "spark.submit.deployMode": "cluster",
            "spark.kubernetes.submitInDriver": "true",
            "spark.driver.host": "127.0.0.1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.pyspark.python": sys.executable,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.deploy.maxExecutorRetries": "1",
            **conf,
        }
        file = self.home / "conf" / "spark.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        command = [
            str(self.home / "bin" / "spark-submit"),
            *("--conf", "spark.driver.bindAddress=127.0.0.1", "--deploy-mode", "client"),
            *("--properties-file", str(file), "--class", "org.apache.spark.deploy.PythonRunner"),
            f"local://{self.home / 'jobs' / 'job.py'}",
        ]
        environment = {**os.environ, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        environment.pop("SPARK_CONF_DIR", None)
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        return ran.returncode, ran.stdout + ran.stderr, events


@pytest.fixture
def image(tmp_path: Path) -> Image:
    spark, home = Path(pyspark.__file__).parent, tmp_path / "opt" / "spark"
    for folder in ("jars", "aqe-plugin", "jobs", "conf"):
        (home / folder).mkdir(parents=True)
    for name in ("bin", "python"):
        (home / name).symlink_to(spark / name)
    for one in (spark / "jars").iterdir():
        (home / "jars" / one.name).symlink_to(one)
    (home / "jobs" / "job.py").write_text(JOB)
    jar = home / "aqe-plugin" / jar_for(pyspark.__version__).name
    jar.symlink_to(jar_for(pyspark.__version__))
    return Image(home, jar)


def test_a_jar_of_the_image_in_spark_jars_reaches_driver_and_executors(image: Image, answer: Answer) -> None:
    code, said, events = image.drive({**_PLUGIN, "spark.jars": f"local://{image.jar}"})
    assert (code, "ROWS 100" in said) == (0, True), said[-4000:]
    code, out, _ = answer("explain", str(events))
    assert (code, "1 join decided" in out, "[observe: no join changed]" in out) == (0, True, True), out


@only_in_test_all
def test_a_jar_in_the_jars_folder_of_the_image_needs_no_spark_jars(image: Image, answer: Answer) -> None:
    image.jar.rename(image.home / "jars" / image.jar.name)
    code, said, events = image.drive(_PLUGIN)
    assert (code, "ROWS 100" in said) == (0, True), said[-4000:]
    assert answer("check", "--target", str(events / "none"), "--event-log", str(events))[0] == 0


def test_a_conf_of_the_image_is_not_read_and_the_log_says_so(image: Image, answer: Answer) -> None:
    (image.home / "conf" / "spark-defaults.conf").write_text(
        f"spark.plugins {PLUGIN_CLASS}\nspark.jars local://{image.jar}\n"
    )
    code, said, events = image.drive({})
    assert (code, "ROWS 100" in said) == (0, True), said[-4000:]
    code, _, err = answer("explain", str(events))
    assert code == 4
    assert "it did not load the plugin (it has no spark.plugins): a driver in cluster mode on Kubernetes" in err


def test_a_jar_on_the_drivers_class_path_alone_stops_every_executor_and_the_log_says_so(
    image: Image, answer: Answer
) -> None:
    code, _, events = image.drive({**_PLUGIN, "spark.driver.extraClassPath": str(image.jar)})
    assert code != 0
    why = "its executors did not start, because they have no io.aqeplugin.AqePlugin: the jar is on the driver's class"
    code, out, _ = answer("check", "--target", str(events / "none"), "--event-log", str(events))
    assert (code, why in out) == (3, True), out
    assert why in answer("explain", str(events))[2]


@only_in_test_all
def test_without_a_jar_no_driver_starts_and_no_log_is_written(image: Image) -> None:
    code, said, events = image.drive(_PLUGIN)
    assert (code, "ClassNotFoundException: io.aqeplugin.AqePlugin" in said) == (1, True), said[-4000:]
    assert list(events.iterdir()) == []
