"""A Prometheus collector over a folder of event logs: a scrape reads on, adds up, and hands out the sums."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import EventLogError
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric
from aqe_plugin.exporter.tally import Tally
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

    def read_on(self) -> None:
        """Adds what was written since the last time; a folder that is away for the moment is logged."""
        with self._lock:
            try:
                for log_name, record in self._follower.poll():
                    if isinstance(record, Skipped):
                        self._tally.skip()
                        self._log.warning("skipped", log=log_name, what=str(record))
                    else:
                        self._tally.add(record)
            except EventLogError as error:
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
        if metric.kind == "histogram":
            histogram = self._tally.histogram(metric)
            buckets = [(_bound(bound), count) for bound, count in histogram.cumulative()]
            return HistogramMetricFamily(metric.name, metric.help, buckets=buckets, sum_value=histogram.sum)
        if metric is metrics.FILES:
            return GaugeMetricFamily(metric.name, metric.help, value=self._follower.files)
        family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, count in sorted(self._tally.counts(metric).items()):
            family.add_metric(labels, count)
        return family


def _bound(seconds: float) -> str:
    return "+Inf" if seconds == float("inf") else repr(seconds)
