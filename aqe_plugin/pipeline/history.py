"""Tables back into queries, and into the history that tuning learns from: the same values as from the logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import functions as F

from aqe_plugin.events.json_values import decode, decode_text
from aqe_plugin.events.lines import ApplicationStarted, Event
from aqe_plugin.events.model import (
    ExecutionEnded,
    ExecutionStarted,
    FilterOutcome,
    JoinDecided,
    LimitDecided,
    PredicateInferred,
    QueryEnded,
)
from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.history import QueryHistory, history_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
# The tables with what is said of a query, and the column that orders it.
_OF_QUERIES = {"decisions": "position", "limits": "position", "predicates": "position", "outcomes": "number"}


def history_in(spark: SparkSession, tables: str) -> QueryHistory:
    """The history in the logs that were ingested into ``tables``; errors as of :func:`stories_of`."""
    return history_of(stories_of(Warehouse(spark, tables)))


def stories_of(house: Warehouse) -> Iterator[QueryStory]:
    """Every query in the tables, one at a time in bounded memory, oldest application first."""
    for row in query_rows(house).orderBy("log", "executionId").toLocalIterator(prefetchPartitions=True):
        yield from queries_in(_events(row.asDict(recursive=True)), row.log, row["_logWrittenMillis"])


def query_rows(house: Warehouse) -> DataFrame:
    """The rows of ``queries`` with ``applicationId``, ``applicationName``, ``_applicationStartedMillis``,
    ``_logWrittenMillis`` (as of a ``QueryStory``), and as JSON the arrays ``_decisions``, ``_limits``, ``_predicates``
    (in the order of the log) and ``_outcomes``."""
    written = F.array_max(F.transform("files", lambda file: file["modifiedMillis"]))
    application = house.current("attempts").select(
        "log",
        "applicationId",
        "applicationName",
        F.col("startedMillis").alias("_applicationStartedMillis"),
        F.when(F.col("inProgress"), written).alias("_logWrittenMillis"),
    )
    rows = house.current("queries").drop("joinConditions", "fingerprint", "run", "date")
    for table, order in _OF_QUERIES.items():
        rows = rows.join(_as_json(house.current(table), table, order), ["log", "executionId"], "left")
    return rows.join(application, "log", "left")


def _as_json(frame: DataFrame, table: str, order: str) -> DataFrame:
    """The rows of each query as one array of JSON texts, sorted by the column ``order``."""
    without = {"log", "run", "date", order, *(("executionId", "timeMillis") if table == "outcomes" else ())}
    text = F.to_json(F.struct(*[name for name in frame.columns if name not in without])).alias("json")
    in_order = F.array_sort(F.collect_list(F.struct(order, text)))
    return frame.groupBy("log", "executionId").agg(in_order["json"].alias(f"_{table}"))


def _events(row: dict[str, Any]) -> Iterator[Event]:
    """The events of one query, in the order of a log."""

    def told(table: str, shape: type[T]) -> tuple[T, ...]:
        return tuple(decode_text(shape, text.encode()) for text in row[f"_{table}"] or ())

    started_millis = row["_applicationStartedMillis"] or 0
    yield ApplicationStarted(row["applicationId"] or "", row["applicationName"] or "", started_millis)
    execution_id = row["executionId"]
    if row["startedMillis"] is not None:
        yield ExecutionStarted(execution_id, row["description"] or "", row["startedMillis"])
    yield from told("predicates", PredicateInferred)
    yield from told("decisions", JoinDecided)
    if row["endedMillis"] is not None:
        yield ExecutionEnded(execution_id, row["endedMillis"], row["errorMessage"])
    yield from told("limits", LimitDecided)
    if row["timeMillis"] is not None:
        yield replace(decode(QueryEnded, {**row, "outcomes": []}), outcomes=told("outcomes", FilterOutcome))
