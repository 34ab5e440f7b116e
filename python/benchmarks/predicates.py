"""What each kind of inferred predicate saves: seconds and bytes against Spark's defaults.

`python -m benchmarks.predicates` prints a table; `--rows` is the size of the large table.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.configs import Contender
from benchmarks.markdown import median_and_range
from benchmarks.session import SessionSettings, spark_session, turn_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAYS = 100
_SPARK = Contender("spark", "", {"spark.aqePlugin.mode": "off"})
# The joins' own filters are off, so that the difference is that of predicates alone.
_PREDICATES = Contender("plugin", "", {"spark.aqePlugin.mode": "apply", "spark.aqePlugin.filter.maxPassRate": "0"})
_RANGES = Contender("plugin", "", {"spark.aqePlugin.mode": "apply"})

_RANGE_JOIN = "SELECT count(*), sum(f.v) FROM fact f JOIN spans s ON "

# Each query with what it shows; some have nothing to gain, and may cost nothing.
_QUERIES = {
    "equal columns: a condition on two columns prunes partitions": (
        "SELECT count(*), sum(f.v) FROM fact f JOIN dim d ON f.day = d.day AND f.kind = d.kind "
        "WHERE (f.day = 3 AND f.kind = 1) OR (d.day = 5 AND d.kind = 2)"
    ),
    "OR over sides of a left join: partitions": (
        "SELECT count(*), sum(f.v) FROM fact f LEFT JOIN dim d ON f.kind = d.kind "
        "WHERE (f.day = 3 AND d.name = 'n1') OR (f.day IN (5, 6) AND d.name IS NULL)"
    ),
    "OR over sides of a left join: row groups of a clustered column": (
        "SELECT count(*), sum(f.v) FROM fact f LEFT JOIN dim d ON f.kind = d.kind "
        "WHERE (f.id < 1000 AND d.name = 'n1') OR (f.id BETWEEN 2000 AND 3000 AND d.name IS NULL)"
    ),
    "inequalities: a window of days": (
        "SELECT count(*), sum(f.v) FROM fact f JOIN dim d ON f.kind = d.kind AND f.date BETWEEN d.date AND d.date + 3 "
        "WHERE d.date BETWEEN DATE'2020-02-01' AND DATE'2020-02-05'"
    ),
    "inequalities: a chain of three tables": (
        "SELECT count(*), sum(f.v) FROM fact f JOIN dim d ON f.kind = d.kind JOIN dim e ON d.name = e.name "
        "WHERE f.day < d.day AND d.day < e.day AND e.day < 8 AND d.kind < 2"
    ),
    "range join: partitions": _RANGE_JOIN + "f.day BETWEEN s.first_day AND s.last_day",
    "range join: row groups of a clustered column": _RANGE_JOIN + "f.id BETWEEN s.first_id AND s.last_id",
    "range join: partitions, with an equal column": _RANGE_JOIN
    + "f.kind = s.kind AND f.day BETWEEN s.first_day AND s.last_day",
    "range join, nothing to gain: the range is the whole table": _RANGE_JOIN
    + "f.kind = s.kind AND f.day BETWEEN s.first_day - 100 AND s.last_day + 100",
    "nothing to infer: a predicate of one side": (
        "SELECT count(*), sum(f.v) FROM fact f JOIN dim d ON f.kind = d.kind WHERE d.name = 'n1'"
    ),
    "nothing to infer: no predicate": (
        "SELECT count(*), sum(f.v) FROM fact f JOIN dim d ON f.kind = d.kind AND f.day = d.day"
    ),
}


@dataclass(frozen=True)
class Run:
    """One run: the answer, wall seconds, and bytes that its tasks read from files."""

    answer: tuple[object, ...]
    seconds: float
    input_bytes: int


def main() -> int:
    """0 if every answer is the same."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predicates", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the queries whose description has this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = SessionSettings("predicates", Path(folder) / "events", driver_memory="3g", shuffle_partitions=4)
        with spark_session(settings, with_plugin=True) as spark:
            # What other threads read is not counted as the input of a task.
            spark.conf.set("parquet.hadoop.vectored.io.enabled", "false")
            _write(spark, Path(folder), options.rows)
            lines = list(_lines(spark, options.runs, options.only))
    print(
        f"{_what_is_shown(options.runs)}.",
        "",
        "| Query | Spark, s | plugin, s | times faster | Spark, MiB | plugin, MiB |",
        "|---|---|---|---|---|---|",
        sep="\n",
    )
    print(*lines, sep="\n")
    return int(any("differ" in line for line in lines))


def _what_is_shown(runs: int) -> str:
    if runs > 2:
        return "Median seconds and (least to most)"
    return "Seconds of one run" if runs == 1 else "Seconds of both runs, times faster by their means"


def _write(spark: "SparkSession", folder: Path, rows: int) -> None:
    per_day = rows // _DAYS
    day = f"CAST(id DIV {per_day} AS int)"
    fact = (
        f"SELECT id, {day} AS day, date_add(DATE'2020-01-01', {day}) AS date, "
        f"CAST(id % 50 AS int) AS kind, CAST(hash(id) AS bigint) AS v FROM range(0, {rows}, 1, {_DAYS})"
    )
    dim = (
        "SELECT CAST(id % 100 AS int) AS day, date_add(DATE'2020-01-01', CAST(id % 100 AS int)) AS date, "
        "CAST(id % 50 AS int) AS kind, concat('n', id DIV 50) AS name FROM range(400)"
    )
    # Three spans of two days each, all within four days.
    first_day = "CAST(50 + id AS int)"
    spans = (
        f"SELECT {first_day} AS first_day, {first_day} + 1 AS last_day, {first_day} * {per_day}L AS first_id, "
        f"({first_day} + 1) * {per_day}L AS last_id, CAST(id AS int) AS kind FROM range(3)"
    )
    spark.sql(fact).write.partitionBy("day").parquet(str(folder / "fact"))
    spark.sql(dim).write.parquet(str(folder / "dim"))
    spark.sql(spans).write.parquet(str(folder / "spans"))
    for table in ("fact", "dim", "spans"):
        spark.read.parquet(str(folder / table)).createOrReplaceTempView(table)


def _lines(spark: "SparkSession", runs: int, only: str) -> Iterator[str]:
    for name, query in _QUERIES.items():
        if only not in name:
            continue
        plugin = _RANGES if name.startswith("range join") else _PREDICATES
        turns = [[_run(spark, query, contender) for contender in (_SPARK, plugin)] for _ in range(runs + 1)][1:]
        alone, with_plugin = ([turn[side] for turn in turns] for side in (0, 1))
        medians = [statistics.median(run.seconds for run in side) for side in (alone, with_plugin)]
        mebibytes = [side[-1].input_bytes / 2**20 for side in (alone, with_plugin)]
        differ = "" if alone[-1].answer == with_plugin[-1].answer else " **rows differ**"
        yield (
            f"| {name}{differ} | {_spread(alone)} | {_spread(with_plugin)} | {medians[0] / medians[1]:.2f} "
            f"| {mebibytes[0]:.1f} | {mebibytes[1]:.1f} |"
        )


def _spread(runs: list[Run]) -> str:
    return median_and_range([run.seconds for run in runs], 3)


def _run(spark: "SparkSession", query: str, contender: Contender) -> Run:
    with turn_of(spark, contender):
        before, start = _input_bytes(spark), time.perf_counter()
        (answer,) = spark.sql(query).collect()
        seconds = time.perf_counter() - start
        return Run(tuple(answer), seconds, _input_bytes(spark) - before)


def _input_bytes(spark: "SparkSession") -> int:
    context = spark._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().executorSummary("driver").totalInputBytes())


if __name__ == "__main__":
    sys.exit(main())
