"""A Prometheus collector over event logs: reads on, adds up, stores offsets and sums, and hands out the sums."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import EventLogError
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric, MetricType
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.install.jars import PACKAGE_VERSION
from aqe_plugin.logs import EventSource, FileOffsets, Record, Skipped

# Bounds what is read again after a kill.
_SECONDS_BETWEEN_WRITES = 10.0


class EventLogCollector(Collector):
    """Counts events of all logs of the source, existing logs included.

    A scrape sees stored sums only: after a kill it would otherwise see a lower sum, which Prometheus takes for a
    counter reset.

    Args:
        store: stores offsets and sums, both or, with WriteError, none.
        stops: asked between two parts whether to stop reading.
    """

    def __init__(
        self,
        source: EventSource,
        tally: Tally,
        log: FilteringBoundLogger,
        store: Callable[[FileOffsets, Tally], object] = lambda *_: None,
        stops: Callable[[], bool] = lambda: False,
    ) -> None:
        self._source = source
        self._tally = tally
        self._log = log
        self._store = store
        self._stops = stops
        # The server answers each scrape in its own thread.
        self._lock = threading.Lock()
        self._last_read_seconds = 0.0
        self._families: list[Family] = []
        self._publish()

    @property
    def ready(self) -> bool:
        """Whether the source was read to its end once; never waits."""
        return self._last_read_seconds > 0

    @property
    def files(self) -> int:
        """Event log files read so far."""
        return len(self._source.offsets)

    def read_on(self) -> None:
        """Adds what was written since the last call; a source that cannot be read is logged and counted.

        Raises:
            WriteError: it could not be stored. Nothing is lost: the next call writes first.
        """
        with self._lock:
            self._write()
            try:
                whole = self._add_all()
                self._write()
                if whole:
                    self._last_read_seconds = time.time()
            except EventLogError as error:
                self._tally.fail_to_read()
                self._log.error("event logs unreadable", error=str(error))
                self._write()
            self._publish()

    def store(self) -> None:
        """Stores what was added, after the last ``read_on``.

        Raises:
            WriteError: it could not be stored.
        """
        with self._lock:
            self._write()

    def collect(self) -> Iterator[Family]:
        yield from self._families

    def describe(self) -> list[Family]:
        # Without this, registering the collector reads the whole folder.
        return []

    def _add_all(self) -> bool:
        """Whether the source was read to its end."""
        last_write = time.monotonic()
        for log_name, records in self._source.poll():
            self._add(log_name, records)
            if self._stops():
                return False
            if time.monotonic() - last_write >= _SECONDS_BETWEEN_WRITES:
                self._write()
                self._publish()
                last_write = time.monotonic()
        return True

    def _add(self, log_name: str, records: Iterator[Record]) -> None:
        for record in records:
            if isinstance(record, Skipped):
                self._tally.skip()
                self._log.warning("skipped", log=log_name, what=str(record))
            else:
                self._tally.add(log_name, record)

    def _write(self) -> None:
        self._store(self._source.offsets, self._tally)

    def _publish(self) -> None:
        self._families = [self._family(metric) for metric in metrics.ALL]

    def _family(self, metric: Metric) -> Family:
        if metric.type is MetricType.HISTOGRAM:
            histogram = self._tally.histogram(metric)
            buckets = histogram.buckets()
            return HistogramMetricFamily(metric.name, metric.help, buckets=buckets, sum_value=histogram.sum)
        if metric.type is MetricType.GAUGE:
            gauge = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
            gauge.add_metric(*self._gauge(metric))
            return gauge
        family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, count in sorted(self._tally.counts(metric).items()):
            family.add_metric(labels, count)
        return family

    def _gauge(self, metric: Metric) -> tuple[tuple[str, ...], float]:
        if metric is metrics.BUILD_INFO:
            return (PACKAGE_VERSION,), 1
        return (), self.files if metric is metrics.FILES else self._last_read_seconds
