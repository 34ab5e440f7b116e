"""How Spark lays event logs out on disk, as names alone; nothing here opens a file.

A *single* log is one file, ``<application>[.<codec>][.inprogress]``. A *rolling* log is a folder
``eventlog_v2_<application>`` with parts ``events_<n>_<application>[.<codec>][.compact]`` and an empty file
``appstatus_<application>[.inprogress]``; a ``.compact`` part stands for every part up to its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.errors import EventLogError, NoDataError

__all__ = [
    "EventLog",
    "LogPart",
    "find_event_logs",
    "is_rolling",
    "no_log_in",
    "rolling_log",
    "single_log",
]

_IN_PROGRESS = ".inprogress"
_COMPACTED = ".compact"
_ROLLING_FOLDER = "eventlog_v2_"
_PART_NAME = re.compile(r"events_(\d+)_.*")
_KNOWN_CODECS = ("zstd", "lz4", "snappy", "lzf")


@dataclass(frozen=True, slots=True)
class LogPart:
    """One file of an event log.

    Attributes:
        number: place in a rolling log, from 1; 0 for a single file.
        codec: compression by the name's suffix, empty for none.
        compacted: it stands for every part up to ``number``.
    """

    path: Path
    number: int
    codec: str
    compacted: bool

    @property
    def key(self) -> Path:
        """The same before and after the application ends, which renames a single log."""
        return self.path.with_name(self.path.name.removesuffix(_IN_PROGRESS))


@dataclass(frozen=True, slots=True)
class EventLog:
    """The log of one application: its name, its parts in order, and whether the application still runs.

    An application that was killed leaves its log in progress for ever.
    """

    name: str
    parts: tuple[LogPart, ...]
    in_progress: bool


def find_event_logs(path: Path) -> list[EventLog]:
    """The logs at ``path``: a single log, a rolling log's folder, one part of it, or a folder of logs (sorted by name).

    Hidden files are passed over, so are folders that are no rolling log.

    Raises:
        EventLogError: there is nothing at ``path``, or it may not be listed.
        NoDataError: it is a folder without any event log.
    """
    try:
        if path.is_dir():
            logs = [_rolling_log(path)] if is_rolling(path.name) else _logs_in(path)
        elif path.is_file():
            logs = [single_log(path)]
        elif path.exists():
            raise EventLogError(f"{path}: a device, a pipe or a socket; an event log is a file or a folder.")
        else:
            raise EventLogError(f"{path}: no such file or folder.")
    except OSError as error:
        raise EventLogError(f"{path}: cannot be read ({error.strerror}).") from error
    found = [log for log in logs if log.parts]
    if not found:
        raise no_log_in(path)
    return found


def no_log_in(place: Path | str) -> NoDataError:
    """What is said of a folder without event logs."""
    return NoDataError(
        f"{place}: no event log in this folder. Spark writes them to spark.eventLog.dir when spark.eventLog.enabled "
        "is true."
    )


def is_rolling(name: str) -> bool:
    """Whether a folder of that name is a rolling log."""
    return name.startswith(_ROLLING_FOLDER)


def single_log(path: Path) -> EventLog:
    """The log that the file ``path`` is."""
    part = _part(path)
    name = part.key.name.removesuffix(f".{part.codec}")
    return EventLog(name, (part,), path.name.endswith(_IN_PROGRESS))


def rolling_log(folder: Path, names: Iterable[str]) -> EventLog:
    """The log that ``folder`` is, with files of these names in it; without parts when none of them is one."""
    # A compaction that is not finished stands for nothing yet.
    names = [name for name in names if not name.endswith(_COMPACTED + _IN_PROGRESS)]
    parts = sorted((_part(folder / name) for name in names if _PART_NAME.fullmatch(name)), key=lambda part: part.number)
    last_compacted = max((part.number for part in parts if part.compacted), default=0)
    kept = [
        part for part in parts if part.number > last_compacted or (part.compacted and part.number == last_compacted)
    ]
    in_progress = any(name.startswith("appstatus_") and name.endswith(_IN_PROGRESS) for name in names)
    return EventLog(folder.name.removeprefix(_ROLLING_FOLDER), tuple(kept), in_progress)


def _logs_in(folder: Path) -> list[EventLog]:
    children = sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    return [
        _rolling_log(child) if child.is_dir() else single_log(child)
        for child in children
        if child.is_file() or is_rolling(child.name)
    ]


def _rolling_log(folder: Path) -> EventLog:
    return rolling_log(folder, (child.name for child in folder.iterdir()))


def _part(path: Path) -> LogPart:
    name = path.name.removesuffix(_IN_PROGRESS)
    compacted = name.endswith(_COMPACTED)
    suffix = name.removesuffix(_COMPACTED).rpartition(".")[2]
    numbered = _PART_NAME.fullmatch(name)
    return LogPart(path, int(numbered[1]) if numbered else 0, suffix if suffix in _KNOWN_CODECS else "", compacted)
