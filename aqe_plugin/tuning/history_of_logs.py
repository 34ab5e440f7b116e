"""The history of past queries in many event logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aqe_plugin.events.queries import QueryStory, queries_in
from aqe_plugin.logs import Skipped, read_log
from aqe_plugin.logs.files import opened_files
from aqe_plugin.logs.queries import Progress
from aqe_plugin.tuning.history import QueryHistory, history_of


@dataclass(frozen=True, slots=True)
class HistoryOfLogs:
    """The history in some event logs.

    Attributes:
        logs: the number of logs.
        skipped: lines, or whole files, that could not be used.
    """

    history: QueryHistory
    logs: int
    skipped: tuple[Skipped, ...]


def history_of_logs(places: Sequence[str], hadoop_conf: Mapping[str, str], progress: Progress) -> HistoryOfLogs:
    """Reads every event log at ``places``, in that order.

    Args:
        places: paths, or addresses that Spark opens with ``hadoop_conf``.

    Raises:
        EventLogError: one of the places is not there.
        NoDataError: one of them is a folder without any event log.
        SetupError: for an address, PySpark or Java is missing.
    """
    skipped: list[Skipped] = []
    logs = 0

    def queries() -> Iterator[QueryStory]:
        nonlocal logs
        for place in places:
            with opened_files(place, hadoop_conf) as files:
                found = files.find()
                progress.found(len(found))
                logs += len(found)
                for log in found:
                    for query in queries_in(read_log(log, files), log.name):
                        if isinstance(query, Skipped):
                            skipped.append(query)
                        else:
                            yield query
                    progress.done()

    history = history_of(queries())
    return HistoryOfLogs(history, logs, tuple(skipped))
