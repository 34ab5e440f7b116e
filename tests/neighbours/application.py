"""A small application: a query of a user's with the plugin off, then on. Its argument, in JSON, says which and how.

Each query has one join that a filter helps: 200 of 20,000 items have a name in 77. It needs PySpark alone, of this
environment or of the client's package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark is written

_JOIN = "SELECT name, sum(amount) AS amount FROM sales JOIN items USING (item) WHERE name LIKE '%77' GROUP BY name"


def _sql(spark: SparkSession) -> DataFrame:
    return spark.sql(_JOIN)


def _created(spark: SparkSession) -> DataFrame:
    spark.sql("DROP TABLE IF EXISTS joined")
    spark.sql(f"CREATE TABLE joined USING parquet AS {_JOIN}")
    return spark.table("joined")


def _pandas(*, index: bool) -> Callable[[SparkSession], DataFrame]:
    """pandas' words, with the key as the index, or with the index that pandas on Spark counts by itself."""

    def frame(_: SparkSession) -> DataFrame:
        from pyspark import pandas

        sales, items = (pandas.read_table(name, index_col="item" if index else None) for name in ("sales", "items"))
        some = items[items["name"].str.endswith("77")]
        joined: Any = sales.join(some, how="inner") if index else sales.merge(some, on="item")
        summed: DataFrame = joined.groupby("name")["amount"].sum().reset_index().to_spark()
        return summed

    return frame


def _with_functions(arrow: bool) -> Callable[[SparkSession], DataFrame]:
    """A user's functions below the join, on either side, and above it."""

    def frame(spark: SparkSession) -> DataFrame:
        plus = F.udf(lambda amount: amount + 1, "bigint", useArrow=arrow)
        ends = F.udf(lambda name: name.endswith("77"), "boolean", useArrow=arrow)
        sales = spark.table("sales").withColumn("amount", plus("amount"))
        joined = sales.join(spark.table("items").where(ends("name")), "item")
        return joined.withColumn("amount", plus("amount")).groupBy("name").sum("amount")

    return frame


_QUERIES: dict[str, Callable[[SparkSession], DataFrame]] = {
    "sql": _sql,
    "created": _created,
    "pandas": _pandas(index=False),
    "pandas_indexed": _pandas(index=True),
    "python_udf": _with_functions(arrow=False),
    "arrow_udf": _with_functions(arrow=True),
}


def main(told: dict[str, Any]) -> None:
    builder = SparkSession.builder
    for key, value in told["confs"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        spark.conf.set("spark.aqePlugin.mode", "off")
        for statement in told["setup"]:
            spark.sql(statement)
        rows, plans = {}, {}
        for mode in ("off", "apply"):
            spark.conf.set("spark.aqePlugin.mode", mode)
            frame: Any = _QUERIES[told["query"]](spark)
            rows[mode] = sorted([str(value) for value in row] for row in frame.collect())
            # A client of Spark Connect has no plan that ran.
            plans[mode] = str(frame._jdf.queryExecution().executedPlan()) if hasattr(frame, "_jdf") else ""
        answer = {"spark": spark.version, "rows": rows, "plans": plans}
        Path(told["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
