"""Killed and concurrent ``ingest`` jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aqe_plugin.pipeline.compact import compact
from aqe_plugin.pipeline.ingest import ingest
from aqe_plugin.pipeline.warehouse import Warehouse
from pipeline_logs import named, read, stored
from samples import query_lines, write_log
from tests.extent import only_in_test_all

pytestmark = pytest.mark.spark


class KilledError(Exception):
    """Nothing tidies up after it, as nothing does after kill -9."""


@only_in_test_all
def test_killed_jobs_have_no_effect_and_concurrent_ones_duplicate_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, root = tmp_path / "logs", tmp_path / "tables"
    folder.mkdir()
    write_log(folder / "app-1", query_lines(1))
    write = Warehouse.write

    def killed_write(house: Warehouse, frame: Any, table: str, run: str, **how: bool) -> int:
        rows = write(house, frame, table, run, **how)
        if table == "decisions":
            raise KilledError
        return rows

    def killed_commit(house: Warehouse, made: Any) -> None:
        Path(house.path("_commits")).mkdir()
        Path(house.path("_commits", f".{made.run}.tmp")).write_text('{"layoutVersion": 1, ')
        raise KilledError

    for name, killed in (("write", killed_write), ("commit", killed_commit)):
        with monkeypatch.context() as patched:
            patched.setattr(Warehouse, name, killed)
            with pytest.raises(KilledError):
                ingest(spark, [str(folder)], str(root))
        assert Warehouse(spark, str(root)).commits("ingest") == []
    assert len(list((root / "decisions").iterdir())) == 2
    assert ingest(spark, [str(folder)], str(root)).decisions == 1
    assert stored(spark, str(root)) == read(folder)

    # As if the other had not committed yet when this one looked.
    (first,) = (root / "_commits").glob("0*.json")
    hidden = first.rename(root / "first.json")
    ingest(spark, [str(folder)], str(root))
    hidden.rename(first)
    assert len(Warehouse(spark, str(root)).commits("ingest")) == 2
    assert stored(spark, str(root)) == read(folder)


KILLED_BEHIND_DECISIONS = """
import sys, time
from aqe_plugin.cli.main import main
from aqe_plugin.pipeline.warehouse import Warehouse

write = Warehouse.write

def stopped_write(house, frame, table, run, **how):
    rows = write(house, frame, table, run, **how)
    if table == "decisions":
        print("written", flush=True)
        time.sleep(3600)
    return rows

Warehouse.write = stopped_write
main(["pipeline", "ingest", *sys.argv[1:]])
"""


@only_in_test_all
def test_a_killed_process_loses_and_duplicates_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder, root = tmp_path / "logs", tmp_path / "tables"
    folder.mkdir()
    write_log(folder / "app-1", query_lines(1))
    ingest(spark, [str(folder)], str(root))
    write_log(folder / "app-1", [*query_lines(1), *query_lines(2)])
    (folder / "app-2").write_bytes(named("app-2", query_lines(1)))
    before = stored(spark, str(root))

    words = [sys.executable, "-c", KILLED_BEHIND_DECISIONS, str(folder), "--tables", str(root)]
    # A group of its own, so that the kill takes Spark's process with it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    killed = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"written\n"
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert killed.returncode == -signal.SIGKILL
    assert len(list((root / "decisions").iterdir())) == 2
    assert len(list((root / "_staging").iterdir())) == 1
    assert stored(spark, str(root)) == before

    assert ingest(spark, [str(folder)], str(root)).attempts == 2
    assert stored(spark, str(root)) == read(folder)
    assert ingest(spark, [str(folder)], str(root)).run is None
    compact(spark, str(root), 0)
    assert [len(list(root.glob(left))) for left in ("decisions/*", "_staging/*", "_commits/0*.json")] == [1, 0, 1]
    assert stored(spark, str(root)) == read(folder)
