"""What one event log teaches, and by what it is told that the log is still the one that was read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.json_values import decode_text, encode
from aqe_plugin.events.lines import SCHEMA_VERSION
from aqe_plugin.events.queries import QueryStory, stories
from aqe_plugin.install.jars import PACKAGE_VERSION
from aqe_plugin.logs.files import Files, read_log
from aqe_plugin.logs.layout import EventLog
from aqe_plugin.logs.reader import Skipped
from aqe_plugin.tuning.history import History, history_of

__all__ = ["READER", "Lesson", "SkippedLine", "learn", "name_of", "packed", "unpacked", "version_of"]

# To be raised when the members of a lesson change, or what is put into them.
_FORMAT_VERSION = 1
# Another reader may make something else of the same bytes.
READER = f"{_FORMAT_VERSION}/{SCHEMA_VERSION}/{PACKAGE_VERSION}"
# SQLite takes no value beyond 1 GB.
_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A :class:`~aqe_plugin.logs.Skipped`, with the file's name alone; ``None`` is the whole file."""

    file: str
    line: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one log teaches.

    Attributes:
        skipped: how many of its lines could not be used.
        first_skipped: the first of them, ``None`` when there is none.
        lasting: whether reading the same bytes again says the same: not where a file could not be read at all, for
            which its rights, or a package that is missing, may be to blame.
    """

    history: History
    skipped: int
    first_skipped: SkippedLine | None
    lasting: bool


def learn(log: EventLog, files: Files) -> Lesson:
    """Reads ``log``.

    Raises:
        EventLogError: ``files`` cannot be read as a whole.
    """
    skipped: list[Skipped] = []

    def told() -> Iterator[QueryStory]:
        for story in stories(read_log(log, files), log.name):
            if isinstance(story, Skipped):
                skipped.append(story)
            else:
                yield story

    history = history_of(told())
    first = SkippedLine(skipped[0].path.name, skipped[0].line, skipped[0].why) if skipped else None
    return Lesson(history, len(skipped), first, all(one.line is not None for one in skipped))


def name_of(log: EventLog, base: str) -> str:
    """The log's address: the same wherever the command is started, and when the application has ended.

    Args:
        base: what comes before the paths of its parts, empty for files here.
    """
    folder = log.parts[0].path.parent
    return f"{base or 'file:'}{folder.as_posix() if base else folder.absolute()}/{log.name}"


def version_of(log: EventLog, files: Files) -> str | None:
    """What changes when anything is written to the log: its parts, sizes and times; ``None`` when nothing says."""
    parts: list[list[object]] = []
    for part in log.parts:
        signature = files.signature(part)
        if signature is None:
            return None
        parts.append([part.path.name, part.number, part.codec, part.compacted, *signature])
    return json.dumps([log.name, log.in_progress, parts])


def packed(lesson: Lesson) -> bytes | None:
    """``lesson`` with a checksum (Adler-32, RFC 1950); ``None`` when it would not come back as what it is.

    That is a lesson with numbers beyond a Long, which ratios of damaged counts can come to, or that are none.
    """
    text = json.dumps(encode(lesson)).encode()
    try:
        if len(text) > _MOST_BYTES or _parsed(text) != lesson:
            return None
    except EventSchemaError:
        return None
    return zlib.compress(text, 1)


def unpacked(data: bytes) -> Lesson | None:
    """The lesson; ``None`` when ``data`` is damaged."""
    try:
        return _parsed(zlib.decompress(data))
    except (zlib.error, EventSchemaError, TypeError, ValueError, RecursionError):
        return None


def _parsed(text: bytes) -> Lesson:
    return decode_text(Lesson, text)
