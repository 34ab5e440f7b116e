"""The records of event logs on disk."""

from __future__ import annotations

from pathlib import Path

from aqe_plugin.events.lines import Event
from aqe_plugin.events.model import JoinDecided, QueryEnded
from aqe_plugin.logs import Skipped, find_event_logs, read_log


def read(path: Path) -> list[Event | Skipped]:
    return [record for log in find_event_logs(path) for record in read_log(log)]


def ours(records: list[Event | Skipped]) -> list[Event | Skipped]:
    return [record for record in records if isinstance(record, JoinDecided | QueryEnded)]


def skipped(records: list[Event | Skipped]) -> list[Skipped]:
    return [record for record in records if isinstance(record, Skipped)]
