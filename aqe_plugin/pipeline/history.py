"""Tables back into queries, and into the history that tuning learns from: the same values as from the logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.events.json_values import decode, decode_text
from aqe_plugin.events.lines import ApplicationStarted, Event
from aqe_plugin.events.model import ExecutionEnded, ExecutionStarted, FilterOutcome, JoinDecided, QueryEnded
from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.history import QueryHistory, history_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def history_in(spark: SparkSession, tables: str) -> QueryHistory:
    """The history in the logs that were ingested into ``tables``; errors as of :func:`stories_of`."""
    return history_of(stories_of(Warehouse(spark, tables)))


def stories_of(house: Warehouse) -> Iterator[QueryStory]:
    """Every query in the tables, one at a time in bounded memory, oldest application first."""
    tables = [house.current(name) for name in ("queries", "decisions", "outcomes", "attempts")]
    for row in query_rows(*tables).orderBy("log", "executionId").toLocalIterator(prefetchPartitions=True):
        yield from queries_in(_events(row.asDict(recursive=True)), row.log, row["_logWrittenMillis"])


def query_rows(queries: DataFrame, decisions: DataFrame, outcomes: DataFrame, attempts: DataFrame) -> DataFrame:
    """The rows of ``queries`` with ``applicationId``, ``applicationName``, ``_applicationStartedMillis``,
    ``_logWrittenMillis`` (as of a ``QueryStory``), and as JSON the arrays ``_joins`` (in the order of their decisions)
    and ``_outcomes``."""
    key = ["log", "executionId"]
    decided = F.to_json(
        F.struct(*[name for name in decisions.columns if name not in {"log", "position", "run", "date"}])
    )
    of_query = decisions.groupBy(*key).agg(
        F.array_sort(F.collect_list(F.struct("position", decided.alias("json")))).alias("_sorted")
    )
    outcome = F.to_json(
        F.struct(*[name for name in outcomes.columns if name not in {*key, "timeMillis", "number", "run", "date"}])
    )
    of_scans = outcomes.groupBy(*key).agg(
        F.array_sort(F.collect_list(F.struct("number", outcome.alias("json")))).alias("_numbered")
    )
    written = F.array_max(F.transform("files", lambda file: file["modifiedMillis"]))
    application = attempts.select(
        "log",
        "applicationId",
        "applicationName",
        F.col("startedMillis").alias("_applicationStartedMillis"),
        F.when(F.col("inProgress"), written).alias("_logWrittenMillis"),
    )
    return (
        queries.join(of_query, key, "left")
        .join(of_scans, key, "left")
        .join(application, "log", "left")
        .withColumn("_joins", F.coalesce(F.col("_sorted.json"), F.array().cast("array<string>")))
        .withColumn("_outcomes", F.coalesce(F.col("_numbered.json"), F.array().cast("array<string>")))
        .drop("_sorted", "_numbered", "joinConditions", "fingerprint", "run", "date")
    )


def _events(row: dict[str, Any]) -> Iterator[Event]:
    """The events of one query, in the order of a log."""
    started_millis = row["_applicationStartedMillis"] or 0
    yield ApplicationStarted(row["applicationId"] or "", row["applicationName"] or "", started_millis)
    execution_id = row["executionId"]
    if row["startedMillis"] is not None:
        yield ExecutionStarted(execution_id, row["description"] or "", row["startedMillis"])
    for text in row["_joins"]:
        yield decode_text(JoinDecided, text.encode())
    if row["endedMillis"] is not None:
        yield ExecutionEnded(execution_id, row["endedMillis"], row["errorMessage"])
    if row["timeMillis"] is not None:
        outcomes = tuple(decode_text(FilterOutcome, text.encode()) for text in row["_outcomes"])
        yield replace(decode(QueryEnded, {**row, "outcomes": []}), outcomes=outcomes)
