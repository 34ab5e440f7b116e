"""Reads event logs line by line and keeps the few lines that are asked for: a look at their first bytes, no parsing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from aqe_plugin.pipeline.listing import unescaped
from aqe_plugin.pipeline.schemas import SQL_ENDED, SQL_STARTED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["KINDS", "MAX_LINE_BYTES", "event_lines", "kind_of"]

# Longer than any event of the plugin; Hadoop's reader passes over a longer line and goes on behind it.
MAX_LINE_BYTES = 256 * 1024 * 1024

# What follows `{"Event":"`, which Spark writes first.
KINDS = {
    "decided": "io.aqeplugin.tell.JoinDecided",
    "ended": "io.aqeplugin.tell.QueryEnded",
    "started": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
    "over": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd",
    "application": "SparkListenerApplicationStart",
    "damaged": "io.aqeplugin.logs.Damaged",
}
_CODECS = ",".join(
    f"io.aqeplugin.logs.{codec}Log{state}"
    for codec in ("Zstd", "Lz4", "Snappy", "Lzf")
    for state in ("", "InProgress", "Compacted")
)


def kind_of(line: Column) -> Column:
    """The name in ``KINDS`` of a line of an event log, null for every other line."""
    kinds = [F.when(line.startswith(f'{{"Event":"{event}"'), F.lit(kind)) for kind, event in KINDS.items()]
    return F.coalesce(*kinds)


def event_lines(spark: SparkSession, parts: DataFrame, paths: list[str]) -> DataFrame:
    """``log, position, kind, line`` of the lines of ``paths`` that are of a kind, where a log has them.

    Of Spark's own events, which hold whole plans, only the members that are asked for are in ``line``.

    Args:
        parts: as ``listing.parts_of`` gives them, for the log and the part of each path.
        paths: of those to read, at least one.
    """
    text = (
        spark.read.option("io.compression.codecs", _CODECS)
        .option("mapreduce.input.linerecordreader.line.maxlength", str(MAX_LINE_BYTES))
        .option("ignoreMissingFiles", "true")
        .option("lineSep", "\n")
        .text([unescaped(spark, path) for path in paths])
    )
    found = text.select(
        F.regexp_replace("_metadata.file_path", "^file:/+", "file:/").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
        kind_of(F.col("value")).alias("kind"),
        "value",
    ).where("kind IS NOT NULL")
    narrowed = (
        F.when(F.col("kind") == "started", F.to_json(F.from_json("value", SQL_STARTED)))
        .when(F.col("kind") == "over", F.to_json(F.from_json("value", SQL_ENDED)))
        .otherwise(F.col("value"))
    )
    kept = found.select("path", "block", "kind", narrowed.alias("line"), F.monotonically_increasing_id().alias("row"))
    position = F.struct("part", "block", "row").alias("position")
    of_log = F.broadcast(parts.select("path", "log", "part"))
    return kept.join(of_log, "path").select("log", position, "kind", "line")
