"""Job: new and changed event logs into tables, each application attempt once."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from aqe_plugin.events.lines import SCHEMA_VERSION
from aqe_plugin.events.quantities import quantity
from aqe_plugin.pipeline.attempt_files import ApplicationAttempt, ListedFile, attempts_in, files_below
from aqe_plugin.pipeline.event_lines import event_lines, kind_of
from aqe_plugin.pipeline.parse_events import UNKNOWN_VERSION, applications, parsed, rejected, whole
from aqe_plugin.pipeline.schemas import TABLES
from aqe_plugin.pipeline.table_rows import decisions_of, limits_of, outcomes_of, predicates_of, queries_of
from aqe_plugin.pipeline.warehouse import Commit, Warehouse, last_runs, local_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = "array<struct<path: string, bytes: bigint, modifiedMillis: bigint>>"
_ATTEMPT = f"log string, inProgress boolean, files {_FILES}"
# Of staged events: below this size, spreading them over tasks costs more than it gains.
_SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one run; ``run`` is ``None`` when nothing was new.

    Attributes:
        found: application attempts in the folders.
        attempts: application attempts that were new or had changed.
        files: files that were read for them; ``bytes_read`` is their size on disk.
        rejected: lines in the table ``rejected``.
    """

    run: str | None
    found: int
    attempts: int = 0
    files: int = 0
    bytes_read: int = 0
    decisions: int = 0
    limits: int = 0
    predicates: int = 0
    queries: int = 0
    rejected: int = 0


def ingest(
    spark: SparkSession, logs: Sequence[str], tables: str, say: Callable[[str], object] = lambda _: None
) -> Ingested:
    """Reads what is new in the folders ``logs`` into the tables at ``tables``.

    Without new logs it writes nothing; a run that is killed has no effect, and the next one does its work.

    Args:
        say: called with a sentence before each step.
    """
    return _ingest(Warehouse(spark, tables), list(logs), say)


def changed_attempts(found: DataFrame, known: DataFrame, retried: DataFrame) -> DataFrame:
    """``log, inProgress, files`` of the attempts to read: new ones, those whose files changed, and those in
    ``retried``, whose files may be gone.

    Args:
        found: ``log, inProgress, files`` of the attempts in the folders.
        known: the row of each attempt in the tables.
        retried: ``log`` of attempts with rejected lines that this version may be able to read.
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


def _ingest(house: Warehouse, logs: list[str], say: Callable[[str], object]) -> Ingested:
    say("Looking for logs ...")
    commits = house.commits("ingest", "compact")
    every = house.read("attempts", commits)
    known = every.join(last_runs(every), ["log", "run"], "left_semi")
    stored = {table: _stored(house, table, commits, known) for table in TABLES if table != "attempts"}
    unread = stored["rejected"].where(F.col("kind") == UNKNOWN_VERSION)
    older = known.where(F.col("readsSchemaVersion") != SCHEMA_VERSION).select("log")
    retried = older.join(unread, "log", "left_semi")

    found = attempts_in(files_below(house.spark, logs))
    say(f"Found {_in_words(found.values())}. Comparing them with the tables ...")
    there = local_rows(house.spark, map(_as_json, found.values()), _ATTEMPT)
    # Names of files fit on the driver: Spark holds them there for every table it reads.
    rows = changed_attempts(there, known, retried).select("log", F.to_json(F.struct("*")).alias("json")).collect()
    if not rows:
        return Ingested(None, len(found))
    changed = local_rows(house.spark, (row.json for row in rows), _ATTEMPT)
    to_read = [found[row.log] for row in rows if row.log in found]
    say(f"Reading what is new or has grown: {_in_words(to_read)} ...")

    run = house.new_run()
    again = unread.join(changed.select("log"), "log", "left_semi").select(
        "log", "position", kind_of(F.col("line")).alias("kind"), "line"
    )
    lines = event_lines(house.spark, to_read).unionByName(again)
    # On disk, so that all tables are made of the same lines when a log grows meanwhile.
    parsed(lines).write.parquet(house.path("_staging", run))
    say("Writing the tables ...")
    counts = _write_tables(house, run, changed, known, stored)
    house.commit(Commit(run, "ingest", counts))
    house.delete("_staging", run)
    files = _files(to_read)
    shown = {table: counts[table] for table in ("decisions", "limits", "predicates", "queries", "rejected")}
    return Ingested(run, len(found), len(rows), len(files), sum(file.bytes for file in files), **shown)


def _files(attempts: Iterable[ApplicationAttempt]) -> list[ListedFile]:
    """The files of ``attempts`` that are not empty."""
    return [part.file for attempt in attempts for part in attempt.parts if part.read and part.file.bytes > 0]


def _in_words(attempts: Collection[ApplicationAttempt]) -> str:
    files = _files(attempts)
    size = quantity(sum(file.bytes for file in files), "bytes")
    return f"{len(files):,} files ({size}) of {len(attempts):,} application attempts"


def _as_json(attempt: ApplicationAttempt) -> str:
    files = [
        {"path": part.file.path, "bytes": part.file.bytes, "modifiedMillis": part.file.modified_millis}
        for part in attempt.parts
    ]
    return json.dumps({"log": attempt.log, "inProgress": attempt.in_progress, "files": files})


def _write_tables(
    house: Warehouse, run: str, changed: DataFrame, known: DataFrame, stored: dict[str, DataFrame]
) -> dict[str, int]:
    rows: dict[str, int] = {}
    small = house.size_bytes("_staging", run) <= _SMALL_BYTES

    def packed(frame: DataFrame) -> DataFrame:
        # One partition is not shuffled.
        return frame.coalesce(1) if small else frame

    def write(table: str, frame: DataFrame) -> None:
        rows[table] = house.write(frame, table, run, by_date=TABLES[table][1], spread=not small)

    events = packed(house.spark.read.parquet(house.path("_staging", run)))
    attempts = _attempts(events, packed(changed), known)
    # Rows of parts that Spark has compacted or removed since they were read stay.
    same = known.join(attempts.select("log", F.col("startedMillis").alias("_started")), "log").where(
        F.col("startedMillis").eqNullSafe(F.col("_started"))
    )
    earlier = {table: frame.join(same.select("log"), "log", "left_semi") for table, frame in stored.items()}
    ended = whole(events, "ended")

    def write_joins() -> None:
        write("decisions", decisions_of(whole(events, "decided"), earlier["decisions"]))
        decisions = house.read("decisions", [Commit(run, "ingest", rows)]).drop("run")
        write("queries", queries_of(packed(decisions), ended, events, earlier["queries"]))

    def write_rest() -> None:
        write("attempts", attempts)
        write("outcomes", outcomes_of(ended, earlier["outcomes"]))
        write("limits", limits_of(whole(events, "limited"), earlier["limits"]))
        write("predicates", predicates_of(whole(events, "inferred"), earlier["predicates"]))
        write("rejected", rejected(events, packed(changed)))

    # In small jobs the driver is the bottleneck, and one thread leaves cores idle.
    with ThreadPoolExecutor(max_workers=2) as threads:
        for done in [threads.submit(write_joins), threads.submit(write_rest)]:
            done.result()
    return rows


def _attempts(events: DataFrame, changed: DataFrame, known: DataFrame) -> DataFrame:
    """The rows of ``attempts``; the start of an application, if its part was removed, is that of an earlier ingest."""
    before = known.select(
        "log",
        F.struct("applicationId", "applicationName", "startedMillis").alias("_before"),
    )
    now = F.struct("applicationId", "applicationName", "startedMillis")
    joined = changed.join(applications(events).select("log", now.alias("_now")), "log", "left").join(
        before, "log", "left"
    )
    return joined.withColumn("_application", F.coalesce("_now", "_before")).select(
        "log", "_application.*", "inProgress", "files", F.lit(SCHEMA_VERSION).alias("readsSchemaVersion")
    )


def _stored(house: Warehouse, table: str, commits: list[Commit], known: DataFrame) -> DataFrame:
    return house.read(table, commits).join(known.select("log", "run"), ["log", "run"], "left_semi").drop("run")
