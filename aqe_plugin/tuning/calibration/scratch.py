"""The folder of a calibration's tables, for as long as it lasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
    made = missing_above(files, path)
    try:
        yield folder
    except BaseException:
        # The user has to know what went wrong first, also when that ended the JVM.
        with suppress(Exception):
            files.delete(path, True)
            remove_empty(files, made)
        raise
    files.delete(path, True)
    remove_empty(files, made)


def missing_above(files: Any, path: Any) -> list[Any]:
    """The folders above ``path`` that do not exist, the nearest first; none above one that may not be looked at."""
    missing, above = list[Any](), path.getParent()
    with _suppressed():
        while above is not None and not files.exists(above):
            missing.append(above)
            above = above.getParent()
    return missing


def remove_empty(files: Any, folders: Sequence[Any]) -> None:
    """Removes the folders that are empty; stops at one that another process has removed or that may not be removed."""
    with _suppressed():
        for folder in folders:
            if files.exists(folder) and not len(files.listStatus(folder)):
                files.delete(folder, False)


def _suppressed() -> suppress:
    """Errors of the file system; py4j comes with PySpark, which the command line has only where it needs it."""
    from py4j.protocol import Py4JError

    return suppress(Py4JError)
