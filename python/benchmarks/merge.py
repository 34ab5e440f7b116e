"""`make bench-merge`: a MERGE whose keys are in one of a hundred files of its target.

The target's files are in the order of the key; rows have 200 bytes. The source has a range of keys for each touched
file, far apart. Delta finds files with a key and writes them anew; Iceberg writes deleted positions and new rows
(merge-on-read). After each run the table is set back. `read` is what tasks read of the target, in bytes of the touched
files: what the MERGE read, less what one read that touches no file, because a condition on the target excludes all. Of
Iceberg, whose reads Spark's metrics miss for the most part, it is all that the process read, shuffles included.
Seconds are medians of the runs, with the fastest and the slowest, without and with the plugin in turn; the ratio is
that of what is left after subtracting the MERGE that touches none, without and with the plugin. The table is printed,
and kept in `--out`. Exit code 1 when the changed tables differ.
"""

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.file_tables import BUILT, Run, measured, settings, told
from benchmarks.markdown import median_and_range
from benchmarks.process import bytes_read
from benchmarks.session import spark_session
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = ("delta", "delta-dv", "iceberg")
_DELTA = {"delta": "false", "delta-dv": "true"}
_MODES = ("off", "apply")
# 16 bytes of numbers, and a text of 184 that no codec of Parquet shortens to nothing.
_COLUMNS = (
    "id AS k",
    "id % 1000 AS v",
    "substring(concat(sha2(string(id), 512), sha2(string(-id), 256)), 1, 184) AS pad",
)
_MERGE_ON_READ = {
    "format-version": "2",
    "write.merge.mode": "merge-on-read",
    "write.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
}


@dataclass(frozen=True)
class Cell:
    """One format; seconds and bytes of each run, `off` and `on`, and of a MERGE that touches no file.

    Attributes:
        touched: bytes of the files with a key.
    """

    table: str
    touched: int
    off: list[Run]
    on: list[Run]
    none_off: list[Run]
    none_on: list[Run]

    def read(self, *, on: bool) -> float:
        """Bytes of the target that were read, in bytes of the touched files."""
        runs, none = (self.on, self.none_on) if on else (self.off, self.none_off)
        return (_median(runs, "bytes_read") - _median(none, "bytes_read")) / self.touched

    def share(self) -> float:
        """Seconds with the plugin as a share of those without, of what a MERGE that touches none does not take."""
        on, off = (
            _median(a, "seconds") - _median(b, "seconds")
            for a, b in ((self.on, self.none_on), (self.off, self.none_off))
        )
        return on / off

    @property
    def same(self) -> bool:
        """Whether all runs have made the same of the table."""
        return (
            len({run.answer for run in (*self.off, *self.on)})
            == 1
            == len({run.answer for run in (*self.none_off, *self.none_on)})
        )


@dataclass(frozen=True)
class _Target:
    """A table, and how it is set back to what was written first."""

    name: str
    set_back: str


def main() -> int:
    """0 if the changed tables are the same without and with the plugin."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000, help="rows of the target")
    parser.add_argument("--files", type=int, default=1000, help="files of the target")
    parser.add_argument("--keys", type=int, default=1000, help="keys in each touched file")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each mode, after one that is not")
    parser.add_argument("--formats", default=",".join(_FORMATS), help="some of the formats")
    parser.add_argument("--out", type=Path, default=BUILT / "bench-merge", help="folder of data, event log and result")
    arguments = parser.parse_args()
    # Spark does not count what Parquet's vectored reads fetch in threads of their own.
    confs = {"spark.hadoop.parquet.hadoop.vectored.io.enabled": "false"}
    with spark_session(settings("aqe-plugin bench-merge", arguments.out, confs), with_plugin=True) as spark:
        head = ("table", "read, Spark", "read, plugin", "seconds, Spark", "seconds, plugin", "touches none", "share")
        return told(head, _cells(spark, arguments), _line, arguments.out)


def _cells(spark: "SparkSession", arguments: argparse.Namespace) -> Iterator[Cell]:
    out = arguments.out / f"{arguments.files}x{arguments.rows}"
    _write_source(spark, out / f"source{arguments.keys}", arguments)
    for table in arguments.formats.split(","):
        target = _target(spark, table, out, arguments)
        touched = _touched(spark, table, target)
        merge = (
            f"MERGE INTO {target.name} t USING source s ON t.k = s.k{{}} WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED AND s.v > 1000000 THEN INSERT (k, v, pad) VALUES (s.k, s.v, '')"
        )
        found: dict[tuple[str, str], list[Run]] = {}
        for turn in range(arguments.runs + 1):
            for condition in (" AND t.k < 0", ""):
                for mode in _MODES:
                    run = _run(spark, merge.format(condition), target, mode)
                    if turn > 0:
                        found.setdefault((condition, mode), []).append(run)
        runs = [found[condition, mode] for condition in ("", " AND t.k < 0") for mode in _MODES]
        yield Cell(table, touched, *runs)


def _write_source(spark: "SparkSession", folder: Path, arguments: argparse.Namespace) -> None:
    """For one file of a hundred, keys in the middle of the file."""
    touched, in_file = max(1, arguments.files // 100), arguments.rows // arguments.files
    first = f"(id DIV {arguments.keys}) * {arguments.files // touched * in_file} + {(in_file - arguments.keys) // 2}"
    keys = spark.range(0, touched * arguments.keys, 1, 1)
    parquet_once(folder, keys.selectExpr(f"{first} + id % {arguments.keys} AS k", "-id AS v")).createOrReplaceTempView(
        "source"
    )


def _target(spark: "SparkSession", table: str, out: Path, arguments: argparse.Namespace) -> _Target:
    """The table of a format, which is written unless it exists, as it was written."""
    frame = spark.range(0, arguments.rows, 1, arguments.files).selectExpr(*_COLUMNS)
    is_written = (out / f"{table}.written").exists()
    if table == "iceberg":
        name = f"ice.t{arguments.files}x{arguments.rows}"
        if not is_written:
            spark.sql(f"DROP TABLE IF EXISTS {name}")
            writer = frame.writeTo(name).using(table)
            for key, value in _MERGE_ON_READ.items():
                writer = writer.tableProperty(key, value)
            writer.option("distribution-mode", "none").create()
        first = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0]
        target = _Target(name, f"CALL ice.system.rollback_to_snapshot('{name.removeprefix('ice.')}', {first})")
    else:
        name = f"delta.`{(out / table).resolve()}`"
        if not is_written:
            shutil.rmtree(out / table, ignore_errors=True)
            frame.write.format("delta").option("delta.enableDeletionVectors", _DELTA[table]).save(str(out / table))
        target = _Target(name, f"RESTORE TABLE {name} TO VERSION AS OF 0")
    (out / f"{table}.written").touch()
    spark.sql(target.set_back)
    return target


def _touched(spark: "SparkSession", table: str, target: _Target) -> int:
    """Bytes of the files with a key of the source."""
    name, size = ("t._file", "z.size") if table == "iceberg" else ("t._metadata.file_path", "t._metadata.file_size")
    sizes = f"JOIN (SELECT file_path, file_size_in_bytes AS size FROM {target.name}.files) z ON z.file_path = t._file"
    files = f"{target.name} t JOIN source s ON t.k = s.k {sizes if table == 'iceberg' else ''}"
    return int(
        spark.sql(f"SELECT sum(size) FROM (SELECT DISTINCT {name}, {size} AS size FROM {files})").collect()[0][0]
    )


def _run(spark: "SparkSession", merge: str, target: _Target, mode: str) -> Run:
    """One MERGE; its answer is what it has made of the table."""
    read_before = bytes_read(spark.sparkContext)
    run = measured(spark, mode, lambda: tuple(map(tuple, spark.sql(merge).collect())))
    if target.name.startswith("ice."):
        run = replace(run, bytes_read=bytes_read(spark.sparkContext) - read_before)
    spark.conf.set("spark.aqePlugin.mode", "off")
    rows = spark.sql(f"SELECT count(*), sum(v), sum(k) FROM {target.name}").collect()[0]
    spark.sql(target.set_back)
    return replace(run, answer=(run.answer, tuple(rows)))


def _median(runs: list[Run], what: str) -> float:
    return float(statistics.median(getattr(run, what) for run in runs))


def _line(cell: Cell) -> str:
    if not cell.same:
        return f"| {cell.table} | **tables differ** |"
    seconds = [median_and_range([run.seconds for run in runs], 2) for runs in (cell.off, cell.on)]
    none = " and ".join(f"{_median(runs, 'seconds'):.2f}" for runs in (cell.none_off, cell.none_on))
    read = [f"{cell.read(on=on):.2f}" for on in (False, True)]
    return f"| {' | '.join([cell.table, *read, *seconds, none, f'{cell.share():.2f}'])} |"


if __name__ == "__main__":
    sys.exit(main())
