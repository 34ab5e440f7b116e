"""The Prometheus endpoint over a folder of event logs."""

from aqe_plugin.exporter.server import serve, stderr_log

__all__ = ["serve", "stderr_log"]
