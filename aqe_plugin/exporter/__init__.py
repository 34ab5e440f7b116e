"""The Prometheus endpoint over event logs."""

from aqe_plugin.exporter.collector import EventLogCollector
from aqe_plugin.exporter.server import listening, require_folder, serve, serve_source, stderr_log
from aqe_plugin.exporter.tally import Tally

__all__ = ["EventLogCollector", "Tally", "listening", "require_folder", "serve", "serve_source", "stderr_log"]
