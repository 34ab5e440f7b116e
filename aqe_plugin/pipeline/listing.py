"""Which files belong to which application attempt, from names alone: :mod:`aqe_plugin.sources.layout` as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from aqe_plugin.errors import EventLogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["attempts_in", "files_below", "parts_of", "unescaped"]

_ROLLING = "eventlog_v2_"
_SINGLE_NAME = r"^(.*?)(?:\.(?:zstd|lz4|snappy|lzf))?(?:\.inprogress)?$"


def files_below(spark: SparkSession, folders: list[str]) -> DataFrame:
    """``path, bytes, modifiedMillis, root`` of every file below ``folders``; nothing is opened.

    Raises:
        EventLogError: one of the folders is not there.
    """
    found = [_files_below(spark, folder) for folder in folders]
    whole = found[0]
    for one in found[1:]:
        whole = whole.unionByName(one)
    return whole.dropDuplicates(["path"])


def parts_of(files: DataFrame) -> DataFrame:
    """Of :func:`files_below` those that belong to an event log: adds ``log, part, inProgress, read``.

    A log is a file directly in the folder that was given, or a folder ``eventlog_v2_*`` there, or is itself what was
    given. Parts that Spark has compacted since are not among them; ``read`` is false for the empty file that says how a
    rolling log is.
    """
    path = F.regexp_replace("path", "^.*/(?=[^/]+/[^/]+$)", "")
    names = F.split(path, "/")
    named = files.withColumns({"_folder": F.element_at(names, 1), "_name": F.element_at(names, 2)})
    named = named.withColumn("_rolling", F.col("_folder").startswith(_ROLLING))
    within = F.expr("substring(path, length(root) + 2)")
    depth = F.when(F.col("path") == F.col("root"), 0).otherwise(F.size(F.split(within, "/")))
    # A rolling log's folder that was given itself has its parts at depth 1, and one of its parts at depth 0.
    direct = F.when(F.col("_rolling"), depth <= 2).otherwise(depth <= 1)
    number = F.regexp_extract("_name", r"^events_(\d{1,9})_", 1)
    part = F.when(F.col("_rolling"), number.try_cast("int")).otherwise(F.lit(0))
    status = F.col("_rolling") & F.col("_name").startswith("appstatus_")
    compacting = F.col("_name").endswith(".compact.inprogress")
    log = F.when(F.col("_rolling"), F.expr(f"substring(_folder, {len(_ROLLING) + 1})")).otherwise(
        F.regexp_extract("_name", _SINGLE_NAME, 1)
    )
    kept = named.where(direct & ~compacting & (part.isNotNull() | status)).select(
        "path",
        "bytes",
        "modifiedMillis",
        log.alias("log"),
        F.coalesce(part, F.lit(0)).alias("part"),
        F.col("_name").endswith(".inprogress").alias("inProgress"),
        F.col("_name").endswith(".compact").alias("compacted"),
        (~status).alias("read"),
    )
    last = kept.where("compacted").groupBy("log").agg(F.max("part").alias("lastCompacted"))
    stands = F.col("lastCompacted").isNull() | ~F.col("read") | (F.col("part") > F.col("lastCompacted"))
    replaced = F.col("compacted") & (F.col("part") == F.col("lastCompacted"))
    return kept.join(F.broadcast(last), "log", "left").where(stands | replaced).drop("compacted", "lastCompacted")


def attempts_in(parts: DataFrame) -> DataFrame:
    """``log, inProgress, files`` of each attempt: its files as they are now, by which a change is told."""
    file = F.struct("path", "bytes", "modifiedMillis")
    return parts.groupBy("log").agg(
        F.max("inProgress").alias("inProgress"), F.array_sort(F.collect_set(file)).alias("files")
    )


def unescaped(spark: SparkSession, uri: str) -> str:
    """The path behind ``_metadata.file_path``, as a reader takes it: no character of it is a pattern."""
    jvm: Any = spark._jvm
    path = str(jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(uri)).toString())
    return "".join(f"\\{character}" if character in "{}[]*?\\" else character for character in path)


def _files_below(spark: SparkSession, folder: str) -> DataFrame:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    whole = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).makeQualified(path)
    root = str(whole.toUri().toString()).rstrip("/")
    try:
        listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(unescaped(spark, root))
    except AnalysisException as error:
        raise EventLogError(f"{folder}: no such file or folder.") from error
    one_slash = F.regexp_replace("_metadata.file_path", "^file:/+", "file:/")
    return listed.select(
        one_slash.alias("path"),
        F.col("_metadata.file_size").alias("bytes"),
        F.unix_millis("_metadata.file_modification_time").alias("modifiedMillis"),
        F.regexp_replace(F.lit(root), "^file:/+", "file:/").alias("root"),
    )
