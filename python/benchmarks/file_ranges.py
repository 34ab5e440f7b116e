"""`make bench-ranges`: files of large rows that ranges of a join's keys leave unread, beside an oracle.

1,000 files of 2,000 rows of 1 kB, in the order of a column of each type, which has 20 values in a file; the confs of
Spark and the plugin are their defaults, except that Parquet's times are microseconds: those of Spark's default, INT96,
have no bounds. Keys are in 1, 2, 5 or 10 contiguous ranges, which together touch 1 % of the files, or one at random in
every file. The oracle leaves out the rows of all files that hold no key, as a query over all rows finds them. `of the
oracle` is the share of these rows that the plugin left unread, by Spark's task metrics; it is above 1 where parts of
the other files go unread too. Seconds are medians of the runs with the fastest and the slowest, without and with the
plugin in turn. Of keys in every file, the ratio of the processor time of the driver's JVM counts, in which all of Spark
runs: the median of pairs of runs, with the interval that covers 95 % of its bootstrap distribution.
The table is printed, and kept in `--out`. Exit code 1 when rows differ.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.file_tables import BUILT, relation, run, settings, told, unread
from benchmarks.intervals import median_interval
from benchmarks.markdown import median_and_range
from benchmarks.session import spark_session
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = ("parquet", "orc", "delta", "iceberg")
_KEYS_OF_FILE = 20
_RANDOM = "random"
_MODES = ("off", "apply")
_CONFS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
# Of the number of a key, by the type of the column; a file has the times of 20 hours.
_KEYS = {
    "int": "CAST({} AS int)",
    "string": "concat('key-', lpad({}, 9, '0'))",
    "date": "DATE'1975-01-01' + CAST({} AS int)",
    "decimal": "CAST({} / 4 AS decimal(12, 2))",
    "timestamp": "timestamp_seconds(1600000000 + {} * 3600)",
}


@dataclass(frozen=True)
class Cell:
    """One format, one type of key and one set of keys; lists have an entry for each run.

    Attributes:
        keys: number of ranges, or `random`.
        oracle: rows of the files that hold no key.
    """

    table: str
    key: str
    keys: str
    oracle: int
    unread: float
    off: list[float]
    on: list[float]
    off_processor: list[float]
    on_processor: list[float]
    same: bool


def main() -> int:
    """0 if all rows are the same without and with the plugin."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.file_ranges", description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="number of files, at least 1,000")
    parser.add_argument("--rows", type=int, default=2000, help="rows of a file, a multiple of 20")
    parser.add_argument("--bytes", type=int, default=1024, help="bytes of a row, about")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each mode, after one that is not")
    parser.add_argument("--random-runs", type=int, default=9, help="the same for keys in every file")
    parser.add_argument("--formats", default=",".join(_FORMATS), help="some of the formats")
    parser.add_argument("--types", default=",".join(_KEYS), help="some of the types")
    parser.add_argument("--ranges", default="1,2,5,10,random", help="some of the sets of keys")
    parser.add_argument("--out", type=Path, default=BUILT / "bench-ranges", help="folder of data, event log and result")
    arguments = parser.parse_args()
    with spark_session(settings("aqe-plugin bench-ranges", arguments.out, _CONFS), with_plugin=True) as spark:
        head = ("table, key, ranges", "of the oracle", "seconds, Spark", "seconds, plugin", "ratio", "processor time")
        return told(head, _cells(spark, arguments), _line, arguments.out)


def _cells(spark: "SparkSession", arguments: argparse.Namespace) -> Iterator[Cell]:
    name = f"{arguments.files}x{arguments.rows}x{arguments.bytes}"
    out = arguments.out / name
    _write_dimension(spark, out / "dimension", arguments.files)
    each = arguments.rows // _KEYS_OF_FILE
    texts = ", ".join(f"sha2(concat(id, '-{i}'), 512)" for i in range(max(1, arguments.bytes // 128)))
    columns = [f"{key.format(f'id DIV {each}')} AS k_{column}" for column, key in _KEYS.items()]
    frame = spark.range(0, arguments.files * arguments.rows, 1, arguments.files)
    for table in arguments.formats.split(","):
        named = relation(table, f"t{name}", out, frame.selectExpr(*columns, "id AS v", f"concat({texts}) AS pad"))
        for key in arguments.types.split(","):
            for keys in arguments.ranges.split(","):
                runs = arguments.random_runs if keys == _RANDOM else arguments.runs
                yield _cell(spark, (table, key, keys), named, runs)


def _cell(spark: "SparkSession", of: tuple[str, str, str], named: str, runs: int) -> Cell:
    column, chosen = f"k_{of[1]}", f"d.in_{of[2]}"
    rows, oracle = _rows_without_key(spark, named, column, chosen)
    sql = f"SELECT count(*), sum(f.v), max(f.pad) FROM {named} f JOIN d ON f.{column} = d.{column} WHERE {chosen}"
    first = [run(spark, sql, mode) for mode in _MODES]
    # Each mode goes first in every other pair.
    pairs = [[run(spark, sql, mode) for mode in _MODES[:: 1 - 2 * (i % 2)]][:: 1 - 2 * (i % 2)] for i in range(runs)]
    left = statistics.median(unread(pair) for pair in pairs)
    off, on = ([pair[i].seconds for pair in pairs] for i in range(2))
    off_processor, on_processor = ([pair[i].processor_seconds for pair in pairs] for i in range(2))
    same = len({one.answer for pair in (first, *pairs) for one in pair}) == 1
    return Cell(*of, oracle, left / (oracle or rows), off, on, off_processor, on_processor, same)


def _rows_without_key(spark: "SparkSession", named: str, column: str, chosen: str) -> tuple[int, int]:
    """The rows of a table, and those of its files that hold no key."""
    spark.conf.set("spark.aqePlugin.mode", "off")
    files = (
        f"SELECT file, count(*) AS n, count(d.{column}) AS found "
        f"FROM (SELECT input_file_name() AS file, {column} FROM {named}) f "
        f"LEFT JOIN (SELECT {column} FROM d WHERE {chosen}) d ON f.{column} = d.{column} GROUP BY file"
    )
    total, without = spark.sql(f"SELECT sum(n), sum(IF(found = 0, n, 0)) FROM ({files})").collect()[0]
    return total, without


def _write_dimension(spark: "SparkSession", folder: Path, files: int) -> None:
    """Every key once. Ranges lie in the middle of equal parts of the table."""
    touched = max(1, files // 100)
    sets = [f"id % {_KEYS_OF_FILE} = pmod(hash(id DIV {_KEYS_OF_FILE}), {_KEYS_OF_FILE}) AS in_{_RANDOM}"]
    for ranges in (1, 2, 5, 10):
        part, each = files * _KEYS_OF_FILE // ranges, touched * _KEYS_OF_FILE // ranges
        sets.append(f"id % {part} BETWEEN {part // 2} AND {part // 2 + each - 1} AS in_{ranges}")
    columns = [f"{key.format('id')} AS k_{column}" for column, key in _KEYS.items()]
    rows = spark.range(0, files * _KEYS_OF_FILE, 1, 1).selectExpr(*columns, *sets)
    parquet_once(folder, rows).createOrReplaceTempView("d")


def _line(cell: Cell) -> str:
    of = f"{cell.table}, {cell.key}, {cell.keys}"
    if not cell.same:
        return f"| {of} | **rows differ** |"
    ratio = statistics.median(cell.off) / statistics.median(cell.on)
    interval = median_interval([on / off for off, on in zip(cell.off_processor, cell.on_processor, strict=True)])
    processor = f"{interval.median:.3f} ({interval.low:.3f} to {interval.high:.3f})"
    share = f"{cell.unread:.3f}" if cell.oracle else "-"
    seconds = f"{median_and_range(cell.off, 2)} | {median_and_range(cell.on, 2)}"
    return f"| {of} | {share} | {seconds} | {ratio:.1f}x | {processor} |"


if __name__ == "__main__":
    sys.exit(main())
