"""The HTTP endpoint that Prometheus scrapes."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import ConfError, EventLogError, PortInUseError
from aqe_plugin.exporter.collector import EventLogCollector
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.sources import FolderFollower

__all__ = ["serve", "stderr_log"]


@contextmanager
def serve(
    folder: Path, port: int, address: str, reason_codes: frozenset[str], log: FilteringBoundLogger
) -> Iterator[int]:
    """Serves the metrics of ``folder`` while the context lasts, and gives the port (0 asks for any free one).

    The logs that are there already are read at once; a scrape that comes meanwhile waits, so every answer is whole.

    Raises:
        EventLogError: ``folder`` is no folder.
        PortInUseError: someone else listens on that port.
        ConfError: the address or port is not one of this machine's, or may not be used.
    """
    if not folder.is_dir():
        raise EventLogError(f"{folder}: no such folder; give the folder that spark.eventLog.dir names.")
    collector = EventLogCollector(FolderFollower(folder), Tally(reason_codes), log)
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(f"Port {port} is in use on {address}: choose another with --port.") from error
        raise ConfError(f"Cannot listen on {address} port {port}: {error.strerror or error}.") from error
    try:
        collector.read_on()
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def stderr_log() -> FilteringBoundLogger:
    """A logger that writes one ``key=value`` line for each event to standard error."""
    log: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
    )
    return log
