"""`make bench-limit`: LIMIT and ORDER BY … LIMIT over many files, under Spark and under the plugin.

A split is a file, as it is with files of the size of a split. Tasks are those of all jobs of a query; every task opens
one file. Exit code 1 when a query has other rows than it may have.
"""

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.session import SessionSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-limit"
_MODES = ("off", "apply")


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
    """The fastest of some runs of one query."""

    seconds: float
    tasks: int
    jobs: int
    rows: tuple[object, ...]


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
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each query in each mode, after one warm-up")
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of the data and the event log")
    arguments = parser.parse_args()
    settings = SessionSettings("aqe-plugin bench-limit", arguments.out / "events")
    with spark_session(settings, with_plugin=True) as spark:
        _table(spark, arguments.out / f"{arguments.files}x{arguments.rows}", arguments.files, arguments.rows)
        print("| Query | Seconds, Spark | Seconds, plugin | Ratio | Tasks, Spark | Tasks, plugin | Jobs |")
        print("|---|---|---|---|---|---|---|")
        same = [_compare(spark, query, arguments.runs) for query in limit_queries(arguments.files * arguments.rows)]
    return 0 if all(same) else 1


def _table(spark: "SparkSession", folder: Path, files: int, rows: int) -> None:
    """Registers the table `t`: `id` is clustered by file, `u` is spread over all files; written unless it exists."""
    if not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)
        frame = spark.range(0, files * rows, 1, files)
        columns = ("id", "abs(xxhash64(id)) AS u", "concat('payload ', id) AS s")
        frame.selectExpr(*columns).write.parquet(str(folder))
    spark.conf.set("spark.sql.files.openCostInBytes", "128m")
    spark.read.parquet(str(folder)).createOrReplaceTempView("t")


def _compare(spark: "SparkSession", query: LimitQuery, runs: int) -> bool:
    found: dict[str, LimitRun] = {}
    for mode in _MODES:
        _run(spark, query, mode)
    for _ in range(runs):
        for mode in _MODES:
            run = _run(spark, query, mode)
            if mode not in found or run.seconds < found[mode].seconds:
                found[mode] = run
    plain, ours = (found[mode] for mode in _MODES)
    ratio = plain.seconds / ours.seconds
    print(
        f"| {query.name} | {plain.seconds:.2f} | {ours.seconds:.2f} | {ratio:.1f} "
        f"| {plain.tasks:,} | {ours.tasks:,} | {plain.jobs} / {ours.jobs} |",
        flush=True,
    )
    return plain.rows == ours.rows if query.exact else len(plain.rows) == len(ours.rows)


def _run(spark: "SparkSession", query: LimitQuery, mode: str) -> LimitRun:
    context = spark.sparkContext
    spark.conf.set("spark.aqePlugin.mode", mode)
    group = f"{query.name} {time.monotonic()}"
    context.setJobGroup(group, query.name)
    begin = time.perf_counter()
    rows = tuple(spark.sql(query.sql).collect())
    seconds = time.perf_counter() - begin
    tracker = context.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if job is not None]
    stages = [
        stage for stage in map(tracker.getStageInfo, {i for job in jobs for i in job.stageIds}) if stage is not None
    ]
    tasks = sum(stage.numCompletedTasks + stage.numFailedTasks + stage.numActiveTasks for stage in stages)
    return LimitRun(seconds, tasks, len(jobs), rows)


if __name__ == "__main__":
    sys.exit(main())
