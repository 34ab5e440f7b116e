"""Where events come from: Spark's event logs, whole or still growing."""

from aqe_plugin.sources.follow import FolderFollower
from aqe_plugin.sources.layout import EventLog, find_event_logs
from aqe_plugin.sources.reader import Skipped, read_log

__all__ = ["EventLog", "FolderFollower", "Skipped", "find_event_logs", "read_log"]
