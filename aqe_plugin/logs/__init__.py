"""Where events come from: Spark's event logs, whole or still growing."""

from aqe_plugin.logs.files import read_log
from aqe_plugin.logs.follow import EventSource, FolderFollower
from aqe_plugin.logs.layout import EventLog, find_event_logs
from aqe_plugin.logs.offsets import FileOffset, FileOffsets
from aqe_plugin.logs.reader import Record, Skipped

__all__ = [
    "EventLog",
    "EventSource",
    "FileOffset",
    "FileOffsets",
    "FolderFollower",
    "Record",
    "Skipped",
    "find_event_logs",
    "read_log",
]
