"""The folder of the tables, in which a run is complete or does not count.

::

    <root>/_commits/<run>.json              the run counts once this file exists
    <root>/<table>/run=<run>/[date=<day>/]  its rows
    <root>/_staging/<run>/                  events of logs, from which the tables are made

A run writes all its tables to folders of its own, and at the end renames one small file into place. A run that was
killed has no such file: no reader looks at its folders, and a later :meth:`Warehouse.sweep` removes them. A run holds
an application attempt as a whole, and of several runs with the same attempt the last one counts
(:meth:`Warehouse.current`). So the tables hold each attempt once, also after kills, repetitions and concurrent runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from aqe_plugin.errors import NoDataError, StateError, WriteError
from aqe_plugin.pipeline.schemas import AGGREGATES, TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAYOUT_VERSION = 4
_REFUSALS = ("java.io.", "java.nio.file.", "org.apache.hadoop.fs.", "org.apache.hadoop.security.")
_RUN = re.compile(r"\d{9}-[0-9a-f]{8}")
_HOUR_MILLIS = 3_600_000


@dataclass(frozen=True, slots=True)
class Commit:
    """One finished run: its id, which sorts by age, its job, and its number of rows by table."""

    run: str
    job: str
    rows: Mapping[str, int]


class Warehouse:
    """The tables below ``root``, any path that Spark can write to. Needs a classic session, not Spark Connect."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.root = root.rstrip("/")
        jvm: Any = spark._jvm
        self._jvm = jvm
        path = jvm.org.apache.hadoop.fs.Path(self.root)
        self._files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def path(self, *names: str) -> str:
        return "/".join((self.root, *names))

    def commits(self, *jobs: str) -> list[Commit]:
        """The finished runs of ``jobs``, oldest first.

        Raises:
            StateError: another version of aqe-plugin wrote them, or one of the files is no commit.
        """
        names = (status.getPath().getName().removesuffix(".json") for status in self._listed("_commits"))
        runs = sorted(name for name in names if _RUN.fullmatch(name))
        found = [self._commit(run) for run in runs]
        return [commit for commit in found if commit.job in jobs]

    def new_run(self) -> str:
        """An id that sorts behind all present ones; no two callers get the same."""
        names = [status.getPath().getName() for status in self._listed("_commits")]
        last = max((int(name[:9]) for name in names if name[:9].isdigit()), default=0)
        return f"{last + 1:09d}-{uuid4().hex[:8]}"

    def commit(self, commit: Commit) -> None:
        """Makes the run count."""
        value = {"layoutVersion": LAYOUT_VERSION, "job": commit.job, "rows": dict(commit.rows)}
        beside = self._hadoop("_commits", f".{commit.run}.tmp")
        stream = self._files.create(beside, True)
        stream.write(bytearray(json.dumps(value).encode()))
        stream.close()
        if not self._files.rename(beside, self._hadoop("_commits", f"{commit.run}.json")):
            raise StateError(f"{self.root}: run {commit.run} could not be committed. Run it again.")

    def write(self, frame: DataFrame, table: str, run: str, *, by_date: bool, spread: bool = True) -> int:
        """Writes one table of a run, balanced over tasks or, unless ``spread``, by one task; returns its rows."""
        counted = Observation()
        packed = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        if spread:
            packed = packed.hint("rebalance", "date") if by_date else packed.hint("rebalance")
        else:
            packed = packed.coalesce(1)
        writer = packed.write.mode("overwrite")
        (writer.partitionBy("date") if by_date else writer).parquet(self.path(table, f"run={run}"))
        return int(counted.get["rows"])

    def read(self, table: str, commits: list[Commit]) -> DataFrame:
        """The rows of ``table`` in those runs, with the column ``run``; an empty table when there are none."""
        schema, _ = {**TABLES, **AGGREGATES}[table]
        whole = f"{schema}, run string"
        # A table of no row has no file.
        runs = [commit.run for commit in commits if commit.rows.get(table)]
        if not runs:
            return local_rows(self.spark, [], whole)
        folders = [self.path(table, f"run={run}") for run in runs]
        return self.spark.read.schema(whole).option("basePath", self.path(table)).parquet(*folders)

    def current(self, table: str) -> DataFrame:
        """The rows that count: those of each attempt from the last run that holds it, with the column ``run``.

        Raises:
            NoDataError: nothing was ingested yet.
        """
        commits = self.commits("ingest", "compact")
        if not commits:
            raise NoDataError(f"{self.root}: no tables of aqe-plugin there. `aqe-plugin pipeline ingest` makes them.")
        rows = self.read(table, commits)
        return rows.join(last_runs(self.read("attempts", commits)), ["log", "run"], "left_semi")

    def size_bytes(self, *names: str) -> int:
        """Size of all files in a folder."""
        return int(self._files.getContentSummary(self._hadoop(*names)).getLength())

    def delete(self, *names: str) -> None:
        self._files.delete(self._hadoop(*names), True)

    def forget(self, run: str, older_than_hours: float) -> None:
        """Removes the commit of a run that is so old; :meth:`sweep` removes its folders."""
        path = self._hadoop("_commits", f"{run}.json")
        if self._is_older(self._files.getFileStatus(path), older_than_hours):
            self._files.delete(path, False)

    def sweep(self, tables: tuple[str, ...], keep: frozenset[str], older_than_hours: float) -> int:
        """Removes the folders of runs that are not in ``keep``, if they are so old that no job or reader uses them.

        Returns:
            Folders removed.
        """
        removed = 0
        for table in (*tables, "_staging"):
            for status in self._listed(table):
                name = status.getPath().getName()
                run = name.removeprefix("run=")
                if _RUN.fullmatch(run) and run not in keep and self._is_older(status, older_than_hours):
                    self.delete(table, name)
                    removed += 1
        return removed

    def _is_older(self, status: Any, hours: float) -> bool:
        age_millis = self._jvm.java.lang.System.currentTimeMillis() - status.getModificationTime()
        return bool(age_millis >= hours * _HOUR_MILLIS)

    def _hadoop(self, *names: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(*names))

    def _listed(self, *names: str) -> list[Any]:
        """What is in a folder, nothing when it does not exist."""
        folder = self._hadoop(*names)
        return list(self._files.listStatus(folder)) if self._files.exists(folder) else []

    def _commit(self, run: str) -> Commit:
        path = self._hadoop("_commits", f"{run}.json")
        stream = self._files.open(path)
        text = bytes(stream.readAllBytes()).decode(errors="replace")
        stream.close()
        try:
            value = json.loads(text)
            version, job, rows = value["layoutVersion"], value["job"], value["rows"]
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(
                f"{path.toString()}: not a commit of aqe-plugin. Remove it; ingest reads the logs again."
            ) from error
        if version != LAYOUT_VERSION:
            cure = "upgrade it" if version > LAYOUT_VERSION else "ingest the logs into a new folder"
            raise StateError(
                f"{self.root}: the tables have layoutVersion {version}, this aqe-plugin reads {LAYOUT_VERSION}: {cure}."
            )
        return Commit(run, job, rows)


def last_runs(attempts: DataFrame) -> DataFrame:
    """``log`` with the last ``run`` that holds it."""
    return attempts.groupBy("log").agg(F.max("run").alias("run"))


def local_rows(spark: SparkSession, values: Iterable[str], schema: str) -> DataFrame:
    """The JSON objects ``values``, one a line, as rows of ``schema``.

    The optimizer knows their number, unlike that of an RDD from ``createDataFrame``: a join with no row costs nothing.
    """
    jvm: Any = spark._jvm
    strings = jvm.io.aqeplugin.logs.TextRows.of(spark._jsparkSession, "\n".join(values))
    return DataFrame(strings.toDF(), spark).select(F.from_json("value", schema).alias("row")).select("row.*")


@contextmanager
def refusals_as_errors(tables: str) -> Iterator[None]:
    """Turns a file system's refusal during a job into a message; other faults stay as they are.

    Raises:
        WriteError: a file system refused something to the job.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause = _refusal(error.java_exception)
        if cause is None:
            raise
        raise WriteError(
            f"{tables}: a file system refused access ({cause}); the tables are unchanged. Check that the logs are "
            "readable and that the tables' folder is writable and has space, then run the job again."
        ) from error


def _refusal(error: Any) -> str | None:
    """The message of the first input or output error among the causes."""
    for _ in range(20):
        if error is None:
            return None
        name = str(error.getClass().getName())
        if name.startswith(_REFUSALS):
            return str(error.getMessage() or name).partition("\n")[0]
        error = error.getCause()
    return None
