"""Where the bytes of event logs are: in files here, unless another file system is asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from aqe_plugin.logs.layout import EventLog, LogPart
from aqe_plugin.logs.reader import PartReader, Record

__all__ = ["Files", "LocalFiles", "read_log"]


class Files(Protocol):
    """Gives the content of parts, as files that can be opened here."""

    def signature(self, part: LogPart) -> tuple[int, ...] | None:
        """What changes when anything is written to it; ``None`` when only reading it can tell."""
        ...

    def pieces(self, part: LogPart, reader: PartReader) -> Iterator[Path]:
        """Files with what ``reader`` reads next, at the offsets where it is in the part, and with the part's beginning.

        Each is to be used up before the next is asked for, and is gone then.

        Raises:
            OSError: the part may not be read, or is damaged beyond reading; other parts may be well.
            EventLogError: nothing can be read for the moment.
        """
        ...


class LocalFiles:
    """Parts that are files here, each its own and only piece."""

    def signature(self, part: LogPart) -> tuple[int, ...] | None:
        try:
            status = part.path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ino

    def pieces(self, part: LogPart, reader: PartReader) -> Iterator[Path]:
        yield part.path


def read_log(log: EventLog, files: Files | None = None) -> Iterator[Record]:
    """The events of one application in the order they were written; never raises for what is in the files.

    Raises:
        EventLogError: ``files``, those here when it is left out, cannot be read as a whole.
    """
    for part in log.parts:
        reader = PartReader(part)
        try:
            for piece in (files or LocalFiles()).pieces(part, reader):
                for chunk in reader.chunks(part.path, piece):
                    yield from chunk
        except OSError as error:
            yield from reader.refused(error)
        yield from reader.finish(log.in_progress)
