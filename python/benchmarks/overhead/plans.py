"""How long Spark plans queries that are hard to plan, without and with the plugin."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.configs import Contender
from benchmarks.overhead.queries import SPARK
from benchmarks.overhead.slower import ratio_of
from benchmarks.process import processor_seconds
from benchmarks.session import turn_of
from benchmarks.tables import parquet_once
from benchmarks.turns import turned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOINS = 100
_COLUMNS = 2000
_WARM_UPS = 3
_LINKS = 10_000  # file systems allow some ten thousands to one file


def register(spark: "SparkSession", folder: Path, partitions: int) -> dict[str, str]:
    """Makes the tables that are missing; returns the query of each kind of plan."""
    # Spark resolves one join of a chain at a time.
    spark.conf.set("spark.sql.analyzer.maxIterations", str(2 * _JOINS))
    narrow = spark.range(0, 1000, 1, 1).selectExpr("id AS k", "id % 7 AS v")
    parquet_once(folder / "narrow", narrow).createOrReplaceTempView("narrow")
    wide = spark.range(0, 10, 1, 1).selectExpr("id AS k", *(f"id + {n} AS c{n}" for n in range(_COLUMNS)))
    parquet_once(folder / "wide", wide).createOrReplaceTempView("wide")
    split = folder / f"split{partitions}"
    _make_partitions(spark, split, partitions)
    spark.read.schema("v bigint, day int").option("basePath", str(split)).parquet(str(split)).createOrReplaceTempView(
        "split"
    )
    joined = "".join(f" JOIN narrow n{n} ON n{n}.k = n0.k AND n{n}.v = {n % 7}" for n in range(1, _JOINS + 1))
    sums = ", ".join(f"sum(w.c{n})" for n in range(_COLUMNS))
    return {
        f"{_JOINS} joins": f"SELECT count(*) FROM narrow n0{joined}",
        f"{_COLUMNS:,} columns": f"SELECT {sums} FROM wide w JOIN narrow n ON w.k = n.k WHERE n.v = 3",
        f"{partitions:,} partitions": "SELECT count(*) FROM split s JOIN narrow n ON s.day = n.k WHERE n.v = 3",
    }


def _make_partitions(spark: "SparkSession", folder: Path, partitions: int) -> None:
    """A partitioned table of links to few files: what is planned is a list of files, and nobody reads them."""
    if (folder / "written").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    one = folder.with_name("one-partition")
    parquet_once(one, spark.range(0, 1, 1, 1).selectExpr("id AS v"))
    file = next(one.glob("part-*.parquet"))
    for number in range(partitions):
        part = folder / f"day={number}" / "part.parquet"
        part.parent.mkdir(exist_ok=True)
        if number % _LINKS == 0:
            shutil.copy(file, part)
            file = part
        elif not part.exists():
            part.hardlink_to(file)
    (folder / "written").touch()


def planned(
    spark: "SparkSession",
    queries: Mapping[str, str],
    contenders: Sequence[Contender],
    runs: int,
    report: Callable[[str], None],
) -> Iterator[str]:
    """Lines: processor seconds of planning alone, and their ratio."""
    yield f"| planned | Spark, processor s | {' | '.join(f'{one.name} / Spark' for one in contenders)} |"
    yield f"|---|---:|{'---:|' * len(contenders)}"
    everyone = (SPARK, *contenders)
    for name, text in queries.items():
        taken: dict[str, list[float]] = {contender.name: [] for contender in everyone}
        for turn in range(-_WARM_UPS, runs):
            for contender in turned(everyone, turn):
                report(f"planning · {name} · {contender.name} · run {turn + 1}")
                with turn_of(spark, contender):
                    seconds = _plan(spark, text)
                if turn >= 0:
                    taken[contender.name].append(seconds)
        cells = []
        for contender in contenders:
            ratio = ratio_of(taken[contender.name], taken[SPARK.name], 1.1)
            cells.append(f"{ratio.middle:.3f} ({ratio.low:.2f} to {ratio.high:.2f})")
        mean = sum(taken[SPARK.name]) / runs
        yield f"| {name} | {mean:.3f} | {' | '.join(cells)} |"


def _plan(spark: Any, text: str) -> float:
    context = spark.sparkContext
    context._jvm.System.gc()
    time.sleep(0.05)
    before = processor_seconds(context)
    spark._jsparkSession.sql(text).queryExecution().executedPlan()
    return processor_seconds(context) - before
