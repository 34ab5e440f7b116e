"""What DuckDB answers, over the very Parquet files that Spark reads."""

from typing import Any

from workloads.tpcds.data import Dataset
from workloads.tpcds.extension import connect


def reference_answer(dataset: Dataset, duckdb_text: str) -> list[tuple[Any, ...]]:
    """Rows of `duckdb_text` over `dataset`, in DuckDB's order."""
    connection = connect()
    try:
        dataset.attach(connection)
        return connection.execute(duckdb_text).fetchall()
    finally:
        connection.close()
