"""A table of a few rows that the driver holds, in a form that Spark's optimizer sees through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["local_rows"]


def local_rows(spark: SparkSession, values: Iterable[str], schema: str) -> DataFrame:
    """The JSON objects ``values``, each on one line, as rows of ``schema``.

    ``SparkSession.createDataFrame`` makes an RDD of Python's objects, of which the optimizer does not even know that it
    is empty; with this one a join with no row costs nothing.
    """
    jvm: Any = spark._jvm
    strings = jvm.io.aqeplugin.logs.TextRows.of(spark._jsparkSession, "\n".join(values))
    return DataFrame(strings.toDF(), spark).select(F.from_json("value", schema).alias("row")).select("row.*")
