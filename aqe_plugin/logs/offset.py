"""How far a file was read, as a value that can be stored."""

from __future__ import annotations

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
