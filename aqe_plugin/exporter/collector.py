"""A Prometheus collector over a folder of event logs: a scrape reads on, adds up, and hands out the sums."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, Exemplar, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import EventLogError
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.histogram import Bucket, QueryExemplar
from aqe_plugin.exporter.metrics import Kind, Metric
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.jars import PACKAGE_VERSION
from aqe_plugin.sources import FolderFollower, Skipped

__all__ = ["EventLogCollector"]


class EventLogCollector(Collector):
    """Counts are those of all logs in the folder since the exporter started, the logs found then included."""

    def __init__(self, follower: FolderFollower, tally: Tally, log: FilteringBoundLogger) -> None:
        self._follower = follower
        self._tally = tally
        self._log = log
        # The server answers each scrape in a thread of its own.
        self._lock = threading.Lock()
        self._last_read_seconds = 0.0

    @property
    def ready(self) -> bool:
        """Whether the folder was read to its end once; answers at once, also while it is being read."""
        return self._last_read_seconds > 0

    @property
    def files(self) -> int:
        """Event log files read so far."""
        return self._follower.files

    def read_on(self) -> None:
        """Adds what was written since the last time; a folder that is away for the moment is logged and counted."""
        with self._lock:
            try:
                for log_name, record in self._follower.poll():
                    if isinstance(record, Skipped):
                        self._tally.skip()
                        self._log.warning("skipped", log=log_name, what=str(record))
                    else:
                        self._tally.add(log_name, record)
                self._last_read_seconds = time.time()
            except EventLogError as error:
                self._tally.fail_to_read()
                self._log.error("folder unreadable", error=str(error))

    def collect(self) -> Iterator[Family]:
        self.read_on()
        with self._lock:
            families = [self._family(metric) for metric in metrics.ALL]
        yield from families

    def describe(self) -> list[Family]:
        # Spares reading the whole folder when the collector is registered.
        return []

    def _family(self, metric: Metric) -> Family:
        if metric.kind is Kind.HISTOGRAM:
            histogram = self._tally.histogram(metric)
            buckets = [_row(bucket) for bucket in histogram.buckets()]
            return HistogramMetricFamily(metric.name, metric.help, buckets=buckets, sum_value=histogram.sum)
        if metric.kind is Kind.GAUGE:
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


def _row(bucket: Bucket) -> tuple[str, float] | tuple[str, float, Exemplar]:
    bound = "+Inf" if bucket.bound == float("inf") else repr(bucket.bound)
    return (bound, bucket.count) if bucket.exemplar is None else (bound, bucket.count, _exemplar(bucket.exemplar))


def _exemplar(query: QueryExemplar) -> Exemplar:
    labels = {"application_id": query.application_id, "query": str(query.execution_id)}
    return Exemplar(labels, query.value, query.time_seconds)
