"""Job: new and changed event logs into tables, each application attempt once."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as F

from aqe_plugin.events.lines import SCHEMA_VERSION
from aqe_plugin.events.quantities import quantity
from aqe_plugin.pipeline.attempt_files import ApplicationAttempt, ListedFile, attempts_in, files_below
from aqe_plugin.pipeline.event_lines import event_lines, kind_of
from aqe_plugin.pipeline.parse_events import UNKNOWN_VERSION, applications, parsed, rejected, whole
from aqe_plugin.pipeline.schemas import TABLES
from aqe_plugin.pipeline.table_rows import outcomes_of, queries_of, rows_of
from aqe_plugin.pipeline.warehouse import Commit, Warehouse, local_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    house = Warehouse(spark, tables)
    say("Looking for logs ...")
    commits = house.commits("ingest", "compact")
    found = attempts_in(files_below(house.spark, logs))
    say(f"Found {_in_words(found.values())}. Comparing them with the tables ...")
    before = _before(house, commits, found) if commits else {}
    present = {log: _present(attempt) for log, attempt in found.items()}
    new = {log for log, one in present.items() if log not in before or before[log]["files"] != one["files"]}
    older = [one for one in before.values() if one["readsSchemaVersion"] != SCHEMA_VERSION]
    # Whose files may be gone.
    new |= {row.log for row in _unread(house, commits, older).select("log").distinct().collect()} if older else set()
    if not new:
        return Ingested(None, len(found))
    to_read = [found[log] for log in sorted(new & found.keys())]
    say(f"Reading what is new or has grown: {_in_words(to_read)} ...")

    run = house.new_run()
    lines = event_lines(house.spark, to_read)
    known = [before[log] for log in new if log in before]
    if known:
        unread = _unread(house, commits, known)
        lines = lines.unionByName(unread.select("log", "position", kind_of(F.col("line")).alias("kind"), "line"))
    changed = [before.get(log, {}) | present.get(log, {}) for log in new]
    counts = _write_tables(house, run, changed, parsed(lines), commits if known else [], say=say)
    house.commit(Commit(run, "ingest", counts))
    house.delete("_staging", run)
    read = _files(to_read)
    shown = {table: counts[table] for table in ("decisions", "limits", "predicates", "queries", "rejected")}
    return Ingested(run, len(found), len(new), len(read), sum(file.bytes for file in read), **shown)


def _before(house: Warehouse, commits: list[Commit], found: Collection[str]) -> dict[str, dict[str, Any]]:
    """The row and ``run`` that count for each attempt that was found, or that another version has read."""
    last = house.read("attempts", commits).groupBy("log").agg(F.max_by(F.struct("*"), "run").alias("last"))
    rows = last.select("last.*").toLocalIterator()
    return {row.log: row.asDict(True) for row in rows if row.log in found or row.readsSchemaVersion != SCHEMA_VERSION}


def _unread(house: Warehouse, commits: list[Commit], attempts: Iterable[Mapping[str, Any]]) -> DataFrame:
    """The rejected lines of ``attempts`` that this version may be able to read."""
    runs = local_rows(house.spark, map(json.dumps, attempts), "log string, run string")
    rejected = house.read("rejected", commits).where(F.col("kind") == UNKNOWN_VERSION)
    return rejected.join(runs, ["log", "run"], "left_semi")


def _present(attempt: ApplicationAttempt) -> dict[str, Any]:
    """What its files say of an attempt, as in its row."""
    files = [
        {"path": part.file.path, "bytes": part.file.bytes, "modifiedMillis": part.file.modified_millis}
        for part in attempt.parts
    ]
    return {"log": attempt.log, "inProgress": attempt.in_progress, "files": files}


def _files(attempts: Iterable[ApplicationAttempt]) -> list[ListedFile]:
    """The files of ``attempts`` that are not empty."""
    return [part.file for attempt in attempts for part in attempt.parts if part.read and part.file.bytes > 0]


def _in_words(attempts: Collection[ApplicationAttempt]) -> str:
    files = _files(attempts)
    size = quantity(sum(file.bytes for file in files), "bytes")
    return f"{len(files):,} files ({size}) of {len(attempts):,} application attempts"


def _write_tables(
    house: Warehouse,
    run: str,
    changed: list[dict[str, Any]],
    lines: DataFrame,
    commits: list[Commit],
    *,
    say: Callable[[str], object],
) -> dict[str, int]:
    """Writes the tables of ``lines``, with the rows in ``commits`` of the same attempts; returns how many."""
    rows = dict.fromkeys(TABLES, 0)
    # On disk, so that all tables are made of the same lines when a log grows meanwhile.
    seen = Observation()
    lines.observe(seen, F.collect_set("kind").alias("kinds"), F.count("why").alias("faults")).write.parquet(
        house.path("_staging", run)
    )
    kinds = {*seen.get["kinds"], *(["fault"] if seen.get["faults"] else [])}
    say("Writing the tables ...")
    small = house.size_bytes("_staging", run) <= _SMALL_BYTES

    def packed(frame: DataFrame) -> DataFrame:
        # One partition is not shuffled.
        return frame.coalesce(1) if small else frame

    def write(table: str, frame: DataFrame, *of_kinds: str) -> None:
        # In small jobs the driver is the bottleneck, also where nothing is written.
        if commits or not of_kinds or kinds.intersection(of_kinds):
            rows[table] = house.write(frame, table, run, by_date=TABLES[table][1], spread=not small)

    events = packed(house.spark.read.schema(lines.schema).parquet(house.path("_staging", run)))
    present = packed(local_rows(house.spark, map(json.dumps, changed), f"{TABLES['attempts'][0]}, run string"))
    attempts = present.join(applications(events), "log", "left")
    # Rows of parts that Spark has compacted or removed since they were read stay, and the start of an application too.
    same = attempts.where("start IS NULL OR start.startedMillis <=> startedMillis").select("log", "run")
    start = "inline(array(coalesce(start, struct(applicationId, applicationName, startedMillis))))"

    def earlier(table: str) -> DataFrame | None:
        kept = house.read(table, commits).join(same, ["log", "run"], "left_semi").drop("run")
        return kept if commits else None

    ended = whole(events, "ended")

    def write_joins() -> None:
        write("decisions", rows_of("decisions", whole(events, "decided"), earlier("decisions")), "decided")
        decisions = house.read("decisions", [Commit(run, "ingest", rows)]).drop("run")
        write("queries", queries_of(packed(decisions), ended, events, earlier("queries")), "decided", "ended")

    def write_rest() -> None:
        of_log = attempts.selectExpr("log", start, "inProgress", "files", f"{SCHEMA_VERSION} AS readsSchemaVersion")
        write("attempts", of_log)
        write("outcomes", outcomes_of(ended, earlier("outcomes")), "ended")
        write("limits", rows_of("limits", whole(events, "limited"), earlier("limits")), "limited")
        write("predicates", rows_of("predicates", whole(events, "inferred"), earlier("predicates")), "inferred")
        write("rejected", rejected(events, present), "damaged", "fault")

    # One thread leaves cores idle.
    with ThreadPoolExecutor(max_workers=2) as threads:
        for done in [threads.submit(write_joins), threads.submit(write_rest)]:
            done.result()
    return rows
