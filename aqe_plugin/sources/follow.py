"""Follows a folder of event logs while applications write to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aqe_plugin.errors import NoDataError
from aqe_plugin.events import Event
from aqe_plugin.sources.layout import EventLog, LogPart, find_event_logs
from aqe_plugin.sources.reader import PartReader, Skipped

__all__ = ["FolderFollower"]


class FolderFollower:
    """Hands out every event of a folder once, however often it is asked and whatever was renamed in between.

    Not safe to share between threads: one caller at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[Path, PartReader] = {}
        self._last_number: dict[str, int] = {}

    def poll(self) -> Iterator[tuple[str, Event | Skipped]]:
        """Application log's name with each event written since the last call; no folder content is no event.

        Raises:
            EventLogError: the folder is gone or may not be listed.
        """
        for log in self._logs():
            for part in log.parts:
                if self._was_read_before_compaction(log, part):
                    continue
                reader = self._reader(part)
                self._last_number[log.name] = max(part.number, self._last_number.get(log.name, 0))
                for record in reader.read_on(part.path):
                    yield log.name, record

    @property
    def files(self) -> int:
        """Files read so far."""
        return len(self._readers)

    def _logs(self) -> list[EventLog]:
        try:
            return find_event_logs(self._folder)
        except NoDataError:
            return []

    def _reader(self, part: LogPart) -> PartReader:
        reader = self._readers.get(part.key)
        if reader is None or _size_bytes(part.path) < reader.offset_bytes:
            # A file that shrank was written anew (spark.eventLog.overwrite): another run, to be read from its start.
            reader = PartReader(part)
            self._readers[part.key] = reader
        return reader

    def _was_read_before_compaction(self, log: EventLog, part: LogPart) -> bool:
        return part.compacted and part.key not in self._readers and part.number <= self._last_number.get(log.name, 0)


def _size_bytes(path: Path) -> float:
    try:
        return path.stat().st_size
    except OSError:
        # Gone for now; reading it says so.
        return float("inf")
