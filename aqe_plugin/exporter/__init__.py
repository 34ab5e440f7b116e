"""The Prometheus endpoint over event logs; it needs the extra ``metrics``."""

from aqe_plugin.errors import ExtraMissingError
from aqe_plugin.machine.extras import install_command

try:
    from aqe_plugin.exporter.collector import EventLogCollector
    from aqe_plugin.exporter.server import listening, on_signals, stderr_log
    from aqe_plugin.exporter.tally import Tally
except ModuleNotFoundError as missing:
    if missing.name not in {"prometheus_client", "structlog"}:
        raise
    raise ExtraMissingError(f"Metrics need the package {missing.name}: {install_command('metrics')}.") from missing

__all__ = ["EventLogCollector", "Tally", "listening", "on_signals", "stderr_log"]
