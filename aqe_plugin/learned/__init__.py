"""What tuning learned from each event log, kept so that a log is read once: see :mod:`aqe_plugin.learned.reading`."""

from aqe_plugin.learned.reading import Reading, read_logs
from aqe_plugin.learned.store import default_store

__all__ = ["Reading", "default_store", "read_logs"]
