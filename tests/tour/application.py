"""What the tour's user submits: TPC-DS queries, and not a word of the plugin.

``spark-submit application.py DATA NAME RUNS QUERY...`` runs each query ``RUNS`` times in turn.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from workloads.tpcds.queries import queries


def main(data: Path, name: str, runs: int, chosen: list[str]) -> None:
    texts = queries()
    spark = SparkSession.builder.appName(name).getOrCreate()
    for table in data.iterdir():
        if table.is_dir():
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    for _ in range(runs):
        for query in chosen:
            spark.sparkContext.setJobDescription(query)
            spark.sql(texts[query].spark).collect()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
