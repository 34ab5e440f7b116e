"""The exporter's endpoint over a folder, in this process; each scrape reads on first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Metric as Family

from aqe_plugin.exporter import EventLogCollector, Tally, listening, stderr_log
from aqe_plugin.exporter.server import opened_folder

__all__ = ["serve"]


class _ReadingOn(EventLogCollector):
    def collect(self) -> Iterator[Family]:
        self.read_on()
        return super().collect()


@contextmanager
def serve(folder: str, port: int, address: str = "127.0.0.1", *, applications: int = 100) -> Iterator[int]:
    """Serves the metrics of ``folder`` while the context lasts, and gives the port (0 asks for any free one)."""
    with opened_folder(folder) as source:
        collector = _ReadingOn(source, Tally(applications), stderr_log())
        with listening(collector, port, address) as served:
            collector.read_on()
            yield served
