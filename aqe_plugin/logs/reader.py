"""Reads event logs line by line in bounded memory, and reports what it skips."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential

from aqe_plugin.errors import AqePluginError, EventSchemaError
from aqe_plugin.events.lines import Event, is_event_line, parse_event
from aqe_plugin.logs.codecs import Decompressor, Piece, codec_of, decompressor
from aqe_plugin.logs.layout import LogPart
from aqe_plugin.logs.offsets import HEAD_BYTES, Offset, is_same_file, with_head

_CHUNK_BYTES = 256 * 1024
_MAX_LINE_BYTES = 32 * 1024 * 1024
_FIRST_BYTES = b'{"Event":'
# Longer than the longest prefix of a wanted line.
_PREFIX_BYTES = 128
_FOREIGN = "not a Spark event log"
# Network file systems answer so for a moment, while a log moves or a server is down.
_PASSING_ERRORS = {errno.EAGAIN, errno.EIO, errno.ESTALE, errno.ETIMEDOUT}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in an event log that could not be used; ``line`` counts from 1, ``None`` is the whole file."""

    path: Path
    line: int | None
    why: str

    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.why}"


Record = Event | Skipped


class PartReader:
    """Reads one file up to its present end, and later on from there.

    After damage or foreign content it reads no further. Another file that takes its name is read from its start.

    Args:
        offset: where to begin.
        is_wanted: whether a line with these first bytes is handed out.
    """

    def __init__(
        self, part: LogPart, offset: Offset | None = None, is_wanted: Callable[[bytes], bool] = is_event_line
    ) -> None:
        self._path = part.path
        self._named_codec = part.codec
        self._is_wanted = is_wanted
        self._unreadable = ""
        self._begin(offset or Offset())

    @property
    def offset(self) -> Offset:
        """Behind the last line handed out; valid before the first chunk, and after each whole chunk."""
        return self._offset

    @property
    def pending_bytes(self) -> int:
        """Length of the unfinished line in memory."""
        return self._pending_bytes

    @property
    def stuck(self) -> bool:
        """Whether rights, the file system or a missing package keep the file from being read."""
        return bool(self._unreadable) or (self._closed and not self._offset.closed)

    def next_bytes(self, head: bytes) -> int | None:
        """Where it continues in a file that begins with ``head``; ``None`` when it reads no further."""
        if not is_same_file(self._offset, head):
            return 0
        return None if self._closed else self._at_bytes

    def chunks(self, path: Path | None = None, content: Path | None = None) -> Iterator[Iterator[Record]]:
        """What was written since the last call, in parts of bounded size; use up each before asking for the next.

        Args:
            path: the file's present name, when it was renamed.
            content: the file with its bytes, when that is another one.
        """
        self._path = path or self._path
        try:
            with _open(content or self._path) as file:
                left_bytes = self._resume(file)
                while not self._closed and (chunk := file.read(min(_CHUNK_BYTES, max(0, left_bytes)))):
                    left_bytes -= len(chunk)
                    self._at_bytes += len(chunk)
                    yield self._chunk(chunk)
            self._unreadable = ""
        except OSError as error:
            yield self.refused(error)

    def refused(self, error: OSError) -> Iterator[Record]:
        """Reports, once, that the file could not be read; the next call tries again."""
        # A file that is being renamed is gone for a moment.
        reported, self._unreadable = self._unreadable, f"cannot be read ({error.strerror or error})"
        if reported != self._unreadable:
            yield Skipped(self._path, None, self._unreadable)

    def finish(self, in_progress: bool) -> Iterator[Record]:
        """What follows the last whole line; call once, when nothing more will be written."""
        if self._closed or self._unreadable:
            return
        rest = b"".join(self._pending)
        if not rest and not self._discarding:
            if self._decompress is not None and not self._decompress.complete and not in_progress:
                yield self._close(self._line + 1, "the file is cut off")
        elif not self._discarding and (self._is_foreign(rest) or _is_json(rest)):
            yield from self._whole_lines([rest])
        else:
            still = " (the application has not ended)" if in_progress else ""
            yield self._close(self._line + 1, f"the line is cut off{still}")

    def _begin(self, offset: Offset) -> None:
        self._offset = offset
        self._decompress: Decompressor | None = None
        self._at_bytes = offset.restart_bytes
        self._skip_bytes = offset.skip_bytes
        self._line = offset.lines
        self._records = offset.records
        self._repeated = offset.repeated
        self._discarding = offset.discarding
        self._closed = offset.closed
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def _resume(self, file: BinaryIO) -> int:
        """Seeks to the offset, or to the start of another file; the number of bytes to read."""
        # What is written from now on is left to the next call, so that the head covers all that was read.
        size_bytes = file.seek(0, 2)
        file.seek(0)
        head = file.read(min(HEAD_BYTES, size_bytes))
        if not is_same_file(self._offset, head):
            self._begin(Offset())
        self._offset = with_head(self._offset, head)
        if (codec := codec_of(head, self._named_codec)) is None:
            return 0
        self._codec = codec
        file.seek(self._at_bytes)
        return size_bytes - self._at_bytes

    def _chunk(self, chunk: bytes) -> Iterator[Record]:
        try:
            self._decompress = self._decompress or decompressor(self._codec, self._at_bytes - len(chunk))
        except AqePluginError as error:
            # The offset stays: another process may have the missing package.
            yield self._close(None, str(error))
            return
        try:
            for piece in self._decompress.feed(chunk):
                yield from self._lines(piece)
                if self._closed:
                    break
        except AqePluginError as error:
            yield self._close(self._line + 1 if self._line else None, str(error))
        if self._decompress.complete and not self._pending and not self._skip_bytes:
            # At the end of a frame: nothing of it is read again.
            self._offset = replace(self._offset, restart_bytes=self._at_bytes, skip_bytes=0)
        self._offset = replace(
            self._offset,
            read_bytes=max(self._at_bytes, self._offset.read_bytes),
            lines=self._line,
            records=self._records,
            repeated=self._repeated,
            discarding=self._discarding,
            closed=self._closed,
        )

    def _lines(self, piece: Piece) -> Iterator[Record]:
        data, start = piece.data, min(self._skip_bytes, len(piece.data))
        self._skip_bytes -= start
        if self._discarding:
            end = data.find(b"\n", start)
            if end < 0:
                self._move(piece, len(data))
                return
            self._discarding, self._line, start = False, self._line + 1, end + 1
            self._move(piece, start)
        *whole, rest = (data[start:] if start else data).split(b"\n")
        if whole:
            if self._pending:
                whole[0] = self._joined(whole[0])
            yield from self._whole_lines(whole)
            self._move(piece, len(data) - len(rest))
        if rest and not self._closed:
            yield from self._keep(rest, piece)

    def _whole_lines(self, lines: list[bytes]) -> Iterator[Record]:
        if self._line == 0 and not lines[0].startswith(_FIRST_BYTES):
            self._line = 1
            yield self._close(None, _FOREIGN)
            return
        is_wanted = self._is_wanted
        for line in lines:
            self._line += 1
            if is_wanted(line):
                try:
                    record: Record | None = parse_event(line)
                except EventSchemaError as error:
                    record = Skipped(self._path, self._line, str(error))
                if record is not None:
                    yield from self._hand_out(record)

    def _hand_out(self, record: Record) -> Iterator[Record]:
        self._records += 1
        if self._repeated:
            self._repeated -= 1
        else:
            yield record

    def _joined(self, end: bytes) -> bytes:
        """The line that ends with ``end``; only the prefix of a line that is not wanted."""
        start, pending = self._start(), self._pending
        self._pending, self._pending_bytes = [], 0
        if len(start) == _PREFIX_BYTES and not self._is_wanted(start):
            return start
        return b"".join([*pending, end])

    def _keep(self, rest: bytes, piece: Piece) -> Iterator[Record]:
        self._pending.append(rest)
        self._pending_bytes += len(rest)
        if self._is_foreign(b"".join(self._pending[: len(_FIRST_BYTES)])):
            yield self._close(None, _FOREIGN)
        elif self._pending_bytes > _MAX_LINE_BYTES:
            if self._is_wanted(self._start()):
                why = f"the line is longer than {_MAX_LINE_BYTES:,} bytes"
                yield from self._hand_out(Skipped(self._path, self._line + 1, why))
            self._pending, self._pending_bytes, self._discarding = [], 0, True
            self._move(piece, len(piece.data))

    def _start(self) -> bytes:
        """The first bytes of the unfinished line."""
        start = b""
        for part in self._pending:
            start += part[: _PREFIX_BYTES - len(start)]
            if len(start) == _PREFIX_BYTES:
                break
        return start

    def _move(self, piece: Piece, to_bytes: int) -> None:
        """The offset is now ``to_bytes`` into ``piece``."""
        self._offset = replace(self._offset, restart_bytes=piece.restart_bytes, skip_bytes=piece.skip_bytes + to_bytes)

    def _is_foreign(self, line: bytes) -> bool:
        """Whether ``line``, cut anywhere, is a first line that no event log has."""
        return self._line == 0 and line[: len(_FIRST_BYTES)] != _FIRST_BYTES[: len(line)]

    def _close(self, line: int | None, why: str) -> Skipped:
        self._closed = True
        self._pending, self._pending_bytes = [], 0
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
    # Opening a pipe waits for a writer.
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a file")
    return path.open("rb")
