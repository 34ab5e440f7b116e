"""`make bench-sketch`: what it costs to sketch a build side's keys while its map stage runs.

A build side is joined by each of its keys, in turn with `spark.aqePlugin.sketch.maxKeys` 0, which sketches nothing, and
100000, its default. Every gate is open, so that the keys become a filter either way; a further job makes it unless the
sketch kept every key. Reported are medians (of two rounds, means): CPU seconds of the tasks of the build side's map
stage, and wall seconds of the query. Ratios compare the two runs of a round; nanoseconds per row are the CPU time that
the sketch added in a round, divided by the rows. In brackets are the least and the greatest. Exit code 1 when rows
differ or a query failed.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.configs import MODE_KEY, Contender
from benchmarks.markdown import median_and_range
from benchmarks.measure import Plan, QueryResult, measure, run_description
from benchmarks.session import SessionSettings, spark_session
from benchmarks.tables import parquet_once
from workloads.tpcds.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-sketch"
_CONFS = {
    MODE_KEY: "apply",
    "spark.aqePlugin.test.openGates": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
_WITHOUT, _WITH = (
    Contender(f"maxKeys={keys}", "", {**_CONFS, "spark.aqePlugin.sketch.maxKeys": keys}) for keys in ("0", "100000")
)


@dataclass(frozen=True)
class Key:
    """One key: its expressions over `id`, the number of a row; `probe` has values that `build` has too."""

    name: str
    values: str
    build: str
    probe: str


KEYS = {
    key.name: key
    for key in (
        Key("few", "500", "CAST(pmod(hash(id), 500) AS int)", "CAST(id % 500 AS int)"),
        Key("mid", "60,000", "CAST(pmod(hash(id), 60000) AS int)", "CAST(id % 60000 AS int)"),
        Key("many", "10^8", "pmod(xxhash64(id), 100000000)", "id"),
        Key("few_strings", "500", "concat('key-', pmod(hash(id), 500))", "concat('key-', id % 500)"),
        Key("strings", "2,000,000", "concat('key-', pmod(hash(id), 2000000))", "concat('key-', id % 2000000)"),
    )
}


@dataclass(frozen=True)
class Pairs:
    """One quantity, a pair for each round: without the sketch and with it."""

    without: tuple[float, ...]
    sketched: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        return [b / a for a, b in zip(self.without, self.sketched, strict=True)]

    @property
    def added(self) -> list[float]:
        return [b - a for a, b in zip(self.without, self.sketched, strict=True)]


@dataclass(frozen=True)
class SketchCost:
    """What the sketch of one key cost.

    Attributes:
        distinct: distinct keys that the sketch counted; None when there was none.
        cpu_seconds: of all tasks of the build side's map stage.
        wall_seconds: of the whole query.
    """

    key: Key
    rows: int
    distinct: int | None
    cpu_seconds: Pairs
    wall_seconds: Pairs

    @property
    def added_nanos_per_row(self) -> list[float]:
        return [seconds * 1e9 / self.rows for seconds in self.cpu_seconds.added]


HEAD = (
    "| key | values | distinct keys, as sketched | stage CPU s, without | stage CPU s, with | ratio | ns per row "
    "| query s, without | query s, with | ratio |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def line_of(cost: SketchCost) -> str:
    """The cost as a line of the table below `HEAD`."""
    cpu, wall = cost.cpu_seconds, cost.wall_seconds
    cells = (
        cost.key.name,
        cost.key.values,
        "-" if cost.distinct is None else f"{cost.distinct:,}",
        f"{statistics.median(cpu.without):.2f}",
        f"{statistics.median(cpu.sketched):.2f}",
        median_and_range(cpu.ratios, 3),
        median_and_range(cost.added_nanos_per_row, 1),
        f"{statistics.median(wall.without):.2f}",
        f"{statistics.median(wall.sketched):.2f}",
        median_and_range(wall.ratios, 3),
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    arguments = _parser().parse_args()
    unknown = [name for name in arguments.keys if name not in KEYS]
    if unknown:
        print(f"unknown key {', '.join(unknown)}; there are: {', '.join(KEYS)}", file=sys.stderr)
        return 2
    settings = SessionSettings("aqe-plugin bench-sketch", arguments.out / "events", shuffle_partitions=16)
    with spark_session(settings, with_plugin=True) as spark:
        _report("writing the tables unless they exist")
        _register(spark, arguments.out / str(arguments.rows), arguments.rows)
        print(HEAD, flush=True)
        wrong = False
        for name in arguments.keys:
            result = measure(spark, _query(KEYS[name]), (_WITHOUT, _WITH), Plan(runs=arguments.runs), _report)
            problems = list(_problems(result))
            wrong = wrong or bool(problems)
            line = "; ".join(problems) if problems else line_of(_cost(spark, KEYS[name], result, arguments.rows))
            print(line, flush=True)
    return int(wrong)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sketch", description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000, help="rows of the build side")
    parser.add_argument("--runs", type=int, default=7, help="timed rounds of each key, after one warm-up")
    parser.add_argument(
        "--keys", type=lambda names: names.split(","), default=list(KEYS), help=f"some of {','.join(KEYS)}"
    )
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of the data and the event log")
    return parser


def _report(line: str) -> None:
    """Progress, apart from the table on standard output."""
    print(line, file=sys.stderr, flush=True)


def _register(spark: "SparkSession", folder: Path, rows: int) -> None:
    """Registers `build`, of this many rows, and `probe`, of an eighth more, so that their stages differ."""
    payload = ("id * 1.5D AS v", "CAST(id % 7 AS int) AS w")
    build = spark.range(rows).selectExpr(*(f"{key.build} AS {key.name}" for key in KEYS.values()), *payload)
    probe = spark.range(rows * 9 // 8).selectExpr(*(f"{key.probe} AS {key.name}" for key in KEYS.values()))
    for name, frame in (("build", build), ("probe", probe)):
        parquet_once(folder / name, frame.repartition(8)).createOrReplaceTempView(name)


def _query(key: Key) -> Query:
    sql = (
        f"SELECT /*+ MERGE(b) */ count(*) FROM probe LEFT SEMI JOIN (SELECT {key.name}, v, w FROM build) b "
        f"ON probe.{key.name} = b.{key.name}"
    )
    return Query(key.name, sql, sql)


def _problems(result: QueryResult) -> Iterator[str]:
    for timing in result.timings:
        if timing.failure:
            yield f"{timing.contender} failed: {timing.failure}"
    for contender, difference in result.rows_differ.items():
        yield f"rows of {contender} differ: {difference}"


def _cost(spark: "SparkSession", key: Key, result: QueryResult, rows: int) -> SketchCost:
    wall = Pairs(*(timing.seconds for timing in result.timings))
    runs = range(1, len(wall.without) + 1)
    written = _cpu_seconds_of_stages(spark, rows)
    cpu = Pairs(
        *(
            tuple(written[run_description(key.name, contender.name, run)] for run in runs)
            for contender in (_WITHOUT, _WITH)
        )
    )
    last = run_description(key.name, _WITH.name, len(wall.sketched))
    decided = spark.sql(f"SELECT build_distinct_keys FROM aqe_decisions() WHERE description = '{last}'").collect()
    return SketchCost(key, rows, decided[0][0] if decided else None, cpu, wall)


def _cpu_seconds_of_stages(spark: "SparkSession", written_rows: int) -> dict[str, float]:
    """Run description → CPU seconds of the stage that wrote this many rows to the shuffle."""
    context = spark.sparkContext
    gateway, jvm, scala_context = context._gateway, context._jvm, context._jsc.sc()
    assert gateway is not None
    assert jvm is not None
    scala_context.listenerBus().waitUntilEmpty()
    no_quantiles = gateway.new_array(jvm.double, 0)
    stages = scala_context.statusStore().stageList(None, False, False, no_quantiles, None)
    found = {}
    for stage in (stages.apply(index) for index in range(stages.size())):
        if stage.shuffleWriteRecords() == written_rows and stage.description().isDefined():
            found[stage.description().get()] = stage.executorCpuTime() / 1e9
    return found


if __name__ == "__main__":
    sys.exit(main())
