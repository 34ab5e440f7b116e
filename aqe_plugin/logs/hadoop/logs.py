"""Event logs by their address, for as long as somebody reads them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aqe_plugin.errors import EventLogError
from aqe_plugin.logs.hadoop.files import HadoopFiles
from aqe_plugin.logs.hadoop.jvm import HadoopJvm

__all__ = ["opened_hadoop_files"]


@contextmanager
def opened_hadoop_files(uri: str, conf: Mapping[str, str], spool: Path | None = None) -> Iterator[HadoopFiles]:
    """The logs at ``uri``, with a JVM that runs as long as the context lasts.

    Args:
        conf: Hadoop's conf keys, over those of the conf folders.
        spool: the folder for pieces of logs, emptied now and gone at the end; one of the system's when left out.

    Raises:
        PysparkMissingError: PySpark is not installed.
        JavaError: there is no Java, or one that is too old.
        SessionError: the JVM does not start.
        EventLogError: ``spool`` cannot be made.
    """
    try:
        # What a process left that was killed.
        if spool is not None:
            shutil.rmtree(spool, ignore_errors=True)
            # Spark lets nobody else read a log in HDFS; what is copied here is no more open.
            spool.mkdir(mode=0o700, parents=True)
        folder = Path(tempfile.mkdtemp(prefix="aqe-plugin-")) if spool is None else spool
    except OSError as error:
        raise EventLogError(f"{spool or tempfile.gettempdir()}: cannot be written ({error.strerror}).") from error
    jvm = HadoopJvm(conf)
    try:
        jvm.start()
        yield HadoopFiles(uri, jvm, folder)
    finally:
        jvm.close()
        shutil.rmtree(folder, ignore_errors=True)
