"""The Prometheus endpoint over a folder of event logs."""

from aqe_plugin.exporter.server import serve

__all__ = ["serve"]
