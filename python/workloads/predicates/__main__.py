"""Plans every cell and writes `docs/predicates.md`: `python -m workloads.predicates`.

`--rows N` first compares the rows of about N cells with brute force; a test compares all of them.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import aqe_plugin
from workloads.predicates.cells import cells, sample
from workloads.predicates.page import PAGE, page
from workloads.predicates.run import PLUGIN, SPARK, findings, rows_of, write_tables


def main() -> int:
    """0 if no compared cell has wrong rows; then the page is written."""
    parser = argparse.ArgumentParser(prog="python -m workloads.predicates")
    parser.add_argument("--rows", type=int, default=0, metavar="N")
    compared = parser.parse_args().rows
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("predicates").master("local[2]").config("spark.ui.enabled", "false")
    spark = aqe_plugin.configure(builder, mode="off").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with tempfile.TemporaryDirectory() as folder:
        write_tables(spark, Path(folder))
        every = cells()
        some = sample(every, min(compared, len(every))) if compared else []
        wrong = [
            f"{contender.name}: {cell.name}"
            for contender in (SPARK, PLUGIN)
            for cell, rows in rows_of(spark, some, contender)
            if rows != cell.rows()
        ]
        found = list(findings(spark, every))
    spark.stop()
    print(f"{len(every)} cells, rows of {len(some)} compared, {len(wrong)} wrong", *wrong, sep="\n")
    if not wrong:
        PAGE.write_text(page(found), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
