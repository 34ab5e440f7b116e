"""One session and one small TPC-DS data set for the end-to-end tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.session import SessionSettings, spark_session
from workloads.tpcds import Dataset, ensure_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The smallest scale at which every query runs and four of five have rows.
_SCALE = float(os.environ.get("AQE_PLUGIN_E2E_SCALE", "0.05"))


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return ensure_dataset(_SCALE)


@pytest.fixture(scope="module")
def event_log_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(dataset: Dataset, event_log_folder: Path) -> "Iterator[SparkSession]":
    settings = SessionSettings("tpcds answers", event_log_folder, shuffle_partitions=4)
    with spark_session(settings, with_plugin=True) as session:
        # Small splits, so that a table of a few megabytes is read by several tasks.
        session.conf.set("spark.sql.files.maxPartitionBytes", "1m")
        dataset.register(session)
        yield session
