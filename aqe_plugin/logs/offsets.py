"""How far every file of a source was read, for the checkpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Offset:
    """From here any process reads on, and no record comes a second time.

    A compressed file can be read only from the start of a block or frame, hence two numbers for one offset.

    Attributes:
        restart_bytes: offset in the file where a decompressor can begin.
        skip_bytes: bytes that come out from there on and were read before.
        read_bytes: how far into the file anything was read, the beginning of an unfinished line included.
        lines: whole lines before the offset.
        records: events met so far, and lines that should have been events.
        repeated: how many of the next records were already handed out from the parts that this compacted part replaces.
        discarding: the offset is inside a line that is too long to keep.
        closed: the file is damaged or no event log; nothing more is read.
        reported_bytes: ``read_bytes`` when the file was reported as cut off, 0 when it never was.
        head_bytes: length of what ``head_digest`` covers, at most 4096.
        head_digest: SHA-256 of the file's first bytes, which tells another file of the same name apart.
    """

    restart_bytes: int = 0
    skip_bytes: int = 0
    read_bytes: int = 0
    lines: int = 0
    records: int = 0
    repeated: int = 0
    discarding: bool = False
    closed: bool = False
    reported_bytes: int = 0
    head_bytes: int = 0
    head_digest: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the file ended within a line, a block or a frame."""
        at_an_end = (self.restart_bytes, self.skip_bytes) == (self.read_bytes, 0) and not self.discarding
        return not self.closed and not at_an_end


def is_same_file(offset: Offset, head: bytes) -> bool:
    """Whether a file that begins with ``head``, its first 4096 bytes or all there are, is the one of ``offset``.

    The start time of an event log is within these bytes, so the logs of two runs differ. Inode and modification time
    would not do: a log that is copied again and again as it grows gets new ones each time.
    """
    return len(head) >= offset.head_bytes and _digest(head[: offset.head_bytes]) == (offset.head_digest or _digest(b""))


def with_head(offset: Offset, head: bytes) -> Offset:
    """``offset`` in a file that begins with ``head``."""
    if len(head) == offset.head_bytes and offset.head_digest:
        return offset
    return replace(offset, head_bytes=len(head), head_digest=_digest(head))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


# The files of a folder that was not mounted for a while must not be counted again.
_KEPT_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class FileOffset:
    """How far one file was read.

    Attributes:
        log: name of the application's log that the file belongs to.
        number: its number in a rolling log, 0 for a single file.
        compacted: it replaces every part up to ``number``.
        version: the source's version of the whole log when it was last read, empty when the source gives none.
        missing_since: seconds since 1970 when the file was first found missing, ``None`` while it is there.
    """

    log: str
    number: int
    compacted: bool
    offset: Offset
    version: str = ""
    missing_since: float | None = None


class FileOffsets:
    """The offsets of all files by key."""

    def __init__(self, kept: Mapping[str, FileOffset] | None = None) -> None:
        self._files: dict[str, FileOffset] = {}
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        for key, file in (kept or {}).items():
            self.put(key, file)

    def __len__(self) -> int:
        return len(self._files)

    def get(self, key: str) -> FileOffset | None:
        return self._files.get(key)

    def put(self, key: str, file: FileOffset) -> None:
        self._files[key] = file
        self._keys[file.log].add(key)

    def all(self) -> dict[str, FileOffset]:
        """A copy of all of them."""
        return dict(self._files)

    def of(self, log: str) -> dict[str, FileOffset]:
        """The offsets of one log's files."""
        return {key: self._files[key] for key in self._keys.get(log, ())}

    def counted(self, log: str, number: int) -> int:
        """Records handed out from the parts of a rolling log up to ``number``.

        A compacted part holds all records of the parts that it replaces, in their order: Spark's compaction drops
        events of finished jobs and queries, and keeps every kind that it does not know.
        """
        files = [file for file in self.of(log).values() if file.number <= number]
        compacted = max((file for file in files if file.compacted), key=lambda file: file.number, default=None)
        first = -1 if compacted is None else compacted.number
        before = 0 if compacted is None else compacted.offset.records + compacted.offset.repeated
        return before + sum(file.offset.records for file in files if not file.compacted and file.number > first)

    def miss_all_but(self, present: Iterable[str], now_seconds: float) -> None:
        """Notes which files are missing, and drops the offsets of files that were missing for a week.

        A clock that jumps cannot drop the offset of a file that is there.
        """
        here = set(present)
        for key, file in list(self._files.items()):
            if key in here:
                self.put(key, file if file.missing_since is None else replace(file, missing_since=None))
            elif file.missing_since is None or file.missing_since > now_seconds:
                self.put(key, replace(file, missing_since=now_seconds))
            elif now_seconds - file.missing_since > _KEPT_SECONDS:
                self._drop(key, file)

    def _drop(self, key: str, file: FileOffset) -> None:
        del self._files[key]
        self._keys[file.log].discard(key)
        if not self._keys[file.log]:
            del self._keys[file.log]
