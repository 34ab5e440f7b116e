"""The tables of a calibration, in a real session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

import aqe_plugin
from aqe_plugin.api.calibration import Calibration
from aqe_plugin.tuning.calibration.scratch import missing_above, remove_empty, scratch_folder

pytestmark = pytest.mark.spark

SLOTS = 2


@pytest.fixture
def session() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master(f"local[{SLOTS}]").config("spark.default.parallelism", "1000")
    spark = aqe_plugin.configure(builder.config("spark.ui.enabled", "false"), mode="off").getOrCreate()
    yield spark
    spark.stop()


def test_tables_are_sized_by_the_slots_and_not_by_the_default_parallelism(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session.sparkContext.defaultParallelism == 1000
    monkeypatch.setattr("aqe_plugin.api.calibration._ROWS_PER_SLOT", 500)
    said: list[str] = []
    calibration = Calibration(session, tmp_path.as_uri(), None, said.append)
    assert said[0] == "Writing the table probe, 1,000 rows ..."
    files = list((tmp_path / "probe").glob("part-*"))
    # Two partitions a slot in a shuffle, and twice as many files.
    assert len(files) == 4 * SLOTS
    assert calibration.queries == 12


def test_a_scratch_folder_is_removed_with_the_folders_that_it_was_given(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for asked in (tmp_path / "not" / "there", tmp_path / "there"):
        with scratch_folder(session, str(asked)) as folder:
            session.range(3).write.parquet(f"{folder}/table")
            assert list(asked.glob("*/table/part-*"))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not list((tmp_path / "there").iterdir())


class Storage:
    """A file system that shows nothing of a bucket, and removes nothing."""

    def exists(self, folder: SimpleNamespace) -> bool:
        if folder.name == "bucket":
            raise Py4JError("denied")
        return False

    def delete(self, folder: SimpleNamespace, recursive: bool) -> bool:
        raise Py4JError(f"{folder.name} is gone, {recursive}")


def folder_of(name: str, above: SimpleNamespace | None = None) -> SimpleNamespace:
    return SimpleNamespace(name=name, getParent=lambda: above, getFileSystem=lambda _: Storage())


def test_folders_that_may_not_be_looked_at_end_no_calibration() -> None:
    missing = missing_above(Storage(), folder_of("ours", folder_of("prefix", folder_of("bucket"))))
    assert [one.name for one in missing] == ["prefix"]
    remove_empty(Storage(), [folder_of("bucket")])


def test_the_error_of_a_calibration_is_told_also_when_its_folder_cannot_be_removed() -> None:
    paths = SimpleNamespace(Path=folder_of)
    spark: Any = SimpleNamespace(
        _jvm=SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(fs=paths)))),
        _jsparkSession=SimpleNamespace(sessionState=lambda: SimpleNamespace(newHadoopConf=lambda: None)),
    )
    with pytest.raises(ValueError, match="the first error"), scratch_folder(spark, "s3a://bucket/scratch"):
        raise ValueError("the first error")
    with pytest.raises(Py4JError, match="is gone"), scratch_folder(spark, "s3a://bucket/scratch"):
        pass
