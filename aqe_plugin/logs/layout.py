"""How Spark lays event logs out on disk, as names alone; nothing here opens a file.

A *single* log is one file, ``<application>[.<codec>][.inprogress]``. A *rolling* log is a folder
``eventlog_v2_<application>`` with parts ``events_<n>_<application>[.<codec>][.compact]`` and an empty file
``appstatus_<application>[.inprogress]``; a ``.compact`` part replaces every part up to its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.errors import EventLogError, NoDataError

_IN_PROGRESS = ".inprogress"
_COMPACTED = ".compact"
ROLLING_FOLDER = "eventlog_v2_"
_STATE = "appstatus_"
_PART_NAME = re.compile(r"events_([0-9]{1,9})_.*", re.DOTALL)
_MISSING = "no such file or folder"
_KNOWN_CODECS = ("zstd", "lz4", "snappy", "lzf")


@dataclass(frozen=True, slots=True)
class LogPart:
    """One file of an event log.

    Attributes:
        number: number in a rolling log, from 1; 0 for a single file.
        codec: compression by the name's suffix, empty for none; the content may be in another.
        compacted: it replaces every part up to ``number``.
    """

    path: Path
    number: int
    codec: str
    compacted: bool

    @property
    def key(self) -> Path:
        """The path without the suffix that the end of the application removes."""
        return self.path.with_name(self.path.name.removesuffix(_IN_PROGRESS))

    @property
    def log_name(self) -> str:
        """The name of the log that it is if it is a single file."""
        return self.key.name.removesuffix(f".{self.codec}" if self.codec else "")

    @property
    def in_progress(self) -> bool:
        """Whether its name says that the application had not ended."""
        return self.path.name.endswith(_IN_PROGRESS)

    @property
    def is_state(self) -> bool:
        """Whether it is the empty file of a rolling log whose name says whether the application has ended."""
        return self.path.name.startswith(_STATE)


@dataclass(frozen=True, slots=True)
class EventLog:
    """The log of one application, its parts in order; the log of a killed application stays in progress forever."""

    name: str
    parts: tuple[LogPart, ...]
    in_progress: bool


def find_event_logs(path: Path) -> list[EventLog]:
    """The logs at ``path``: a single log, a rolling log's folder, one part of it, or a folder of logs (sorted by name).

    Hidden files are ignored, and so are folders that are no rolling log.

    Raises:
        EventLogError: there is nothing at ``path``, or it cannot be listed.
        NoDataError: it is a folder without any event log.
    """
    try:
        if not path.is_dir() and not path.is_file():
            problem = "a device, a pipe or a socket; an event log is a file or a folder" if path.exists() else _MISSING
            raise EventLogError(f"{path}: {problem}.")
        return logs_at(path, str(path), path.is_dir(), _children)
    except OSError as error:
        raise EventLogError(f"{path}: cannot be read ({error.strerror}).") from error


def logs_at(
    root: Path, name: str, is_folder: bool, children: Callable[[Path], Iterable[tuple[str, bool]]]
) -> list[EventLog]:
    """The same in any file system.

    Args:
        name: how errors call ``root``.
        children: the names in a folder, and whether each is a folder.

    Raises:
        NoDataError: ``root`` is a folder without any event log.
    """
    if not is_folder:
        return [_single_log(root)]
    if root.name.startswith(ROLLING_FOLDER):
        logs = [_rolling_log(root, children(root))]
    else:
        logs = [
            _rolling_log(root / child, children(root / child)) if child_is_folder else _single_log(root / child)
            for child, child_is_folder in sorted(children(root))
            if (child.startswith(ROLLING_FOLDER) if child_is_folder else not child.startswith("."))
        ]
    found = [log for log in logs if log.parts]
    if not found:
        raise NoDataError(
            f"{name}: no event log in this folder. Spark writes them to spark.eventLog.dir when spark.eventLog.enabled "
            "is true."
        )
    return found


def _children(folder: Path) -> list[tuple[str, bool]]:
    return [(child.name, child.is_dir()) for child in folder.iterdir()]


def _single_log(path: Path) -> EventLog:
    part = part_at(path)
    return EventLog(part.log_name, (part,), part.in_progress)


def _rolling_log(folder: Path, children: Iterable[tuple[str, bool]]) -> EventLog:
    found = [part_at(folder / name) for name, _ in children]
    in_progress = any(part.is_state and part.in_progress for part in found)
    return EventLog(folder.name.removeprefix(ROLLING_FOLDER), tuple(standing(found)), in_progress)


def standing(parts: Iterable[LogPart]) -> list[LogPart]:
    """The numbered ones of the files of a rolling log that no compacted one replaces, in their order."""
    # A compaction that is not finished replaces nothing yet.
    numbered = [part for part in parts if part.number and not (part.compacted and part.in_progress)]
    last = max((part.number for part in numbered if part.compacted), default=0)
    kept = [part for part in numbered if part.number > last or (part.compacted and part.number == last)]
    return sorted(kept, key=lambda part: part.number)


def part_at(path: Path) -> LogPart:
    """What the name of a file says."""
    name = path.name.removesuffix(_IN_PROGRESS)
    compacted = name.endswith(_COMPACTED)
    suffix = name.removesuffix(_COMPACTED).rpartition(".")[2]
    numbered = _PART_NAME.fullmatch(name)
    return LogPart(path, int(numbered[1]) if numbered else 0, suffix if suffix in _KNOWN_CODECS else "", compacted)
