"""Reads event logs and keeps the few wanted lines, which it recognizes by their first bytes without parsing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from aqe_plugin.pipeline.attempt_files import ApplicationAttempt

# Longer than any event of the plugin; a longer line is skipped.
MAX_LINE_BYTES = 256 * 1024 * 1024

# What follows `{"Event":"`, with which Spark begins each line.
KINDS = {
    "decided": "io.aqeplugin.tell.JoinDecided",
    "ended": "io.aqeplugin.tell.QueryEnded",
    "limited": "io.aqeplugin.tell.LimitDecided",
    "inferred": "io.aqeplugin.tell.PredicateInferred",
    "started": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
    "over": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd",
    "application": "SparkListenerApplicationStart",
    "damaged": "io.aqeplugin.logs.Damaged",
}
# Spark's own SQL events hold whole plans.
_MEMBERS = {"started": ("executionId", "description", "time"), "over": ("executionId", "time", "errorMessage")}

# Packed like Spark's files; four tasks a core, so that no core waits for a large one at the end.
_TASKS_PER_CORE = 4
_MIN_TASK_BYTES = 4 * 1024 * 1024
_MAX_TASK_BYTES = 128 * 1024 * 1024


def kind_of(line: Column) -> Column:
    """The name in ``KINDS`` of a line of an event log, null for every other line."""
    kinds = [F.when(line.startswith(f'{{"Event":"{event}"'), F.lit(kind)) for kind, event in KINDS.items()]
    return F.coalesce(*kinds)


def event_lines(spark: SparkSession, attempts: Iterable[ApplicationAttempt]) -> DataFrame:
    """``log, position, kind, line`` of the lines of ``attempts`` that have a kind.

    ``line`` has only the needed members of Spark's own events, which hold whole plans.
    """
    read = [(attempt.log, part) for attempt in attempts for part in attempt.parts if part.read and part.file.bytes > 0]
    all_bytes = sum(part.file.bytes for _, part in read)
    share_bytes = all_bytes // (_TASKS_PER_CORE * max(1, spark.sparkContext.defaultParallelism))
    wanted = {
        "kinds": [{"name": kind, "event": event, "members": _MEMBERS.get(kind, ())} for kind, event in KINDS.items()],
        "files": [
            {"log": log, "part": part.named.number, "path": part.file.path, "bytes": part.file.bytes}
            for log, part in read
        ],
        "maxLineBytes": MAX_LINE_BYTES,
        "taskBytes": min(_MAX_TASK_BYTES, max(_MIN_TASK_BYTES, share_bytes)),
    }
    jvm: Any = spark._jvm
    return DataFrame(jvm.io.aqeplugin.logs.EventLogLines.read(spark._jsparkSession, json.dumps(wanted)), spark)
