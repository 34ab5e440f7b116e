"""What was decided for a frame: runs it and reads its rows of ``aqe_decisions()``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from aqe_plugin.events.json_values import decode
from aqe_plugin.events.model import (
    FilterOutcome,
    FilterPlanned,
    JoinDecision,
    JoinFacts,
    PluginMode,
    QueryEnded,
    Reason,
    Strategy,
    TrialArm,
    WeighedOption,
)
from aqe_plugin.events.queries import JoinStory, QueryStory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = Mapping[str, Any]

_ORDER = tuple(Strategy)
_RAN = ("applied", "passed_all", "missing")


def run_and_read(spark: SparkSession, frame: DataFrame) -> tuple[QueryStory, ...]:
    """Runs ``frame``, discards its rows, and reads what was decided for it."""
    with _tagged(frame.sparkSession) as tag:
        # A frame may have two columns of one name, what is written may not.
        unique = frame.toDF(*(f"_{number}" for number in range(len(frame.columns))))
        unique.write.format("noop").mode("overwrite").save()
    # Returns once every query that has ended is recorded.
    spark.sql("SELECT count(*) FROM aqe_metrics()").collect()
    rows = spark.sql(
        "SELECT * FROM aqe_decisions() WHERE exists(job_tags, one -> contains(one, :tag))", {"tag": tag}
    ).collect()
    # Spark describes a query by the line that ran it, which is ours.
    return tuple(replace(story, description="") for story in stories_of([row.asDict(recursive=True) for row in rows]))


def stories_of(rows: Sequence[Row]) -> tuple[QueryStory, ...]:
    """One story for each query in rows of ``aqe_decisions()`` with all columns."""
    ordered = sorted(rows, key=lambda row: int(row["execution_id"]))
    return tuple(_story(list(query)) for _, query in groupby(ordered, key=lambda row: row["execution_id"]))


@contextmanager
def _tagged(spark: SparkSession) -> Iterator[str]:
    """Tags what this thread runs in ``spark``, to tell its queries from others."""
    tag = f"aqe-plugin-{uuid4().hex}"
    spark.addTag(tag)
    try:
        yield tag
    finally:
        spark.removeTag(tag)


def _story(rows: Sequence[Row]) -> QueryStory:
    first = rows[0]
    joins = tuple(JoinStory(_decision(row), _planned(row), _outcomes(row)) for row in rows)
    return QueryStory(
        application="",
        application_name="",
        execution_id=int(first["execution_id"]),
        description=first["description"] or "",
        mode=PluginMode(first["mode"]),
        duration_millis=first["query_millis"],
        joins=joins,
        ended=_ended(first, joins),
        error="the query failed or was cancelled" if first["query_status"] == "failed" else None,
    )


def _ended(row: Row, joins: Sequence[JoinStory]) -> QueryEnded | None:
    if row["query_millis"] is None:
        return None
    outcomes = tuple(outcome for join in joins for outcome in join.outcomes)
    return QueryEnded(
        schema_version=1,
        execution_id=int(row["execution_id"]),
        time_millis=0,
        duration_millis=row["query_millis"],
        rule_millis=row["query_rule_millis"],
        planned=len(outcomes),
        applied=sum(outcome.kind != "missing" for outcome in outcomes),
        errors=row["query_errors"],
        outcomes=outcomes,
        arm=None if row["arm"] is None else TrialArm(row["arm"]),
    )


def _decision(row: Row) -> JoinDecision:
    choice, with_filter, reason = Strategy(row["choice"]), bool(row["with_filter"]), _reason(row, "reason")
    taken = WeighedOption(choice, with_filter, row["predicted_cost_millis"], reason)
    others = tuple(
        WeighedOption(Strategy(one["strategy"]), one["with_filter"], one["cost_millis"], _reason(one, "reason"))
        for one in row["options_not_taken"]
    )
    options = others if choice is Strategy.LEAVE_TO_SPARK else (taken, *others)
    return JoinDecision(
        facts=decode(JoinFacts, json.loads(row["facts"])),
        choice=choice,
        reason=reason,
        build_filter=with_filter,
        filter_reason=_reason(row, "filter_reason"),
        pass_rate=row["predicted_pass_rate"],
        # In the order in which they are weighed; the table lists the chosen option separately.
        options=tuple(sorted(options, key=lambda one: (_ORDER.index(one.strategy), one.with_filter))),
    )


def _reason(row: Row, name: str) -> Reason:
    return Reason(
        row[name],
        row[f"{name}_measured"],
        row[f"{name}_limit"],
        row[f"{name}_unit"] or "",
        row[f"{name}_conf_key"] or "",
    )


def _planned(row: Row) -> tuple[FilterPlanned, ...]:
    """The filters that did not run, and why."""
    return tuple(
        FilterPlanned(
            one["filter_id"],
            row["join_id"],
            one["table"],
            tuple(one["columns"]),
            one["status"] == "not_started",
            _reason(one, "reason"),
        )
        for one in row["filters"] or ()
        if one["status"] not in _RAN
    )


def _outcomes(row: Row) -> tuple[FilterOutcome, ...]:
    return tuple(
        FilterOutcome(
            filter_id=one["filter_id"],
            join_id=row["join_id"],
            table=one["table"],
            scan_columns=tuple(one["columns"]),
            kind=one["kind"],
            reason=_reason(one, "reason") if one["status"] == "passed_all" else None,
            rows_in=one["rows_in"],
            rows_out=one["rows_out"],
            batches_skipped=one["batches_not_checked"],
            filter_bytes=one["bytes"],
            build_millis=one["build_millis"],
            wait_millis=one["wait_millis"],
            keys=one["build_rows"],
        )
        for one in row["filters"] or ()
        if one["status"] in _RAN
    )
