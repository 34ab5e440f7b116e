"""Tables of each format that the benchmarks of files read, and what one run of a query over them took."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from benchmarks.process import processor_seconds
from benchmarks.session import SessionSettings
from benchmarks.tables import parquet_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Cell = TypeVar("Cell", bound="Measured")

BUILT = Path(__file__).resolve().parents[2] / ".build"


@dataclass(frozen=True)
class Run:
    """One run of a query.

    Attributes:
        processor_seconds: of the JVM, which is driver and executors, with its compiler and collector.
        rows_read: of all files, by the metrics of the tasks; so are `bytes_read`.
    """

    seconds: float
    processor_seconds: float
    rows_read: int
    bytes_read: int
    answer: tuple[object, ...]


def settings(application: str, out: Path, confs: Mapping[str, str]) -> SessionSettings:
    """A session with Delta as its own catalog and Iceberg as the catalog `ice`.

    Raises:
        FileNotFoundError: their jars are missing.
    """
    jars = sorted(str(jar) for name in ("delta", "iceberg") for jar in (BUILT / "neighbours").glob(f"{name}-*.jar"))
    if not jars:
        raise FileNotFoundError(f"{BUILT / 'neighbours'} has no jars: run `make neighbour-jars`.")
    formats = {
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": (out / "iceberg").resolve().as_uri(),
        # What a run has read is asked of all its stages when it has ended; by default Spark forgets those beyond 1,000.
        "spark.ui.retainedStages": "100000",
    }
    return SessionSettings(application, out / "events", confs={**formats, **confs})


def relation(table: str, name: str, out: Path, frame: "DataFrame") -> str:
    """What names the table of a format in SQL; it is written unless it exists, a file for each partition of `frame`.

    Args:
        name: of a table of Iceberg.
        out: the folder of all others.
    """
    spark = frame.sparkSession
    if table in ("parquet", "cached"):
        kept = parquet_once(out / "parquet", frame)
        kept.createOrReplaceTempView(table)
        if table == "cached":
            kept.cache().count()
        return table
    named = f"ice.{name}" if table == "iceberg" else f"{table}.`{(out / table).resolve()}`"
    if not (out / f"{table}.written").exists():
        if table == "iceberg":
            spark.sql(f"DROP TABLE IF EXISTS {named}")
            frame.writeTo(named).using(table).option("distribution-mode", "none").create()
        else:
            shutil.rmtree(out / table, ignore_errors=True)
            frame.write.format(table).save(str(out / table))
        (out / f"{table}.written").touch()
    return named


def run(spark: "SparkSession", sql: str, mode: str) -> Run:
    """One run of a query in a mode of the plugin."""
    spark.conf.set("spark.aqePlugin.mode", mode)
    frame = spark.sql(sql)
    return measured(spark, mode, lambda: tuple(frame.collect()[0]))


def measured(spark: "SparkSession", mode: str, action: Callable[[], tuple[object, ...]]) -> Run:
    """One run of an action in a mode of the plugin."""
    context = spark.sparkContext
    spark.conf.set("spark.aqePlugin.mode", mode)
    group = f"{mode} {time.monotonic()}"
    context.setJobGroup(group, mode)
    begin, processor_begin = time.perf_counter(), processor_seconds(context)
    answer = action()
    seconds, processor = time.perf_counter() - begin, processor_seconds(context) - processor_begin
    context._jsc.sc().listenerBus().waitUntilEmpty()
    store, tracker = context._jsc.sc().statusStore(), context.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)) if job is not None]
    stages = [store.lastStageAttempt(stage) for stage in {i for job in jobs for i in job.stageIds}]
    done = [stage for stage in stages if stage.status().toString() == "COMPLETE"]
    rows, read = sum(int(stage.inputRecords()) for stage in done), sum(int(stage.inputBytes()) for stage in done)
    return Run(seconds, processor, rows, read, answer)


def unread(pair: Sequence[Run]) -> int:
    """Rows that the second run did not read and the first did."""
    return pair[0].rows_read - pair[1].rows_read


class Measured(Protocol):
    """A cell of a table: a dataclass, which says whether all of its runs gave the same."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def same(self) -> bool: ...


def told(head: Sequence[str], cells: "Iterator[Cell]", line: "Callable[[Cell], str]", out: Path) -> int:
    """Prints each cell once it is measured, and keeps all in `cells.json`; 0 if the runs of each gave the same."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    measured = []
    for cell in cells:
        measured.append(cell)
        print(line(cell), flush=True)
    (out / "cells.json").write_text(json.dumps([asdict(cell) for cell in measured], indent=1) + "\n")
    return int(not all(cell.same for cell in measured))
