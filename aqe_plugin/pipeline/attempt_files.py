"""Which files belong to which application attempt, by name: :mod:`aqe_plugin.logs.layout` for Spark's paths."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from aqe_plugin.errors import EventLogError
from aqe_plugin.logs.layout import ROLLING_FOLDER, LogPart, part_at, standing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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

    named: LogPart
    read: bool
    file: ListedFile


@dataclass(frozen=True, slots=True)
class ApplicationAttempt:
    """An application attempt and its present files, by which changes are recognized."""

    log: str
    parts: tuple[Part, ...]

    @property
    def in_progress(self) -> bool:
        return any(part.named.in_progress for part in self.parts)


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
    rolling, named = folder.startswith(ROLLING_FOLDER), part_at(Path(name))
    within = file.path[len(file.root) :].count("/")
    # Below a rolling log's folder parts are at depth 1; a part that is named itself is at depth 0.
    if within > (2 if rolling else 1) or (named.compacted and named.in_progress):
        return None
    if not rolling:
        return named.log_name, Part(named, True, file)
    if not (named.number or named.is_state):
        return None
    return folder.removeprefix(ROLLING_FOLDER), Part(named, not named.is_state, file)


def _standing(parts: list[Part]) -> tuple[Part, ...]:
    kept = standing(part.named for part in parts)
    left = [part for part in parts if not part.named.number or part.named in kept]
    return tuple(sorted(left, key=lambda part: (part.file.path, part.file.bytes, part.file.modified_millis)))


def _files_below(spark: SparkSession, folder: str) -> list[ListedFile]:
    jvm: Any = spark._jvm
    try:
        listed = json.loads(jvm.io.aqeplugin.logs.EventLogFiles.below(spark._jsparkSession, folder))
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.io.FileNotFoundException":
            raise
        raise EventLogError(f"{folder}: no such file or folder.") from error
    return [ListedFile(one["root"], one["path"], one["bytes"], one["modifiedMillis"]) for one in listed]
