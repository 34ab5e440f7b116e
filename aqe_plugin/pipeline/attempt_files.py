"""Which files belong to which application attempt, by name: :mod:`aqe_plugin.logs.layout` for Spark's paths."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from aqe_plugin.errors import EventLogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROLLING = "eventlog_v2_"
_SINGLE_NAME = re.compile(r"(.*?)(?:\.(?:zstd|lz4|snappy|lzf))?(?:\.inprogress)?", re.DOTALL)
_PART_NAME = re.compile(r"events_([0-9]{1,9})_")
_COMPACTED = ".compact"
_IN_PROGRESS = ".inprogress"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file below ``root``, the folder or file that the caller named."""

    root: str
    path: str
    bytes: int
    modified_millis: int


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an attempt; ``read`` is false for the empty one whose name has the state of a rolling log."""

    number: int
    read: bool
    in_progress: bool
    compacted: bool
    file: ListedFile


@dataclass(frozen=True, slots=True)
class ApplicationAttempt:
    """An application attempt and its present files, by which changes are recognized."""

    log: str
    parts: tuple[Part, ...]

    @property
    def in_progress(self) -> bool:
        return any(part.in_progress for part in self.parts)


def files_below(spark: SparkSession, folders: Iterable[str]) -> list[ListedFile]:
    """Every file that may belong to a log in ``folders``, once; opens none.

    Raises:
        EventLogError: one of the folders is not there.
    """
    found = (one for folder in folders for one in _files_below(spark, folder))
    return list({one.path: one for one in found}.values())


def attempts_in(files: Iterable[ListedFile]) -> dict[str, ApplicationAttempt]:
    """The attempts by the names of their logs.

    A log is the named file or folder itself, a file directly in the named folder, or a folder ``eventlog_v2_*`` there.
    Parts that Spark has compacted are not among its files.
    """
    parts: dict[str, list[Part]] = defaultdict(list)
    for file in files:
        found = _part(file)
        if found is not None:
            log, part = found
            parts[log].append(part)
    return {log: ApplicationAttempt(log, _standing(found)) for log, found in parts.items()}


def _part(file: ListedFile) -> tuple[str, Part] | None:
    folder, name = file.path.rsplit("/", 2)[-2:]
    rolling = folder.startswith(_ROLLING)
    within = file.path[len(file.root) :].count("/")
    # Below a rolling log's folder parts are at depth 1; a part that is named itself is at depth 0.
    if within > (2 if rolling else 1) or name.endswith(_COMPACTED + _IN_PROGRESS):
        return None
    in_progress = name.endswith(_IN_PROGRESS)
    if not rolling:
        single = _SINGLE_NAME.fullmatch(name)
        return (single[1] if single else name), Part(0, True, in_progress, name.endswith(_COMPACTED), file)
    number = _PART_NAME.match(name)
    if number is None and not name.startswith("appstatus_"):
        return None
    part = Part(int(number[1]) if number else 0, number is not None, in_progress, name.endswith(_COMPACTED), file)
    return folder.removeprefix(_ROLLING), part


def _standing(parts: list[Part]) -> tuple[Part, ...]:
    last = max((part.number for part in parts if part.compacted), default=-1)
    kept = [part for part in parts if not part.read or part.number > last or (part.compacted and part.number == last)]
    return tuple(sorted(kept, key=lambda part: (part.file.path, part.file.bytes, part.file.modified_millis)))


def _files_below(spark: SparkSession, folder: str) -> list[ListedFile]:
    jvm: Any = spark._jvm
    try:
        listed = json.loads(jvm.io.aqeplugin.logs.EventLogFiles.below(spark._jsparkSession, folder))
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.io.FileNotFoundException":
            raise
        raise EventLogError(f"{folder}: no such file or folder.") from error
    return [ListedFile(one["root"], one["path"], one["bytes"], one["modifiedMillis"]) for one in listed]
