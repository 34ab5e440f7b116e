"""TPC-DS with its fact tables partitioned by date, as tables of that size usually are."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workloads.tpcds.data import Dataset
from workloads.tpcds.extension import connect

DATE_COLUMNS = MappingProxyType(
    {
        "catalog_returns": "cr_returned_date_sk",
        "catalog_sales": "cs_sold_date_sk",
        "inventory": "inv_date_sk",
        "store_returns": "sr_returned_date_sk",
        "store_sales": "ss_sold_date_sk",
        "web_returns": "wr_returned_date_sk",
        "web_sales": "ws_sold_date_sk",
    }
)


def ensure_partitioned(
    dataset: Dataset, report: Callable[[str], None] = lambda _: None, tables: Sequence[str] = tuple(DATE_COLUMNS)
) -> dict[str, Path]:
    """Folder of each of these fact tables, a partition for each day; written once and kept beside the data set."""
    folder = dataset.folder.parent / f"{dataset.folder.name}-by-date"
    for table in tables:
        if not (folder / table).is_dir():
            report(f"{table}: partitioned by {DATE_COLUMNS[table]}")
            _write(dataset, table, DATE_COLUMNS[table], folder)
    return {table: folder / table for table in tables}


def register_partitioned(dataset: Dataset, spark: Any, report: Callable[[str], None] = lambda _: None) -> None:
    """Makes every table a temporary view of `spark`, the fact tables partitioned."""
    partitioned = ensure_partitioned(dataset, report)
    dataset.register(spark, dataset.rows.keys() - partitioned.keys())
    for table, folder in partitioned.items():
        spark.read.parquet(str(folder)).createOrReplaceTempView(table)


def _write(dataset: Dataset, table: str, column: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{table}-", dir=folder) as scratch:
        complete = Path(scratch) / table
        # One thread writes one file a day.
        connection = connect(Path(scratch) / "partitioned.db", threads=1)
        try:
            connection.execute(
                f"copy (from read_parquet('{dataset.folder / table}/*.parquet') order by {column}) "
                f"to '{complete}' (format parquet, partition_by ({column}))"
            )
        finally:
            connection.close()
        if not (folder / table).is_dir():
            complete.rename(folder / table)
