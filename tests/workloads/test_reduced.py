"""Tables reduced by hand hold fewer rows, and all that the query's answer needs."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.extent import TRIES_ALL
from workloads.tpcds import REDUCTIONS, Dataset, against_duckdb, ensure_dataset, ensure_reduced, queries, semi_joined
from workloads.tpcds.extension import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.e2e

_SCALE = 0.1
_NAMES = sorted(REDUCTIONS)[:: 1 if TRIES_ALL else 3]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AQE_PLUGIN_DATA", str(tmp_path_factory.mktemp("tpcds")))
        return ensure_dataset(_SCALE)


@pytest.mark.parametrize("name", _NAMES)
def test_a_query_answers_the_same_over_its_reduced_tables(dataset: Dataset, name: str) -> None:
    query = queries()[name]
    connection = connect()
    dataset.attach(connection)
    whole = connection.execute(query.duckdb_unlimited).fetchall()
    for table, folder in ensure_reduced(dataset, name).items():
        connection.execute(f"create or replace view {table} as from read_parquet('{folder}/*.parquet')")
        counted = connection.execute(f"select count(*) from {table}").fetchone()
        assert counted is not None
        assert counted[0] < dataset.rows[table] / 2
    reduced = connection.execute(query.duckdb_unlimited).fetchall()
    assert not against_duckdb(query, whole, reduced)


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@pytest.mark.parametrize("name", _NAMES)
def test_a_semi_joined_table_reads_all_rows_and_keeps_those_of_the_reduced_one(
    dataset: Dataset, spark: "SparkSession", name: str
) -> None:
    for table, folder in ensure_reduced(dataset, name).items():
        whole = spark.read.parquet(str(dataset.folder / table))
        kept = spark.read.parquet(str(folder))
        joined = semi_joined(whole, kept, table)
        assert joined.select(*kept.columns).exceptAll(kept).isEmpty()
        assert kept.exceptAll(joined.select(*kept.columns)).isEmpty()


def test_reduced_tables_are_written_once_and_each_step_is_told(dataset: Dataset) -> None:
    # Other tests of this module may have written them.
    shutil.rmtree(dataset.folder.parent / f"{dataset.folder.name}-reduced", ignore_errors=True)
    steps: list[str] = []
    first = ensure_reduced(dataset, "q93", report=steps.append)
    made = [line for line in steps if not line.endswith("...")]
    assert [line.rpartition(": ")[0] for line in made] == [
        "q93: reducing store_returns, 1 of 5",
        "q93: reducing store_sales, 2 of 5",
        "q93: reducing store_returns, 3 of 5",
        "q93: writing store_returns, 4 of 5",
        "q93: writing store_sales, 5 of 5",
    ]
    assert all(line.endswith(" s") for line in made)
    files = {file: file.stat().st_mtime_ns for folder in first.values() for file in Path(folder).glob("*.parquet")}
    again: list[str] = []
    assert ensure_reduced(dataset, "q93", report=again.append) == first
    assert again == []
    assert all(file.stat().st_mtime_ns == changed for file, changed in files.items())
