"""What was decided for a frame: runs it and reads its rows of ``aqe_decisions()``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from aqe_plugin.events.json_values import decode
from aqe_plugin.events.model import QueryEnded
from aqe_plugin.events.queries import JoinStory, QueryStory, beside_each_other

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = Mapping[str, Any]

_ALONE = {"isBesideOthers": False}
_DESCRIPTION = "spark.job.description"
# Without parameters of SQL, which Delta's parser loses.
_ROWS = (
    "SELECT execution_id, mode, arm, query_status, query_millis, query_rule_millis, query_errors, events "
    "FROM aqe_decisions() WHERE exists(job_tags, one -> contains(one, '{tag}'))"
)


def run_and_read(spark: SparkSession, frame: DataFrame) -> tuple[QueryStory, ...]:
    """Runs ``frame``, discards its rows, and reads what was decided for it."""
    return decided_under(spark, run_tagged(frame))


def run_tagged(frame: DataFrame) -> str:
    """Runs ``frame``, discards its rows, and returns the tag that tells its queries from others of this thread."""
    with tagged(frame.sparkSession, "aqe-plugin runs a frame to see its decisions") as tag:
        discard_rows(frame)
    return tag


def discard_rows(frame: DataFrame) -> None:
    """Runs ``frame`` to its last row."""
    # A frame may have two columns of one name, what is written may not.
    unique = frame.toDF(*(f"_{number}" for number in range(len(frame.columns))))
    unique.write.format("noop").mode("overwrite").save()


@contextmanager
def tagged(spark: SparkSession, why: str) -> Iterator[str]:
    """A tag that tells the queries of the block from others of this thread.

    They say in the UI and the event log why they run, unless the user describes them. A session of Spark Connect
    describes each query by itself.
    """
    tag = f"aqe-plugin-{uuid4().hex}"
    context = getattr(spark, "sparkContext", None)
    if context is not None and context.getLocalProperty(_DESCRIPTION):
        context = None
    spark.addTag(tag)
    if context is not None:
        context.setJobDescription(why)
    try:
        yield tag
    finally:
        spark.removeTag(tag)
        if context is not None:
            context.setLocalProperty(_DESCRIPTION, None)


def decided_under(spark: SparkSession, tag: str) -> tuple[QueryStory, ...]:
    """What was decided for the queries with this tag."""
    # Returns once every query that has ended is recorded.
    spark.sql("SELECT count(*) FROM aqe_metrics()").collect()
    return stories_of([row.asDict() for row in spark.sql(_ROWS.format(tag=tag)).collect()])


def stories_of(rows: Sequence[Row]) -> tuple[QueryStory, ...]:
    """One story for each query in rows of ``aqe_decisions()`` in the order of ``execution_id``.

    They have no description: Spark describes a query by the line of code that ran it, which is of this module.
    """
    return tuple(_story(list(query)) for _, query in groupby(sorted(rows, key=_query), key=_query))


def join_in(events: str) -> JoinStory:
    """The join of the column ``events``, without what its row cannot know: the query's other joins."""
    return decode(JoinStory, {**json.loads(events), **_ALONE})


def _query(row: Row) -> Any:
    return row["execution_id"]


def _story(rows: Sequence[Row]) -> QueryStory:
    first = rows[0]
    joins = beside_each_other(join_in(row["events"]) for row in rows)
    return QueryStory(
        application="",
        application_name="",
        execution_id=first["execution_id"],
        description="",
        mode=first["mode"],
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
        execution_id=row["execution_id"],
        time_millis=0,
        duration_millis=row["query_millis"],
        rule_millis=row["query_rule_millis"],
        planned=len(outcomes),
        applied=sum(outcome.kind != "missing" for outcome in outcomes),
        errors=row["query_errors"],
        outcomes=outcomes,
        arm=row["arm"],
        flips=tuple(flip for join in joins for flip in join.flips),
        savings=tuple(join.saving for join in joins if join.saving is not None),
    )
