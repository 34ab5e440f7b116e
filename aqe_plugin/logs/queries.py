"""The queries of event logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.logs import EventLog, Record, Skipped, read_log
from aqe_plugin.logs.files import opened_files


def read_queries(
    path: Path | str,
    on_skip: Callable[[Skipped], object] = lambda _: None,
    *,
    hadoop_conf: Mapping[str, str] | None = None,
) -> Iterator[QueryStory]:
    """The queries with at least one decided join or limit, of an event log or a folder of logs.

    A query comes as soon as its end was read.

    Args:
        path: a path, or an address that Spark's own client opens: ``hdfs://...``, ``s3a://...``, ``file:/...``.
        on_skip: receives each line and file that could not be used.
        hadoop_conf: for such an address, Hadoop's conf keys over those of the conf folders.

    Raises:
        EventLogError: there is nothing at ``path``, or it cannot be listed.
        NoDataError: it is a folder without any event log.
        SetupError: for an address, PySpark or Java is missing.
    """
    return queries_of(path, on_skip, hadoop_conf, lambda logs: logs)


def queries_of(
    path: Path | str,
    on_skip: Callable[[Skipped], object],
    hadoop_conf: Mapping[str, str] | None,
    track: Callable[[list[EventLog]], Iterable[EventLog]],
    see: Callable[[str, Record], object] = lambda name, record: None,
) -> Iterator[QueryStory]:
    """As :func:`read_queries`.

    Args:
        track: hands out the logs that are read, to follow the progress.
        see: gets each record, with the name of its log.
    """
    with opened_files(path, hadoop_conf) as files:
        for log in track(files.find()):
            written = files.changed_millis(log.parts[-1]) if log.in_progress else None
            for query in queries_in(_shown(read_log(log, files), log.name, see), log.name, written):
                if isinstance(query, Skipped):
                    on_skip(query)
                else:
                    yield query


def _shown(records: Iterable[Record], name: str, see: Callable[[str, Record], object]) -> Iterator[Record]:
    for record in records:
        see(name, record)
        yield record
