"""Every query of one or many event logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aqe_plugin.sources import Skipped, find_event_logs, read_log
from aqe_plugin.stories import QueryStory, stories

__all__ = ["read_queries"]


def read_queries(path: Path) -> Iterator[QueryStory | Skipped]:
    """The queries of an event log, or of a folder of them, in which at least one join was decided.

    A query comes as soon as its end was read; what could not be used comes in between, as a value.

    Raises:
        EventLogError: there is nothing at ``path``, or it may not be listed.
        NoDataError: it is a folder without any event log.
    """
    for log in find_event_logs(path):
        yield from stories(read_log(log), log.name)
