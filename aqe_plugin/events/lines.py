"""One line of an event log → one event.

The plugin's own events carry ``schemaVersion``; what their members are is in ``event_schema.json``, written by the
Scala side, and in :mod:`aqe_plugin.events.model`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.codec import decode
from aqe_plugin.events.model import ExecutionEnded, ExecutionStarted, JoinDecided, QueryEnded
from aqe_plugin.events.native_json import read_text

__all__ = [
    "OLDEST_SCHEMA_VERSION",
    "SCHEMA_VERSION",
    "ApplicationStarted",
    "Event",
    "is_accounted_line",
    "is_event_line",
    "parse_event",
]

SCHEMA_VERSION = 1
OLDEST_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ApplicationStarted:
    """Spark's own event: the application that the lines after it belong to; ``time_millis`` is 0 when absent."""

    app_id: str
    app_name: str
    time_millis: int = 0


Event = JoinDecided | QueryEnded | ExecutionStarted | ExecutionEnded | ApplicationStarted

_SHAPES: dict[str, type[Any]] = {
    "io.aqeplugin.tell.JoinDecided": JoinDecided,
    "io.aqeplugin.tell.QueryEnded": QueryEnded,
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": ExecutionStarted,
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd": ExecutionEnded,
}
_SHAPES_BY_BYTES = {name.encode(): shape for name, shape in _SHAPES.items()}
_APPLICATION_START = "SparkListenerApplicationStart"
_OURS = "io.aqeplugin."

_BEFORE_NAME = b'{"Event":"'

# Spark writes the member "Event" first, so a look at the first bytes spares parsing the others, which are most lines
# and nearly all bytes.
_PREFIXES = tuple(f'{{"Event":"{name}"'.encode() for name in (*_SHAPES, _APPLICATION_START))


# Those that say what the plugin did. Spark's own SQL events hold whole plans, and a compaction of the log drops them.
_ACCOUNTED = tuple(prefix for prefix in _PREFIXES if _OURS.encode() in prefix or _APPLICATION_START.encode() in prefix)


def is_event_line(line: bytes) -> bool:
    """Whether ``parse_event`` would make an event of this line; looks at its first bytes only."""
    return line.startswith(_PREFIXES)


def is_accounted_line(line: bytes) -> bool:
    """Whether it is an event of the plugin or an application's start, which are all that a count needs."""
    return line.startswith(_ACCOUNTED)


def parse_event(line: bytes) -> Event | None:
    """The event that ``line`` holds, ``None`` when it is one that nobody here asks for.

    Raises:
        EventSchemaError: the line is no JSON object, is of a newer or older schema, or lacks a member.
    """
    return _read_fast(line) or _read_carefully(line)


def _read_fast(line: bytes) -> Event | None:
    """The event of a line that begins as Spark writes it, ``None`` when there is anything to be said about it."""
    begin = len(_BEFORE_NAME)
    shape = _SHAPES_BY_BYTES.get(line[begin : line.find(b'"', begin)]) if line.startswith(_BEFORE_NAME) else None
    event: Event | None = None if shape is None else read_text(shape, line)
    if isinstance(event, JoinDecided | QueryEnded):
        return event if OLDEST_SCHEMA_VERSION <= event.schema_version <= SCHEMA_VERSION else None
    return event


def _read_carefully(line: bytes) -> Event | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EventSchemaError("the line is not whole JSON") from error
    if not isinstance(value, dict):
        raise EventSchemaError("the line is no JSON object")
    name = str(value.get("Event", ""))
    if name == _APPLICATION_START:
        # Spark's oldest events have spaces in their members' names and an id that may be absent.
        time = value.get("Timestamp")
        time_millis = time if isinstance(time, int) else 0
        return ApplicationStarted(str(value.get("App ID") or ""), str(value.get("App Name") or ""), time_millis)
    shape = _SHAPES.get(name)
    if shape is None:
        return None
    short_name = name.rsplit(".", 1)[-1]
    if name.startswith(_OURS):
        _check_version(short_name, value.get("schemaVersion"))
    event: Event = decode(shape, value, short_name)
    return event


def _check_version(name: str, version: object) -> None:
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise EventSchemaError(
            f"{name} has schemaVersion {version}, this aqe-plugin reads up to {SCHEMA_VERSION}: upgrade it to read them"
        )
    if isinstance(version, int) and version < OLDEST_SCHEMA_VERSION:
        raise EventSchemaError(
            f"{name} has schemaVersion {version}, this aqe-plugin reads from {OLDEST_SCHEMA_VERSION} on"
        )
