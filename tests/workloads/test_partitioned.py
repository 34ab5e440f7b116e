"""Fact tables that are partitioned by date have the rows of the others."""

import pytest

from workloads.tpcds import Dataset, ensure_dataset
from workloads.tpcds.extension import connect
from workloads.tpcds.partitioned import DATE_COLUMNS, ensure_partitioned

# The ones with the fewest days.
_TABLES = ("inventory", "web_returns")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AQE_PLUGIN_DATA", str(tmp_path_factory.mktemp("tpcds")))
        return ensure_dataset(0.01, tables=_TABLES)


@pytest.mark.parametrize("table", _TABLES)
def test_a_partitioned_table_has_the_same_rows_a_partition_for_each_day(dataset: Dataset, table: str) -> None:
    folder = ensure_partitioned(dataset, tables=_TABLES)[table]
    column = DATE_COLUMNS[table]
    assert len([day for day in folder.iterdir() if day.name.startswith(f"{column}=")]) > 20
    columns = f"select * exclude {column}, try_cast({column} as bigint) as day"
    whole = f"{columns} from read_parquet('{dataset.folder / table}/*.parquet')"
    files = f"read_parquet('{folder}/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
    connection = connect()
    for left, right in ((whole, f"{columns} from {files}"), (f"{columns} from {files}", whole)):
        assert connection.execute(f"({left}) except all ({right})").fetchall() == []


def test_rows_without_a_date_are_in_sparks_partition_for_null(dataset: Dataset) -> None:
    folder = ensure_partitioned(dataset, tables=_TABLES)["web_returns"]
    assert (folder / "wr_returned_date_sk=__HIVE_DEFAULT_PARTITION__").is_dir()


def test_partitioned_tables_are_written_once(dataset: Dataset) -> None:
    folders = ensure_partitioned(dataset, tables=_TABLES)
    files = {file: file.stat().st_mtime_ns for folder in folders.values() for file in folder.rglob("*.parquet")}
    assert ensure_partitioned(dataset, tables=_TABLES) == folders
    assert all(file.stat().st_mtime_ns == changed for file, changed in files.items())
