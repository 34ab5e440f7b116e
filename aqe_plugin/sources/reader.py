"""Reads event logs line by line in bounded memory, and says what it had to skip."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential

from aqe_plugin.errors import AqePluginError, EventSchemaError
from aqe_plugin.events import Event, is_event_line, parse_event
from aqe_plugin.sources.codecs import decompressor
from aqe_plugin.sources.layout import EventLog, LogPart

__all__ = ["PartReader", "Skipped", "read_log"]

_CHUNK_BYTES = 256 * 1024
_MAX_LINE_BYTES = 256 * 1024 * 1024
_FIRST_BYTES = b'{"Event":'
_FOREIGN = "not a Spark event log"
# What network file systems answer for a moment while a log moves or a server is away.
_PASSING_ERRORS = {errno.EAGAIN, errno.EIO, errno.ESTALE, errno.ETIMEDOUT}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in an event log that could not be used; ``line`` counts from 1, ``None`` is the whole file."""

    path: Path
    line: int | None
    why: str

    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.why}"


def read_log(log: EventLog) -> Iterator[Event | Skipped]:
    """The events of one application in the order they were written; never raises for what is in the files."""
    for part in log.parts:
        reader = PartReader(part)
        yield from reader.read_on()
        yield from reader.finish(log.in_progress)


class PartReader:
    """Reads one file, as far as it goes now, and later on from there.

    After damage or foreign content nothing more comes from it.
    """

    def __init__(self, part: LogPart) -> None:
        self._path = part.path
        self._codec = part.codec
        self._decompress = None if part.codec else decompressor("")
        self._offset_bytes = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._line = 0
        self._closed = False
        self._unreadable = ""

    @property
    def offset_bytes(self) -> int:
        """How far into the file, as it lies on disk, this has read."""
        return self._offset_bytes

    def read_on(self, path: Path | None = None) -> Iterator[Event | Skipped]:
        """What was written since the last call; ``path`` is the file's present name when it was renamed."""
        self._path = path or self._path
        if self._closed:
            return
        try:
            self._decompress = self._decompress or decompressor(self._codec)
            with _open(self._path) as file:
                file.seek(self._offset_bytes)
                while chunk := file.read(_CHUNK_BYTES):
                    self._offset_bytes += len(chunk)
                    for piece in self._decompress.feed(chunk):
                        yield from self._lines(piece)
                        if self._closed:
                            return
            self._unreadable = ""
        except OSError as error:
            # Said once, and tried again at the next call: a file that is being renamed is gone for a moment.
            said, self._unreadable = self._unreadable, f"cannot be read ({error.strerror or error})"
            if said != self._unreadable:
                yield Skipped(self._path, None, self._unreadable)
        except AqePluginError as error:
            yield self._close(self._line + 1 if self._line else None, str(error))

    def finish(self, in_progress: bool) -> Iterator[Event | Skipped]:
        """What is left behind the last line's end; call once, when nothing more is expected."""
        if self._closed or self._unreadable:
            return
        rest = b"".join(self._pending)
        if not rest:
            if self._decompress is not None and not self._decompress.complete and not in_progress:
                yield self._close(self._line + 1, "the file is cut off")
        elif self._is_foreign(rest) or _is_json(rest):
            yield from self._one_line(rest)
        else:
            still = " (the application has not ended)" if in_progress else ""
            yield self._close(self._line + 1, f"the line is cut off{still}")

    def _lines(self, data: bytes) -> Iterator[Event | Skipped]:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            line = b"".join([*self._pending, piece]) if self._pending else piece
            self._pending, self._pending_bytes = [], 0
            yield from self._one_line(line)
            if self._closed:
                return
        if rest:
            self._pending.append(rest)
            self._pending_bytes += len(rest)
            if self._is_foreign(b"".join(self._pending[: len(_FIRST_BYTES)])):
                yield self._close(None, _FOREIGN)
            elif self._pending_bytes > _MAX_LINE_BYTES:
                yield self._close(self._line + 1, f"the line is longer than {_MAX_LINE_BYTES:,} bytes")

    def _one_line(self, line: bytes) -> Iterator[Event | Skipped]:
        self._line += 1
        if self._line == 1 and not line.startswith(_FIRST_BYTES):
            yield self._close(None, _FOREIGN)
        elif is_event_line(line):
            try:
                event = parse_event(line)
            except EventSchemaError as error:
                yield Skipped(self._path, self._line, str(error))
            else:
                if event is not None:
                    yield event

    def _is_foreign(self, line: bytes) -> bool:
        """Whether ``line``, which may be cut anywhere, is a first line that no event log has."""
        return self._line == 0 and line[: len(_FIRST_BYTES)] != _FIRST_BYTES[: len(line)]

    def _close(self, line: int | None, why: str) -> Skipped:
        self._closed = True
        self._pending = []
        return Skipped(self._path, line, why)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _PASSING_ERRORS


@retry(
    retry=retry_if_exception(_is_passing), stop=stop_after_attempt(3), wait=wait_exponential(0.1, max=1), reraise=True
)
def _open(path: Path) -> BinaryIO:
    return path.open("rb")
