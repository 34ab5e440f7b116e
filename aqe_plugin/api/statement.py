"""A statement of SQL that has to be a query: Spark runs any other as soon as it gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqe_plugin.api.sql_script import statements_of
from aqe_plugin.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def query_of(spark: SparkSession, sql: str) -> DataFrame:
    """The frame of a query; nothing of it is run.

    Raises:
        StatementError: ``sql`` is no query, or one that Spark cannot analyze.
    """
    statements = statements_of(sql)
    if len(statements) != 1:
        raise StatementError(f"One statement is expected, and there are {len(statements)}.")
    sql = statements[0]
    try:
        # Parentheses hold queries alone.
        spark.sql(f"EXPLAIN SELECT * FROM (\n{sql}\n)").collect()
    except Exception as error:
        refused = _refusal(spark, sql)
        raise StatementError(refused) from error
    try:
        frame = spark.sql(sql)
        # Spark Connect analyzes a frame when it is asked of something.
        _ = frame.columns
    except Exception as error:
        raise StatementError(f"Spark cannot analyze the query: {first_line(error)}") from error
    return frame


def first_line(error: Exception) -> str:
    """The first line of what Spark says of an error."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def _refusal(spark: SparkSession, sql: str) -> str:
    try:
        spark.sql(f"EXPLAIN {sql}").collect()
    except Exception as error:  # noqa: BLE001 - of the statement as it was given, with its line and position
        return f"Spark cannot read the statement: {first_line(error)}"
    begun = " ".join(sql.split())[:60]
    return f"Only a query can be run several times, and this is none: {begun} ... Give the SELECT that it contains."
