"""DuckDB's answers, from the Parquet files that Spark reads."""

from typing import Any

from aqe_plugin.api.row_difference import OTHER_ENGINE, Difference, Row, Tolerance, difference
from workloads.tpcds.data import Dataset
from workloads.tpcds.extension import connect
from workloads.tpcds.queries import Query

# Both engines round this column to two digits, Spark a decimal quotient and DuckDB a binary one.
_ROUNDED_QUOTIENT = {"q78": Tolerance(relative=1e-5, absolute=0.0101)}


def reference_answer(dataset: Dataset, duckdb_text: str) -> list[tuple[Any, ...]]:
    """Rows of `duckdb_text` over `dataset`, in DuckDB's order."""
    connection = connect()
    try:
        dataset.attach(connection)
        return connection.execute(duckdb_text).fetchall()
    finally:
        connection.close()


def against_duckdb(query: Query, reference: list[Row], rows: list[Row]) -> Difference:
    """The differences between `reference` (DuckDB's rows of `query`) and `rows` (another engine's)."""
    return difference(reference, rows, _ROUNDED_QUOTIENT.get(query.name, OTHER_ENGINE))
