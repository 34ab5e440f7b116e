"""`make bench-files`: the rows of files that a join's keys leave unread, by the format of the table.

200 files of 50,000 rows, in the order of an integer and of a text with the same order; 20 of 100,000 keys that lie far
apart are joined without a broadcast, so 180 of the files need not be read. `unread` is the share of the rows in these
files that the plugin left unread, by Spark's task metrics, which is above 1 where pages of the other files go unread
too; of the cached table, by the rows that came to the filter. Seconds are medians of the runs, with the fastest and the
slowest, without and with the plugin in turn. The table is printed, and kept in `--out`. Exit code 1 when rows differ.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.file_tables import BUILT, relation, run, settings, told, unread
from benchmarks.markdown import median_and_range
from benchmarks.session import spark_session
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = ("parquet", "orc", "delta", "iceberg", "cached")
_KEYS = {"int": "k", "string": "word"}
_KEPT = 20
_COLUMNS = ("id DIV 100 AS k", "concat('key-', lpad(id DIV 100, 9, '0')) AS word", "id AS v", "md5(string(id)) AS pad")

_CONFS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # A task a file: what is read of a file is a matter of the format alone.
    "spark.sql.files.openCostInBytes": "128m",
}


@dataclass(frozen=True)
class Cell:
    """One format and one key; `off` and `on` are seconds of each run without and with the plugin."""

    table: str
    key: str
    unread: float
    off: list[float]
    on: list[float]
    same: bool


def main() -> int:
    """0 if all rows are the same without and with the plugin."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--files", type=int, default=200, help="number of files")
    parser.add_argument("--rows", type=int, default=50_000, help="rows of a file")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each mode, after one that is not")
    parser.add_argument("--formats", default=",".join(_FORMATS), help="some of the formats")
    parser.add_argument("--out", type=Path, default=BUILT / "bench-files", help="folder of data, event log and result")
    arguments = parser.parse_args()
    with spark_session(settings("aqe-plugin bench-files", arguments.out, _CONFS), with_plugin=True) as spark:
        head = ("table, key", "unread", "seconds, Spark", "seconds, plugin", "ratio")
        return told(head, _cells(spark, arguments), _line, arguments.out)


def _cells(spark: "SparkSession", arguments: argparse.Namespace) -> Iterator[Cell]:
    out, rows = arguments.out / f"{arguments.files}x{arguments.rows}", arguments.files * arguments.rows
    _write_dimension(spark, out / "dimension", rows // 100)
    for table in arguments.formats.split(","):
        frame = spark.range(0, rows, 1, arguments.files).selectExpr(*_COLUMNS)
        named = relation(table, f"t{arguments.files}x{arguments.rows}", out, frame)
        for key, column in _KEYS.items():
            joined = f"{named} f JOIN d ON f.{column} = d.{column}"
            sql = f"SELECT count(*), sum(f.v), max(f.pad) FROM {joined} WHERE d.kept"
            first = [run(spark, sql, mode) for mode in ("off", "apply")]
            pairs = [[run(spark, sql, mode) for mode in ("off", "apply")] for _ in range(arguments.runs)]
            runs = [first, *pairs]
            left = rows - _filtered(spark) if table == "cached" else statistics.median(unread(pair) for pair in pairs)
            share = left / (rows - _KEPT * arguments.rows)
            off, on = ([pair[i].seconds for pair in pairs] for i in range(2))
            yield Cell(table, key, share, off, on, len({one.answer for pair in runs for one in pair}) == 1)
        spark.catalog.clearCache()


def _filtered(spark: "SparkSession") -> int:
    """The rows that came to the filter of the latest join. Of a cached table, Spark counts batches as records."""
    latest = spark.sql("SELECT filters FROM aqe_decisions() ORDER BY execution_id DESC LIMIT 1").collect()[0]
    return sum(one.rows_in for one in latest.filters)


def _write_dimension(spark: "SparkSession", folder: Path, keys: int) -> None:
    """Every key once; `kept` are as many as files are to be read, in the middle of files far apart."""
    columns = (
        "id AS k",
        "concat('key-', lpad(id, 9, '0')) AS word",
        f"id % {keys // _KEPT} = {keys // _KEPT // 3} AS kept",
    )
    parquet_once(folder, spark.range(0, keys, 1, 1).selectExpr(*columns)).createOrReplaceTempView("d")


def _line(cell: Cell) -> str:
    if not cell.same:
        return f"| {cell.table}, {cell.key} | **rows differ** |"
    ratio = statistics.median(cell.off) / statistics.median(cell.on)
    seconds = f"{median_and_range(cell.off, 2)} | {median_and_range(cell.on, 2)}"
    return f"| {cell.table}, {cell.key} | {cell.unread:.2f} | {seconds} | {ratio:.1f}x |"


if __name__ == "__main__":
    sys.exit(main())
