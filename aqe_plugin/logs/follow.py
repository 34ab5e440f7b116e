"""Follows event logs while applications write to them: each record once, however often it is asked."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from aqe_plugin.errors import NoDataError
from aqe_plugin.events.lines import is_counted_line
from aqe_plugin.logs.file_offsets import Mark, Marks
from aqe_plugin.logs.files import Files, LocalFiles
from aqe_plugin.logs.layout import EventLog, LogPart, find_event_logs
from aqe_plugin.logs.offset import Place
from aqe_plugin.logs.reader import PartReader, Record, Skipped

__all__ = ["EventSource", "FolderFollower", "PartsFollower"]

# A reader holds a decompressor and an unfinished line; without one, reading on begins at the last block or frame.
_MAX_READERS = 64
_MAX_KEPT_LINE_BYTES = 1024 * 1024


class EventSource(Protocol):
    """Where records come from, and how far they were read.

    Not safe to share between threads: one caller at a time.
    """

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """A log's name with what was written to it since the last call, in parts of bounded size.

        Each part must be used up before the next is asked for. Between two parts, ``marks`` are behind all that was
        handed out: who stops there and writes them down can go on from there, in another process too.

        Raises:
            EventLogError: the source is away or may not be read, as a whole or in parts; what could be read came.
        """
        ...

    @property
    def marks(self) -> Marks:
        """How far each file was read."""
        ...


class PartsFollower:
    """Reads files on from their marks; the part of a source that does not care how files are found."""

    def __init__(self, marks: Marks, files: Files | None = None) -> None:
        self.marks = marks
        self._files = files or LocalFiles()
        self._readers: OrderedDict[str, PartReader] = OrderedDict()
        self._stuck: dict[str, PartReader] = {}
        self._seen: dict[str, tuple[int, ...]] = {}

    def read(
        self, log: EventLog, name: str, keys: Mapping[Path, str], whole: bool = False
    ) -> Iterator[tuple[str, Iterator[Record]]]:
        """What is new in ``log``, under ``name``; see :meth:`EventSource.poll`.

        A log that has ended and is cut off is told: at once when it is here as a ``whole``, otherwise when it did not
        change from one look to the next, as it may still be on its way here.
        """
        for part in log.parts:
            key = keys[part.path]
            seen = self._files.signature(part)
            settled = seen is not None and self._seen.get(key) == seen
            if not settled:
                for chunk in self._part(part, name, key, seen):
                    yield name, chunk
            if (settled or whole) and not log.in_progress and self._is_cut(key):
                yield name, self._tell_cut(part, key)

    def _part(self, part: LogPart, log: str, key: str, seen: tuple[int, ...] | None) -> Iterator[Iterator[Record]]:
        mark = self.marks.get(key)
        place = mark.place if mark is not None else _first_place(part, log, self.marks)
        reader = self._readers.pop(key, None) or self._stuck.pop(key, None)
        reader = reader or PartReader(part, place, is_counted_line)

        def marked(chunk: Iterator[Record]) -> Iterator[Record]:
            yield from chunk
            # Here and not behind the outer yield, which whoever stops after this part never comes back to.
            self.marks.put(key, Mark(log, part.number, part.compacted, reader.place))

        try:
            for piece in self._files.pieces(part, reader):
                for chunk in reader.chunks(part.path, piece):
                    yield marked(chunk)
        except OSError as error:
            yield reader.refused(error)
        self.marks.put(key, Mark(log, part.number, part.compacted, reader.place))
        self._keep(key, reader, seen)

    def _is_cut(self, key: str) -> bool:
        mark = self.marks.get(key)
        return mark is not None and mark.place.is_cut and mark.place.told_bytes != mark.place.read_bytes

    def _tell_cut(self, part: LogPart, key: str) -> Iterator[Record]:
        mark = self.marks.get(key)
        if mark is not None:
            yield Skipped(part.path, mark.place.lines + 1, "the log is cut off; if more of it comes, that is read")
            # A reader that is kept knows nothing of what was told.
            self._readers.pop(key, None)
            self.marks.put(key, replace(mark, place=replace(mark.place, told_bytes=mark.place.read_bytes)))

    def _keep(self, key: str, reader: PartReader, seen: tuple[int, ...] | None) -> None:
        if reader.stuck:
            self._stuck[key] = reader
            return
        if seen is not None:
            self._seen[key] = seen
        if reader.pending_bytes <= _MAX_KEPT_LINE_BYTES:
            self._readers[key] = reader
        if len(self._readers) > _MAX_READERS:
            self._readers.popitem(last=False)

    def forget(self, present: set[str]) -> None:
        """Keeps nothing in memory of files that are gone but their marks, and those for a week."""
        self.marks.miss_all_but(present, time.time())
        for kept in (self._seen, self._stuck, self._readers):
            for key in [key for key in kept if key not in present]:
                kept.pop(key)


class FolderFollower:
    """An :class:`EventSource` over a folder of event logs, whatever was renamed, compacted or replaced in between."""

    def __init__(self, folder: Path, marks: Marks | None = None) -> None:
        self._folder = folder
        self._follower = PartsFollower(marks or Marks())

    @property
    def marks(self) -> Marks:
        return self._follower.marks

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """See :class:`EventSource`; a folder without content is no event.

        Raises:
            EventLogError: the folder is gone or may not be listed.
        """
        try:
            logs = find_event_logs(self._folder)
        except NoDataError:
            # What is not mounted looks empty, so nothing is forgotten.
            return
        present: set[str] = set()
        for log in logs:
            keys = {part.path: str(part.key.relative_to(self._folder)) for part in log.parts}
            present.update(keys.values())
            yield from self._follower.read(log, log.name, keys)
        self._follower.forget(present)


def _first_place(part: LogPart, log: str, marks: Marks) -> Place:
    return Place(repeated=marks.counted(log, part.number)) if part.compacted else Place()
