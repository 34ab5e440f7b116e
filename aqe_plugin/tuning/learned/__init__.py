"""What tuning learned from each event log, kept so that a log is read once."""

from aqe_plugin.tuning.learned.reading import Reading, read_logs
from aqe_plugin.tuning.learned.store import default_store

__all__ = ["Reading", "default_store", "read_logs"]
