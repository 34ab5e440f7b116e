"""Tables in a catalog that has statistics of their columns, as on a cluster where `ANALYZE TABLE` ran."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_HISTOGRAMS = "spark.sql.statistics.histogram.enabled"


def register_analyzed(spark: Any, folders: Mapping[str, Path], report: Callable[[str], None] = lambda _: None) -> None:
    """Makes every folder of Parquet files a table of `spark`, with its partitions and statistics of all its columns.

    The catalog is that of the session, so the statistics are made anew in each.

    Args:
        folders: table → where its files are.
    """
    before = spark.conf.get(_HISTOGRAMS, None)
    spark.conf.set(_HISTOGRAMS, "true")
    try:
        for number, (table, folder) in enumerate(folders.items(), start=1):
            report(f"statistics of {table}, table {number} of {len(folders)}")
            spark.catalog.createTable(table, str(folder), "parquet")
            if any(column.isPartition for column in spark.catalog.listColumns(table)):
                # Until then, the catalog knows no partition, and the table has no rows.
                spark.catalog.recoverPartitions(table)
            spark.sql(f"analyze table {table} compute statistics for all columns")
    finally:
        if before is None:
            spark.conf.unset(_HISTOGRAMS)
        else:
            spark.conf.set(_HISTOGRAMS, before)
