"""What the tour's user submits: TPC-DS queries, and not a word of the plugin.

``spark-submit application.py DATA NAME TIMES QUERY...`` starts an application ``TIMES`` times, one after another. Each
runs every query once. They share one process, to spare the tour the start of as many.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from workloads.tpcds.queries import queries


def main(data: Path, name: str, times: int, chosen: list[str]) -> None:
    for _ in range(times):
        application(data, name, chosen)


def application(data: Path, name: str, chosen: list[str]) -> None:
    """One application, from its start to its end."""
    texts = queries()
    spark = SparkSession.builder.appName(name).getOrCreate()
    for table in data.iterdir():
        if table.is_dir():
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    for query in chosen:
        spark.sparkContext.setJobDescription(query)
        spark.sql(texts[query].spark).collect()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
