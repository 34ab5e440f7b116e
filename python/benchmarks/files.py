"""`make bench-files`: the rows of files that a join's keys leave unread, by the format of the table.

200 files of 50,000 rows, in the order of an integer and of a text with the same order; 20 of 100,000 keys that lie far
apart are joined without a broadcast, so 180 of the files need not be read. `unread` is the share of the rows in these
files that the plugin left unread, by Spark's task metrics, which is above 1 where pages of the other files go unread
too; of the cached table, by the rows that came to the filter. Seconds are medians of the runs, with the fastest and the
slowest, without and with the plugin in turn. The table is printed, and kept in `--out`. Exit code 1 when rows differ.
"""

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.markdown import median_and_range
from benchmarks.session import SessionSettings, spark_session
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).resolve().parents[2] / ".build"
_FORMATS = ("parquet", "orc", "delta", "iceberg", "cached")
_KEYS = {"int": "k", "string": "word"}
_KEPT = 20
_COLUMNS = ("id DIV 100 AS k", "concat('key-', lpad(id DIV 100, 9, '0')) AS word", "id AS v", "md5(string(id)) AS pad")


@dataclass(frozen=True)
class Cell:
    """One format and one key; `off` and `on` are seconds of each run without and with the plugin."""

    table: str
    key: str
    unread: float
    off: list[float]
    on: list[float]
    same: bool


@dataclass(frozen=True)
class _Run:
    seconds: float
    rows_read: int
    answer: tuple[object, ...]


def main() -> int:
    """0 if all rows are the same without and with the plugin."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--files", type=int, default=200, help="number of files")
    parser.add_argument("--rows", type=int, default=50_000, help="rows of a file")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each mode, after one that is not")
    parser.add_argument("--formats", default=",".join(_FORMATS), help="some of the formats")
    parser.add_argument("--out", type=Path, default=_ROOT / "bench-files", help="folder of data, event log and result")
    arguments = parser.parse_args()
    with spark_session(_settings(arguments.out), with_plugin=True) as spark:
        print("| table, key | unread | seconds, Spark | seconds, plugin | ratio |\n|---|---|---|---|---|", flush=True)
        cells = []
        for cell in _cells(spark, arguments):
            cells.append(cell)
            print(_line(cell), flush=True)
    (arguments.out / "cells.json").write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    return int(not all(cell.same for cell in cells))


def _settings(out: Path) -> SessionSettings:
    jars = sorted(str(jar) for name in ("delta", "iceberg") for jar in (_ROOT / "neighbours").glob(f"{name}-*.jar"))
    if not jars:
        raise FileNotFoundError(f"{_ROOT / 'neighbours'} has no jars: run `make neighbour-jars`.")
    confs = {
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": (out / "iceberg").resolve().as_uri(),
        # A task a file: what is read of a file is a matter of the format alone.
        "spark.sql.files.openCostInBytes": "128m",
    }
    return SessionSettings("aqe-plugin bench-files", out / "events", confs=confs)


def _cells(spark: "SparkSession", arguments: argparse.Namespace) -> Iterator[Cell]:
    out, rows = arguments.out / f"{arguments.files}x{arguments.rows}", arguments.files * arguments.rows
    _write_dimension(spark, out / "dimension", rows // 100)
    for table in arguments.formats.split(","):
        relation = _relation(spark, table, out, arguments.files, rows)
        for key, column in _KEYS.items():
            joined = f"{relation} f JOIN d ON f.{column} = d.{column}"
            sql = f"SELECT count(*), sum(f.v), max(f.pad) FROM {joined} WHERE d.kept"
            first = [_run(spark, sql, mode) for mode in ("off", "apply")]
            pairs = [[_run(spark, sql, mode) for mode in ("off", "apply")] for _ in range(arguments.runs)]
            runs = [first, *pairs]
            left = rows - _filtered(spark) if table == "cached" else statistics.median(_unread(pair) for pair in pairs)
            unread = left / (rows - _KEPT * arguments.rows)
            off, on = ([pair[i].seconds for pair in pairs] for i in range(2))
            yield Cell(table, key, unread, off, on, len({run.answer for pair in runs for run in pair}) == 1)
        spark.catalog.clearCache()


def _unread(pair: Sequence[_Run]) -> int:
    return pair[0].rows_read - pair[1].rows_read


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


def _relation(spark: "SparkSession", table: str, out: Path, files: int, rows: int) -> str:
    """What names the table of a format in SQL; it is written unless it exists."""
    frame = spark.range(0, rows, 1, files).selectExpr(*_COLUMNS)
    if table in ("parquet", "cached"):
        kept = parquet_once(out / "parquet", frame)
        kept.createOrReplaceTempView(table)
        if table == "cached":
            kept.cache().count()
        return table
    name = f"ice.t{files}x{rows}" if table == "iceberg" else f"{table}.`{(out / table).resolve()}`"
    if not (out / f"{table}.written").exists():
        if table == "iceberg":
            spark.sql(f"DROP TABLE IF EXISTS {name}")
            frame.writeTo(name).using(table).option("distribution-mode", "none").create()
        else:
            shutil.rmtree(out / table, ignore_errors=True)
            frame.write.format(table).save(str(out / table))
        (out / f"{table}.written").touch()
    return name


def _run(spark: "SparkSession", sql: str, mode: str) -> _Run:
    context = spark.sparkContext
    spark.conf.set("spark.aqePlugin.mode", mode)
    group = f"{sql} {time.monotonic()}"
    context.setJobGroup(group, mode)
    frame = spark.sql(sql)
    begin = time.perf_counter()
    answer = tuple(frame.collect()[0])
    seconds = time.perf_counter() - begin
    context._jsc.sc().listenerBus().waitUntilEmpty()
    store, tracker = context._jsc.sc().statusStore(), context.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if job is not None]
    stages = [store.lastStageAttempt(stage) for stage in {i for job in jobs for i in job.stageIds}]
    read = sum(int(stage.inputRecords()) for stage in stages if stage.status().toString() == "COMPLETE")
    return _Run(seconds, read, answer)


def _line(cell: Cell) -> str:
    if not cell.same:
        return f"| {cell.table}, {cell.key} | **rows differ** |"
    ratio = statistics.median(cell.off) / statistics.median(cell.on)
    seconds = f"{median_and_range(cell.off, 2)} | {median_and_range(cell.on, 2)}"
    return f"| {cell.table}, {cell.key} | {cell.unread:.2f} | {seconds} | {ratio:.1f}x |"


if __name__ == "__main__":
    sys.exit(main())
