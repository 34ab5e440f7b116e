"""Tables back into queries, and into the history that tuning learns from: the same values as from the logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from aqe_plugin.events.json_values import decode
from aqe_plugin.events.model import FilterOutcome, FilterPlanned, JoinDecision, PluginMode, QueryEnded
from aqe_plugin.events.queries import JoinStory, QueryStory, first_line
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
        story = _story(row.asDict())
        if story is not None:
            yield story


def query_rows(queries: DataFrame, decisions: DataFrame, outcomes: DataFrame, attempts: DataFrame) -> DataFrame:
    """The rows of ``queries`` with ``applicationId``, ``applicationName``, and as JSON the arrays ``_joins`` (in the
    order of their decisions) and ``_outcomes``."""
    key = ["log", "executionId"]
    of_query = decisions.groupBy(*key).agg(
        F.array_sort(
            F.collect_list(F.struct("position", F.to_json(F.struct("decision", "filters")).alias("json")))
        ).alias("_sorted")
    )
    outcome = F.to_json(
        F.struct(*[name for name in outcomes.columns if name not in {*key, "timeMillis", "number", "run", "date"}])
    )
    of_scans = outcomes.groupBy(*key).agg(
        F.array_sort(F.collect_list(F.struct("number", outcome.alias("json")))).alias("_numbered")
    )
    application = attempts.select("log", "applicationId", "applicationName")
    return (
        queries.join(of_query, key, "left")
        .join(of_scans, key, "left")
        .join(application, "log", "left")
        .withColumn("_joins", F.coalesce(F.col("_sorted.json"), F.array().cast("array<string>")))
        .withColumn("_outcomes", F.coalesce(F.col("_numbered.json"), F.array().cast("array<string>")))
        .drop("_sorted", "_numbered", "joinConditions", "fingerprint", "run", "date")
    )


def _story(row: dict[str, Any]) -> QueryStory | None:
    outcomes = tuple(decode(FilterOutcome, json.loads(text)) for text in row["_outcomes"])
    ended = None
    if row["timeMillis"] is not None:
        ended = replace(decode(QueryEnded, {**row, "outcomes": []}), outcomes=outcomes)
    joins = tuple(_join(json.loads(text), outcomes) for text in row["_joins"])
    if not joins and (ended is None or ended.errors == 0):
        return None
    return QueryStory(
        application=row["applicationId"] or row["log"],
        application_name=row["applicationName"] or "",
        execution_id=row["executionId"],
        description=row["description"] or "",
        mode=PluginMode(row["mode"]),
        duration_millis=_duration_millis(row, ended),
        joins=joins,
        ended=ended,
        error=first_line(row["errorMessage"]),
    )


def _join(value: Any, outcomes: tuple[FilterOutcome, ...]) -> JoinStory:
    decision = decode(JoinDecision, value["decision"])
    filters = tuple(decode(FilterPlanned, one) for one in value["filters"])
    of_join = tuple(outcome for outcome in outcomes if outcome.join_id == decision.facts.join_id)
    return JoinStory(decision, filters, of_join)


def _duration_millis(row: dict[str, Any], ended: QueryEnded | None) -> int | None:
    if ended is not None:
        return ended.duration_millis
    if row["startedMillis"] is None or row["endedMillis"] is None:
        return None
    return max(0, int(row["endedMillis"]) - int(row["startedMillis"]))
