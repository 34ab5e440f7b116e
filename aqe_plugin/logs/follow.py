"""Follows event logs while applications write to them: each record once, however often it is asked."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.events.lines import is_counted_line
from aqe_plugin.logs.files import Files
from aqe_plugin.logs.layout import EventLog, LogPart
from aqe_plugin.logs.offsets import FileOffset, FileOffsets, Offset
from aqe_plugin.logs.reader import PartReader, Record, Skipped

# A reader holds a decompressor and an unfinished line; without one, reading continues at the last block or frame.
_MAX_READERS = 64
_MAX_KEPT_LINE_BYTES = 1024 * 1024
_FAILURES_IN_A_ROW = 3


class EventSource(Protocol):
    """Where records come from, and how far they were read.

    Not safe to share between threads: one caller at a time.
    """

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """A log's name with what was written to it since the last call, in parts of bounded size.

        Use up each part before asking for the next. Between two parts, ``offsets`` are behind everything that was
        handed out: a caller that stops there and stores them can continue from there, in another process too.

        Raises:
            EventLogError: the source cannot be read, as a whole or in parts; everything readable was handed out.
        """

    @property
    def offsets(self) -> FileOffsets:
        """How far each file was read."""


class Failures:
    """Counts the logs of one poll that could not be read; after three in a row the others wait for the next poll."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._in_a_row = 0

    @property
    def too_many(self) -> bool:
        return self._in_a_row == _FAILURES_IN_A_ROW

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Around the reading of one log."""
        try:
            yield
            self._in_a_row = 0
        except EventLogError as error:
            self._messages.append(str(error))
            self._in_a_row += 1

    def raise_any(self) -> None:
        if self._messages:
            logs = "1 log" if len(self._messages) == 1 else f"{len(self._messages)} logs"
            raise EventLogError(f"{logs} could not be read, the first: {self._messages[0]}")


class LogFollower:
    """Reads logs on from their offsets; how logs are found is up to others."""

    def __init__(self, files: Files, offsets: FileOffsets | None = None) -> None:
        self.offsets = offsets or FileOffsets()
        self._files = files
        self._readers: OrderedDict[str, PartReader] = OrderedDict()
        self._stuck: dict[str, PartReader] = {}
        self._seen: dict[str, tuple[int, ...]] = {}

    def read(
        self, log: EventLog, name: str, keys: Mapping[Path, str], whole: bool = False
    ) -> Iterator[tuple[str, Iterator[Record]]]:
        """What is new in ``log``, under ``name``; see :meth:`EventSource.poll`.

        A log that has ended and is cut off is reported: at once when all of it is here (``whole``), otherwise when it
        did not change between two polls, as it may still be being copied.
        """
        for part in log.parts:
            key = keys[part.path]
            seen = self._files.signature(part)
            unchanged = seen is not None and self._seen.get(key) == seen
            if not unchanged:
                for chunk in self._part(part, name, key, seen):
                    yield name, chunk
            file = self.offsets.get(key)
            if (unchanged or whole) and not log.in_progress and file is not None and file.offset.is_cut:
                yield name, self._report_cut(part, key, file)

    def _part(self, part: LogPart, log: str, key: str, seen: tuple[int, ...] | None) -> Iterator[Iterator[Record]]:
        file = self.offsets.get(key)
        before = self.offsets.counted(log, part.number) if part.compacted and file is None else 0
        offset = file.offset if file is not None else Offset(repeated=before)
        reader = self._readers.pop(key, None) or self._stuck.pop(key, None)
        reader = reader or PartReader(part, offset, is_counted_line)

        def then_put_offset(chunk: Iterator[Record]) -> Iterator[Record]:
            yield from chunk
            # Here and not behind the outer yield, to which a caller that stops after this part never returns.
            self.offsets.put(key, FileOffset(log, part.number, part.compacted, reader.offset))

        try:
            for piece in self._files.pieces(part, reader):
                for chunk in reader.chunks(part.path, piece):
                    yield then_put_offset(chunk)
        except OSError as error:
            yield reader.refused(error)
        self.offsets.put(key, FileOffset(log, part.number, part.compacted, reader.offset))
        self._keep(key, reader, seen)

    def _report_cut(self, part: LogPart, key: str, file: FileOffset) -> Iterator[Record]:
        offset = file.offset
        if offset.reported_bytes != offset.read_bytes:
            yield Skipped(part.path, offset.lines + 1, "the log is cut off; if more of it comes, that is read")
            # A reader that is kept has the offset from before the report.
            self._readers.pop(key, None)
            self.offsets.put(key, replace(file, offset=replace(offset, reported_bytes=offset.read_bytes)))

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
        """Keeps nothing of files that are missing but their offsets, and those for a week."""
        self.offsets.miss_all_but(present, time.time())
        for kept in (self._seen, self._stuck, self._readers):
            for key in [key for key in kept if key not in present]:
                kept.pop(key)


class FolderFollower(LogFollower):
    """An :class:`EventSource` over a folder of event logs, whatever is renamed, compacted or replaced between polls."""

    def __init__(self, folder: Path | Files, offsets: FileOffsets | None = None) -> None:
        super().__init__(Files(folder) if isinstance(folder, Path) else folder, offsets)

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """See :class:`EventSource`; a folder without any event log gives nothing.

        Raises:
            EventLogError: the folder is missing or cannot be listed, or some logs could not be read; the next call
                reads them.
        """
        try:
            logs = self._files.find()
        except NoDataError:
            # A folder that is not mounted looks empty, so nothing is forgotten.
            return
        failures, present = Failures(), set[str]()
        for log in logs:
            keys = {part.path: str(part.key.relative_to(self._files.root)) for part in log.parts}
            present.update(keys.values())
            if not failures.too_many:
                with failures.counted():
                    yield from self.read(log, log.name, keys)
        self.forget(present)
        failures.raise_any()
