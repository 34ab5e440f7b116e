"""The Prometheus endpoint over event logs."""

from aqe_plugin.exporter.collector import EventLogCollector
from aqe_plugin.exporter.server import listening, serve, stderr_log
from aqe_plugin.exporter.tally import Tally

__all__ = ["EventLogCollector", "Tally", "listening", "serve", "stderr_log"]
