"""Every TPC-DS query gives DuckDB's rows, with the plugin off, with its own gates, and with every gate open."""

from functools import cache
from typing import TYPE_CHECKING

import pytest

from benchmarks.configs import CONTENDERS, Contender
from benchmarks.session import turn_of
from workloads.rows import OTHER_ENGINE, Row, Tolerance, difference
from workloads.tpcds import Dataset, Query, queries, reference_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_OFF = CONTENDERS["default"]
# At this scale nearly every table is broadcast; without that the joins are those of large tables.
_NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
_SETTINGS = {
    name: Contender(name, "", {**CONTENDERS[contender].confs, **more})
    for name, contender, more in (
        ("off", "default", {}),
        ("apply", "plugin", {}),
        ("apply-no-broadcast", "plugin", _NO_BROADCAST),
        ("open", "open", {}),
        ("open-no-broadcast", "open", _NO_BROADCAST),
    )
}
# Both engines round this column to two digits, Spark a decimal quotient and DuckDB a binary one.
_ROUNDED_QUOTIENT = {"q78": Tolerance(relative=1e-5, absolute=0.0101)}


@pytest.fixture(scope="module")
def answer_off(spark: "SparkSession") -> "Callable[[Query], list[Row]]":
    """Spark's own rows, run once per query."""
    return cache(lambda query: _answer(spark, query, _OFF))


@pytest.mark.parametrize("setting", _SETTINGS)
@pytest.mark.parametrize("query", queries().values(), ids=lambda query: query.name)
def test_rows_are_spark_s_own_and_duckdb_s(
    query: Query, setting: str, spark: "SparkSession", dataset: Dataset, answer_off: "Callable[[Query], list[Row]]"
) -> None:
    off = answer_off(query)
    rows = off if setting == "off" else _answer(spark, query, _SETTINGS[setting])
    against_off = difference(off, rows)
    assert not against_off, against_off.describe("off", setting)
    reference = reference_answer(dataset, query.duckdb)
    against_duckdb = difference(reference, rows, _ROUNDED_QUOTIENT.get(query.name, OTHER_ENGINE))
    assert not against_duckdb, against_duckdb.describe("DuckDB", setting)


def _answer(spark: "SparkSession", query: Query, contender: Contender) -> list[Row]:
    spark.sparkContext.setJobDescription(f"{query.name} {contender.name}")
    with turn_of(spark, contender):
        return [tuple(row) for row in spark.sql(query.spark).collect()]
