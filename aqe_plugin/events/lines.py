"""One line of an event log → one event.

The plugin's own events carry ``schemaVersion``; what their members are is in ``event_schema.json``, written by the
Scala side, and in :mod:`aqe_plugin.events.model`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aqe_plugin.errors import EventSchemaError
from aqe_plugin.events.json_values import decode, decode_text
from aqe_plugin.events.model import (
    ExecutionEnded,
    ExecutionStarted,
    JoinDecided,
    LimitDecided,
    PluginEvent,
    PredicateInferred,
    QueryEnded,
)
from aqe_plugin.events.plan_digest import plan_parts

FORCE_KEY = "spark.aqePlugin.force"
SCHEMA_VERSION = 1
OLDEST_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ApplicationStarted:
    """Spark's own event: the application that the lines after it belong to; ``time_millis`` is 0 when absent."""

    app_id: str
    app_name: str
    time_millis: int = 0


@dataclass(frozen=True, slots=True)
class EnvironmentSet:
    """Spark's own event: the conf that the application started with."""

    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExecutorRemoved:
    """Spark's own event: an executor is gone, with the reason in Spark's words."""

    reason: str


Decided = JoinDecided | LimitDecided | PredicateInferred
Event = Decided | QueryEnded | ExecutionStarted | ExecutionEnded | ApplicationStarted | EnvironmentSet | ExecutorRemoved

_SHAPES: dict[bytes, type[Any]] = {
    b"io.aqeplugin.tell.JoinDecided": JoinDecided,
    b"io.aqeplugin.tell.LimitDecided": LimitDecided,
    b"io.aqeplugin.tell.PredicateInferred": PredicateInferred,
    b"io.aqeplugin.tell.QueryEnded": QueryEnded,
    b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": ExecutionStarted,
    b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd": ExecutionEnded,
    b"SparkListenerApplicationStart": ApplicationStarted,
    b"SparkListenerEnvironmentUpdate": EnvironmentSet,
    b"SparkListenerExecutorRemoved": ExecutorRemoved,
}
# Spark writes the member "Event" first, so the first bytes of a line say what it is. Most lines, and nearly all bytes,
# are never parsed.
_BEFORE_NAME = b'{"Event":"'
_PREFIXES = tuple(_BEFORE_NAME + name + b'"' for name in _SHAPES)
# Spark's own SQL events hold whole plans, and a compaction of the log drops them.
_COUNTED = tuple(prefix for prefix in _PREFIXES if b"io.aqeplugin." in prefix or b"ApplicationStart" in prefix)


@dataclass(frozen=True, slots=True)
class _SchemaVersion:
    schema_version: int


def is_event_line(line: bytes) -> bool:
    """Whether ``parse_event`` makes an event of this line; looks at its first bytes only."""
    return line.startswith(_PREFIXES)


def is_counted_line(line: bytes) -> bool:
    """Whether the line is an event of the plugin or an application's start, the only events that metrics count."""
    return line.startswith(_COUNTED)


def parse_event(line: bytes) -> Event | None:
    """The event in ``line``, ``None`` for a line that is not ``is_event_line``.

    Raises:
        EventSchemaError: the line is not valid JSON, has a newer or older schema, or lacks a member.
    """
    if not is_event_line(line):
        return None
    name = line[len(_BEFORE_NAME) : line.index(b'"', len(_BEFORE_NAME))]
    shape, short_name = _SHAPES[name], name.rpartition(b".")[2].decode()
    if shape is ApplicationStarted:
        return _application(line, short_name)
    if shape is EnvironmentSet:
        properties = _members(line, short_name).get("Spark Properties")
        return EnvironmentSet({k: str(v) for k, v in properties.items()} if isinstance(properties, dict) else {})
    if shape is ExecutionStarted:
        return _execution(line, short_name)
    if shape is ExecutorRemoved:
        return ExecutorRemoved(str(_members(line, short_name).get("Removed Reason")))
    try:
        event: Event = decode_text(shape, line, short_name)
    except EventSchemaError:
        # Another version may have other members, which is then no damage.
        if issubclass(shape, PluginEvent):
            _check_version(short_name, decode_text(_SchemaVersion, line, short_name).schema_version)
        raise
    if isinstance(event, PluginEvent):
        _check_version(short_name, event.schema_version)
    return event


def _members(line: bytes, name: str) -> dict[str, Any]:
    try:
        members: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EventSchemaError(f"{name}: not valid JSON") from error
    return members


def _execution(line: bytes, name: str) -> ExecutionStarted:
    members = _members(line, name)
    # Old Sparks do not tell what a session sets.
    modified, plan = members.get("modifiedConfigs"), members.get("physicalPlanDescription")
    force = modified.get(FORCE_KEY) if isinstance(modified, dict) else None
    return replace(
        decode(ExecutionStarted, {**members, "planParts": [], "force": None}),
        plan_parts=plan_parts(plan) if isinstance(plan, str) else (),
        force=force if isinstance(force, str) else None,
    )


def _application(line: bytes, name: str) -> ApplicationStarted:
    members = _members(line, name)
    # Spark's oldest events have spaces in the names of members; the id may be absent.
    time = members.get("Timestamp")
    app_id, app_name = (str(members.get(member) or "") for member in ("App ID", "App Name"))
    return ApplicationStarted(app_id, app_name, time if isinstance(time, int) else 0)


def _check_version(name: str, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise EventSchemaError(
            f"{name} has schemaVersion {version}, this aqe-plugin reads up to {SCHEMA_VERSION}: upgrade it to read them"
        )
    if version < OLDEST_SCHEMA_VERSION:
        raise EventSchemaError(
            f"{name} has schemaVersion {version}, this aqe-plugin reads from {OLDEST_SCHEMA_VERSION} on"
        )
