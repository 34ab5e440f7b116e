"""`make bench-limit`: LIMIT and ORDER BY … LIMIT over many files, under Spark and under the plugin.

A split is a file, as it is with files of the size of a split. Seconds are those of each run, of three runs and more the
median with the fastest and the slowest, until the driver's JVM has the rows; the ratio is that of medians, of two runs
that of means; Python gets and compares the rows of one more run. Tasks and rows are those of
all jobs of a query. Spark opens one file in each task; the plugin's footers are read by the driver. Exit code 1 when a
query has other rows than it may have.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.markdown import median_and_range
from benchmarks.session import SessionSettings, spark_session
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-limit"
_MODES = ("off", "apply")

# A query of milliseconds is repeated, so that its median says more than the machine's noise.
_LEAST_SECONDS = 6.0
_MOST_PAIRS = 60


@dataclass(frozen=True)
class LimitQuery:
    """One query.

    Attributes:
        exact: whether its rows are the same in every run; otherwise only their number is.
    """

    name: str
    sql: str
    exact: bool = False


@dataclass(frozen=True)
class LimitRun:
    """One run of one query."""

    seconds: float
    tasks: int
    files: int
    footers: int
    rows_read: int


def limit_queries(rows: int) -> list[LimitQuery]:
    """The queries over a table of ``rows`` rows."""
    return [
        LimitQuery("LIMIT 10", "SELECT * FROM t LIMIT 10"),
        LimitQuery("LIMIT 100000", "SELECT id, u FROM t LIMIT 100000"),
        LimitQuery("LIMIT 100000 inside", "SELECT count(*) FROM (SELECT id FROM t LIMIT 100000)", exact=True),
        LimitQuery("1 row in 10^5, LIMIT 100", "SELECT id FROM t WHERE u % 100000 = 7 LIMIT 100"),
        LimitQuery("clustered filter, LIMIT 100", f"SELECT id FROM t WHERE id >= {rows * 9 // 10} LIMIT 100"),
        LimitQuery("top-100, clustered", "SELECT id, u FROM t ORDER BY id DESC LIMIT 100", exact=True),
        LimitQuery("top-100, unclustered", "SELECT id, u FROM t ORDER BY u, id LIMIT 100", exact=True),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limit", description=__doc__)
    parser.add_argument("--files", type=int, default=2000, help="number of files")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a file")
    parser.add_argument(
        "--runs",
        type=int,
        default=3,
        help="timed runs of each query in each mode, after one warm-up; short queries run more often",
    )
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of the data and the event log")
    arguments = parser.parse_args()
    settings = SessionSettings("aqe-plugin bench-limit", arguments.out / "events")
    with spark_session(settings, with_plugin=True) as spark:
        _table(spark, arguments.out / f"{arguments.files}x{arguments.rows}", arguments.files, arguments.rows)
        print("| Query | Seconds, Spark | Seconds, plugin | Ratio | Tasks | Files opened | Footers | Rows read |")
        print("|---|---|---|---|---|---|---|---|")
        same = [_compare(spark, query, arguments.runs) for query in limit_queries(arguments.files * arguments.rows)]
    return 0 if all(same) else 1


def _table(spark: "SparkSession", folder: Path, files: int, rows: int) -> None:
    """Registers the table `t`: `id` is clustered by file, `u` is spread over all files; written unless it exists."""
    columns = ("id", "abs(xxhash64(id)) AS u", "concat('payload ', id) AS s")
    table = parquet_once(folder, spark.range(0, files * rows, 1, files).selectExpr(*columns))
    spark.conf.set("spark.sql.files.openCostInBytes", "128m")
    table.createOrReplaceTempView("t")


def _compare(spark: "SparkSession", query: LimitQuery, runs: int) -> bool:
    without, with_plugin = (_rows(spark, query, mode) for mode in _MODES)
    pairs = _pairs(spark, query, runs)
    plain, ours = ([pair[i] for pair in pairs] for i in range(len(_MODES)))
    ratio = _median(plain) / _median(ours)
    print(
        f"| {query.name} | {_seconds(plain)} | {_seconds(ours)} | {ratio:.2f} "
        f"| {plain[-1].tasks:,} / {ours[-1].tasks:,} | {plain[-1].files:,} / {ours[-1].files:,} "
        f"| {ours[-1].footers:,} | {plain[-1].rows_read:,} / {ours[-1].rows_read:,} |",
        flush=True,
    )
    return without == with_plugin if query.exact else len(without) == len(with_plugin)


def _rows(spark: "SparkSession", query: LimitQuery, mode: str) -> list[tuple[object, ...]]:
    spark.conf.set("spark.aqePlugin.mode", mode)
    return [tuple(row) for row in spark.sql(query.sql).collect()]


def _pairs(spark: "SparkSession", query: LimitQuery, runs: int) -> list[tuple[LimitRun, LimitRun]]:
    """Runs without and with the plugin; the one that begins takes turns."""
    pairs: list[tuple[LimitRun, LimitRun]] = []
    seconds = 0.0
    while len(pairs) < runs or (seconds < _LEAST_SECONDS and len(pairs) < _MOST_PAIRS):
        begins_with_plugin = len(pairs) % 2
        turns = {mode: _run(spark, query, mode) for mode in (reversed(_MODES) if begins_with_plugin else _MODES)}
        seconds += sum(run.seconds for run in turns.values())
        pairs.append((turns["off"], turns["apply"]))
    return pairs


def _median(runs: list[LimitRun]) -> float:
    return statistics.median(run.seconds for run in runs)


def _seconds(runs: list[LimitRun]) -> str:
    return median_and_range([run.seconds for run in runs], 2)


def _run(spark: "SparkSession", query: LimitQuery, mode: str) -> LimitRun:
    context = spark.sparkContext
    spark.conf.set("spark.aqePlugin.mode", mode)
    group = f"{query.name} {time.monotonic()}"
    context.setJobGroup(group, query.name)
    begin = time.perf_counter()
    spark.sql(query.sql)._jdf.collect()
    seconds = time.perf_counter() - begin
    context._jsc.sc().listenerBus().waitUntilEmpty()
    store = context._jsc.sc().statusStore()
    tracker = context.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if job is not None]
    stages = [store.lastStageAttempt(stage) for stage in {i for job in jobs for i in job.stageIds}]
    # A skipped stage has no tasks.
    tasks = sum(stage.numCompleteTasks() + stage.numFailedTasks() + stage.numKilledTasks() for stage in stages)
    read = sum(stage.inputRecords() for stage in stages)
    scanning = sum(stage.numTasks() for stage in stages if stage.inputRecords())
    files, footers = _reported(spark, scanning) if mode == "apply" else (scanning, 0)
    return LimitRun(seconds, tasks, files, footers, read)


def _reported(spark: "SparkSession", tasks: int) -> tuple[int, int]:
    """The files that tasks have opened, and the footers, of the latest limit; Spark opens one file in each task."""
    latest = spark.sql("SELECT splits, footers FROM aqe_limits() ORDER BY execution_id DESC, decided_at DESC LIMIT 1")
    row = latest.collect()[0]
    return (tasks if row.splits is None else row.splits), row.footers


if __name__ == "__main__":
    sys.exit(main())
