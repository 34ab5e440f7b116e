"""Job: new and grown event logs into tables, each application attempt once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from aqe_plugin.errors import EventLogError
from aqe_plugin.events import SCHEMA_VERSION
from aqe_plugin.pipeline.lines import event_lines, kind_of
from aqe_plugin.pipeline.listing import attempts_in, files_below, parts_of
from aqe_plugin.pipeline.parse import UNKNOWN_VERSION, applications, parsed, rejected, whole
from aqe_plugin.pipeline.queries import decisions_of, outcomes_of, queries_of
from aqe_plugin.pipeline.schemas import TABLES
from aqe_plugin.pipeline.warehouse import Commit, Warehouse, last_runs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Ingested", "changed_attempts", "ingest"]

_LINES = "log string, position struct<part: int, block: bigint, row: bigint>, kind string, line string"
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one run did; ``run`` is ``None`` when there was nothing new.

    Attributes:
        attempts: application attempts that were new or had changed.
        files: files that were read for them; ``bytes_read`` their size as they lie there.
        rejected: lines kept aside in the table ``rejected``.
    """

    run: str | None
    attempts: int
    files: int
    bytes_read: int
    decisions: int
    queries: int
    rejected: int


def ingest(spark: SparkSession, logs: Sequence[str], tables: str) -> Ingested:
    """Reads what is new in the folders ``logs`` into the tables at ``tables``.

    Done again it does nothing; killed anywhere it has done nothing, and the next one does it all.

    Raises:
        EventLogError: a folder is not there, or files vanish faster than they can be read.
        TablesError: the tables are of a newer aqe-plugin.
    """
    house = Warehouse(spark, tables)
    for _ in range(_TRIES):
        try:
            return _ingest(house, list(logs))
        except AnalysisException as error:
            # Between listing and reading, an application ended and its log was renamed.
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
    raise EventLogError(f"{', '.join(logs)}: files vanish while they are read. Try again.")


def changed_attempts(found: DataFrame, known: DataFrame, retried: DataFrame) -> DataFrame:
    """``log, inProgress, files`` of the attempts to read: those that are new, those whose files are not what they were,
    and those in ``retried``, whose files may be gone.

    Args:
        found: as ``listing.attempts_in`` gives them.
        known: what the tables hold of each attempt.
        retried: ``log`` of attempts with lines that this version may be able to read.
    """
    before = known.select("log", F.col("files").alias("_files"), F.col("inProgress").alias("_inProgress"))
    again = retried.select("log", F.lit(True).alias("_again"))
    both = found.join(before, "log", "full").join(again, "log", "left")
    differ = F.col("files").isNotNull() & ~F.col("files").eqNullSafe(F.col("_files"))
    return both.where(differ | F.coalesce("_again", F.lit(False))).select(
        "log",
        F.coalesce("inProgress", "_inProgress").alias("inProgress"),
        F.coalesce("files", "_files").alias("files"),
    )


def _ingest(house: Warehouse, logs: list[str]) -> Ingested:
    spark = house.spark
    commits = house.commits("ingest", "compact")
    every = house.read("attempts", commits)
    known = every.join(last_runs(every), ["log", "run"], "left_semi")
    stored = {
        table: _stored(house, table, commits, known) for table in ("decisions", "outcomes", "queries", "rejected")
    }
    kept_aside = stored["rejected"].where(F.col("kind") == UNKNOWN_VERSION)
    older = known.where(F.col("readsSchemaVersion") != SCHEMA_VERSION).select("log")
    retried = older.join(kept_aside, "log", "left_semi")

    parts = parts_of(files_below(spark, logs)).localCheckpoint()
    changed = changed_attempts(attempts_in(parts), known, retried).localCheckpoint()
    to_read = parts.where("read AND bytes > 0").join(changed.select("log"), "log", "left_semi")
    # Names of files, which Spark's driver has to hold for every table it reads.
    files = [(row.path, row.bytes) for row in to_read.select("path", "bytes").collect()]
    attempts = changed.count()
    if attempts == 0:
        return Ingested(None, 0, 0, 0, 0, 0, 0)

    run = house.new_run()
    staged = house.path("_staging", run)
    again = kept_aside.join(changed.select("log"), "log", "left_semi").select(
        "log", "position", kind_of(F.col("line")).alias("kind"), "line"
    )
    lines = again
    if files:
        lines = event_lines(spark, parts, [path for path, _ in files]).unionByName(again)
    lines.write.parquet(f"{staged}/lines")
    rows = _write_tables(house, run, spark.read.schema(_LINES).parquet(f"{staged}/lines"), changed, known, stored)
    house.commit(Commit(run, "ingest", rows))
    house.delete("_staging", run)
    return Ingested(
        run,
        attempts,
        len(files),
        sum(size for _, size in files),
        rows["decisions"],
        rows["queries"],
        rows["rejected"],
    )


def _write_tables(
    house: Warehouse,
    run: str,
    lines: DataFrame,
    changed: DataFrame,
    known: DataFrame,
    stored: dict[str, DataFrame],
) -> dict[str, int]:
    rows: dict[str, int] = {}

    def write(table: str, frame: DataFrame) -> DataFrame:
        rows[table] = house.write(frame, table, run, by_date=TABLES[table][1])
        return house.read(table, [Commit(run, "ingest", rows)]).drop("run")

    attempts = write("attempts", _attempts(lines, changed, known))
    # Parts that Spark compacted or removed since were read before; what they held stays.
    same = known.join(attempts.select("log", F.col("startedMillis").alias("_started")), "log").where(
        F.col("startedMillis").eqNullSafe(F.col("_started"))
    )
    earlier = {table: frame.join(same.select("log"), "log", "left_semi") for table, frame in stored.items()}
    decided, ended = (_parsed_once(house, run, lines, kind) for kind in ("decided", "ended"))
    decisions = write("decisions", decisions_of(whole(decided), earlier["decisions"]))
    write("outcomes", outcomes_of(whole(ended), earlier["outcomes"]))
    write("queries", queries_of(decisions, whole(ended), lines, earlier["queries"]))
    write("rejected", rejected(lines, [decided, ended], attempts))
    return rows


def _parsed_once(house: Warehouse, run: str, lines: DataFrame, kind: str) -> DataFrame:
    """The events of ``kind``, on disk: several tables are made of them, and JSON is what takes the time."""
    staged = house.path("_staging", run, kind)
    parsed(lines, kind).write.parquet(staged)
    return house.spark.read.parquet(staged)


def _attempts(lines: DataFrame, changed: DataFrame, known: DataFrame) -> DataFrame:
    """The rows of ``attempts``; an application's start that was removed with its part is known from before."""
    told = applications(lines)
    before = known.select(
        "log",
        F.struct("applicationId", "applicationName", "startedMillis").alias("_before"),
    )
    now = F.struct("applicationId", "applicationName", "startedMillis")
    joined = changed.join(told.select("log", now.alias("_now")), "log", "left").join(before, "log", "left")
    return joined.withColumn("_told", F.coalesce("_now", "_before")).select(
        "log", "_told.*", "inProgress", "files", F.lit(SCHEMA_VERSION).alias("readsSchemaVersion")
    )


def _stored(house: Warehouse, table: str, commits: list[Commit], known: DataFrame) -> DataFrame:
    return house.read(table, commits).join(known.select("log", "run"), ["log", "run"], "left_semi").drop("run")
