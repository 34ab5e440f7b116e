"""Writes an archive of the classes of a Spark driver: python -m tests.class_archive FILE.

A JVM that maps the archive started a session and ran two small queries in 7 s, one that reads Spark's jars in 12.
`tests/conftest.py` hands the archive to the JVMs of the tests. A JVM with other jars does without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

__all__: list[str] = []


def _write(archive: Path) -> None:
    """The JVM writes its archive when it exits, which it does when this process closes its pipe.

    Raises:
        SystemExit: the JVM wrote none.
    """
    made = archive.with_suffix(".made")
    made.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = (
        f"-XX:TieredStopAtLevel=1 -Xlog:cds=off -Xlog:cds+dynamic=off -XX:ArchiveClassesAtExit={made}"
    )
    from pyspark.sql import SparkSession

    with TemporaryDirectory() as folder:
        spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
        spark.range(1000).selectExpr("id", "id % 7 AS key", "CAST(id AS STRING) AS text").write.parquet(
            f"{folder}/facts"
        )
        facts, keys = spark.read.parquet(f"{folder}/facts"), spark.range(5).withColumnRenamed("id", "key")
        facts.join(keys, "key").groupBy("key").count().orderBy("key").collect()
        facts.hint("merge").join(keys, "key").write.json(f"{folder}/joined")
        spark.stop()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    gateway.proc.stdin.close()
    if gateway.proc.wait() != 0 or not made.exists():
        sys.exit(f"the JVM ended with {gateway.proc.returncode} and wrote no {made}")
    made.replace(archive)


if __name__ == "__main__":
    _write(Path(sys.argv[1]).resolve())
