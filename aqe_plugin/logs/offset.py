"""How far a file was read, as a value that can be written down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

__all__ = ["HEAD_BYTES", "Place", "of_the_same_file", "with_head"]

HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """From here any process reads on, and gives nothing a second time.

    A compressed file can only be begun anew where a block or frame begins, hence two numbers for one place.

    Attributes:
        restart_bytes: offset in the file where a decompressor can begin.
        skip_bytes: what comes out from there on and was read before.
        read_bytes: how far into the file anything was read, the beginning of an unfinished line included.
        lines: whole lines before it.
        records: events, and lines that should have been one, met so far.
        repeated: of those that come next, so many were handed out from the files that this compacted one stands for.
        discarding: it is inside a line that is too long to be kept.
        closed: damaged or foreign; nothing more is read.
        told_bytes: what ``read_bytes`` was when it was told that the file is cut off there, 0 when it was not.
        head_bytes: length of what ``head_digest`` is of, 4096 at most.
        head_digest: SHA-256 of the file's first bytes, by which another file of the same name is told.
    """

    restart_bytes: int = 0
    skip_bytes: int = 0
    read_bytes: int = 0
    lines: int = 0
    records: int = 0
    repeated: int = 0
    discarding: bool = False
    closed: bool = False
    told_bytes: int = 0
    head_bytes: int = 0
    head_digest: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the file ended within a line, a block or a frame."""
        at_an_end = (self.restart_bytes, self.skip_bytes) == (self.read_bytes, 0) and not self.discarding
        return not self.closed and not at_an_end


def of_the_same_file(place: Place, head: bytes) -> bool:
    """Whether a file that begins with ``head``, its first 4096 bytes or all there are, is the one of ``place``.

    Event logs hold the time of their start within these bytes, so those of two runs differ. Neither inode nor time of
    change would do: a log that is copied here again and again as it grows has new ones each time.
    """
    return len(head) >= place.head_bytes and _digest(head[: place.head_bytes]) == (place.head_digest or _digest(b""))


def with_head(place: Place, head: bytes) -> Place:
    """``place`` in a file that begins with ``head``."""
    if len(head) == place.head_bytes and place.head_digest:
        return place
    return replace(place, head_bytes=len(head), head_digest=_digest(head))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
