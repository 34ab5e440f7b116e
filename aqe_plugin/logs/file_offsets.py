"""How far every file of a source was read, for the checkpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aqe_plugin.logs.offset import Offset

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
