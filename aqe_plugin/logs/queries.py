"""Every query of one or many event logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.logs import Skipped, read_log
from aqe_plugin.logs.files import opened_files

__all__ = ["Progress", "read_queries"]


class Progress(Protocol):
    """Is told how far the reading of logs is."""

    def found(self, logs: int) -> None:
        """So many more are to be read."""
        ...

    def done(self) -> None:
        """One more was read."""
        ...


def read_queries(
    path: Path | str, hadoop_conf: Mapping[str, str] | None = None, progress: Progress | None = None
) -> Iterator[QueryStory | Skipped]:
    """The queries of an event log, or of a folder of them, in which at least one join was decided.

    A query comes as soon as its end was read; what could not be used comes in between, as a value.

    Args:
        path: a path, or an address that Spark's own client opens: ``hdfs://...``, ``s3a://...``, ``file:/...``.
        hadoop_conf: for such an address, Hadoop's conf keys over those of the conf folders.
        progress: is told how many logs there are, and of each when it was read.

    Raises:
        EventLogError: there is nothing at ``path``, or it may not be listed.
        NoDataError: it is a folder without any event log.
        SetupError: for an address, PySpark or Java is missing.
    """
    with opened_files(path, hadoop_conf) as files:
        logs = files.find()
        if progress is not None:
            progress.found(len(logs))
        for log in logs:
            yield from queries_in(read_log(log, files), log.name)
            if progress is not None:
                progress.done()
