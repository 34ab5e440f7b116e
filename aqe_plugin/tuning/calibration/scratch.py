"""The folder of a calibration's tables, for as long as it lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from aqe_plugin.errors import ConfError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def scratch_folder(spark: SparkSession, asked: str | None) -> Iterator[str]:
    """A folder of its own below ``asked``, or on this machine where all tasks run here.

    It is removed afterwards, and so is each folder above it that was not there before.

    Raises:
        ConfError: no folder was given to a cluster.
    """
    if asked is None:
        master = str(spark.sparkContext.master)
        if not master.startswith("local"):
            raise ConfError(f"The session's master is {master}: give --scratch, a folder that every executor reaches.")
        with TemporaryDirectory(prefix="aqe-plugin-calibrate-") as folder:
            yield Path(folder).as_uri()
        return
    folder = f"{asked.rstrip('/')}/aqe-plugin-calibrate-{uuid4().hex[:12]}"
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    made, above = [], path.getParent()
    while above is not None and not files.exists(above):
        made.append(above)
        above = above.getParent()
    try:
        yield folder
    finally:
        files.delete(path, True)
        for empty in made:
            if files.exists(empty) and not len(files.listStatus(empty)):
                files.delete(empty, False)
