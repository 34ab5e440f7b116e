"""How far every file of a source was read: what a checkpoint keeps of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aqe_plugin.logs.offset import Place

__all__ = ["Mark", "Marks"]

# A folder that was not mounted for a while must not be counted anew.
_KEPT_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Mark:
    """How far one file was read.

    Attributes:
        log: name of the application's log that it is a part of.
        number: its place in a rolling log, 0 for a single file.
        compacted: it stands for every part up to ``number``.
        version: what the source said of the whole log when it was last read, empty when it says nothing.
        missing_since: seconds since 1970 when it was first seen to be gone, ``None`` while it is there.
    """

    log: str
    number: int
    compacted: bool
    place: Place
    version: str = ""
    missing_since: float | None = None


class Marks:
    """The marks of all files by key, and which of them changed since they were last written down."""

    def __init__(self, kept: Mapping[str, Mark] | None = None) -> None:
        self._marks: dict[str, Mark] = {}
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        self._changed: set[str] = set()
        for key, mark in (kept or {}).items():
            self._put(key, mark)

    def __len__(self) -> int:
        return len(self._marks)

    def get(self, key: str) -> Mark | None:
        return self._marks.get(key)

    def put(self, key: str, mark: Mark) -> None:
        if self._marks.get(key) != mark:
            self._put(key, mark)
            self._changed.add(key)

    def changes(self) -> dict[str, Mark | None]:
        """What changed since ``settle``; ``None`` is a mark that was dropped."""
        return {key: self._marks.get(key) for key in self._changed}

    def settle(self) -> None:
        """The changes were written down."""
        self._changed.clear()

    def of(self, log: str) -> dict[str, Mark]:
        """The marks of one log's files."""
        return {key: self._marks[key] for key in self._keys.get(log, ())}

    def counted(self, log: str, number: int) -> int:
        """Records handed out from the parts of a rolling log up to ``number``.

        A compacted part holds all records of those that it stands for, in their order: Spark's compaction drops events
        of finished jobs and queries, and keeps every kind that it does not know.
        """
        marks = [mark for mark in self.of(log).values() if mark.number <= number]
        compacted = max((mark for mark in marks if mark.compacted), key=lambda mark: mark.number, default=None)
        first = -1 if compacted is None else compacted.number
        before = 0 if compacted is None else compacted.place.records + compacted.place.repeated
        return before + sum(mark.place.records for mark in marks if not mark.compacted and mark.number > first)

    def miss_all_but(self, present: Iterable[str], now_seconds: float) -> None:
        """Notes which files are gone, and drops the marks of those that were for a week.

        A clock that jumps cannot drop the mark of a file that is there.
        """
        here = set(present)
        for key, mark in list(self._marks.items()):
            if key in here:
                if mark.missing_since is not None:
                    self.put(key, replace(mark, missing_since=None))
            elif mark.missing_since is None or mark.missing_since > now_seconds:
                self.put(key, replace(mark, missing_since=now_seconds))
            elif now_seconds - mark.missing_since > _KEPT_SECONDS:
                self._drop(key, mark)

    def _put(self, key: str, mark: Mark) -> None:
        self._marks[key] = mark
        self._keys[mark.log].add(key)

    def _drop(self, key: str, mark: Mark) -> None:
        del self._marks[key]
        self._keys[mark.log].discard(key)
        if not self._keys[mark.log]:
            del self._keys[mark.log]
        self._changed.add(key)
