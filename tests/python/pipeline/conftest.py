"""One Spark session, one folder with every kind of log, and the tables made of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import aqe_plugin
from aqe_plugin.pipeline.ingest import ingest
from pipeline_logs import write_all_kinds


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        # For a few rows, compiling plans and planning anew would take most of the time; the job that is submitted does.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Dates are those of UTC, wherever a session is.
        "spark.sql.session.timeZone": "Pacific/Kiritimati",
    }
    builder = SparkSession.builder.master("local[2]").appName("aqe-plugin pipeline tests").config(map=dict(settings))
    session = aqe_plugin.configure(builder, mode="off").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="package")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("event logs")
    write_all_kinds(folder)
    return folder


@pytest.fixture(scope="package")
def tables(spark: SparkSession, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("tables") / "<img src=x onerror=alert(1)> & all")
    ingest(spark, [str(logs)], root)
    return root
