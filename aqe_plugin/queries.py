"""Every query of one or many event logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from aqe_plugin.addresses import is_hadoop_uri
from aqe_plugin.sources import Skipped, find_event_logs, read_log
from aqe_plugin.stories import QueryStory, stories

__all__ = ["read_queries"]


def read_queries(path: Path | str, hadoop_conf: Mapping[str, str] | None = None) -> Iterator[QueryStory | Skipped]:
    """The queries of an event log, or of a folder of them, in which at least one join was decided.

    A query comes as soon as its end was read; what could not be used comes in between, as a value.

    Args:
        path: a path, or an address that Spark's own client opens: ``hdfs://...``, ``s3a://...``, ``file:/...``.
        hadoop_conf: for such an address, Hadoop's conf keys over those of the conf folders.

    Raises:
        EventLogError: there is nothing at ``path``, or it may not be listed.
        NoDataError: it is a folder without any event log.
        SetupError: for an address, PySpark or Java is missing.
    """
    if isinstance(path, str) and is_hadoop_uri(path):
        # PySpark, and a JVM, for nothing but such an address.
        from aqe_plugin.hadoop import opened_files

        with opened_files(path, hadoop_conf or {}) as files:
            for log in files.find():
                yield from stories(read_log(log, files), log.name)
        return
    for log in find_event_logs(Path(path)):
        yield from stories(read_log(log), log.name)
