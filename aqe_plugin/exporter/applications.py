"""The application of each log, and sums of the applications with the latest events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aqe_plugin.events.lines import ApplicationStarted
from aqe_plugin.exporter.metrics import ALL, Metric

_MAX_LABEL_CHARS = 80
# Logs beyond this many are counted under their own names.
_MAX_LOGS = 100_000
_METRICS = {metric.name: metric for metric in ALL}

Sums = defaultdict[tuple[Metric, tuple[str, ...]], float]


@dataclass(frozen=True, slots=True)
class SumRow:
    """One stored sum."""

    metric: str
    labels: tuple[str, ...]
    by: float


@dataclass(frozen=True, slots=True)
class StoredSums:
    """The stored sums of one application; ``latest_millis`` is the time of its latest event."""

    latest_millis: int
    sums: tuple[SumRow, ...]


@dataclass(frozen=True, slots=True)
class ApplicationsState:
    """The stored application of each log, and the stored sums by application."""

    logs: dict[str, ApplicationStarted]
    sums: dict[str, StoredSums]


def rows_of(sums: Sums) -> tuple[SumRow, ...]:
    return tuple(SumRow(metric.name, labels, by) for (metric, labels), by in sums.items())


def sums_of(rows: Iterable[SumRow]) -> Sums:
    """The sums of metrics that still exist."""
    return defaultdict(float, {(_METRICS[row.metric], row.labels): row.by for row in rows if row.metric in _METRICS})


def label_text(text: str) -> str:
    """``text`` as a label value: at most 80 characters, all of them printable."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:_MAX_LABEL_CHARS])


class ApplicationSums:
    """Sums by application name, for the ``limit`` names with the latest events; the others are forgotten.

    Runs of a recurring job share a name and so its sums. A forgotten name that comes back begins at 0, which Prometheus
    sees as a counter reset.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._started: dict[str, ApplicationStarted] = {}
        self._sums: dict[str, Sums] = {}
        self._latest_millis: dict[str, int] = {}

    def state(self) -> ApplicationsState:
        sums = {name: StoredSums(self._latest_millis[name], rows_of(sums)) for name, sums in self._sums.items()}
        return ApplicationsState(dict(self._started), sums)

    def restore(self, state: ApplicationsState) -> None:
        """Continues with stored sums, within the limit."""
        self._started = dict(state.logs)
        for name, stored in state.sums.items():
            if self._has_room(stored.latest_millis):
                self._sums[name] = sums_of(stored.sums)
                self._latest_millis[name] = stored.latest_millis

    def start(self, log_name: str, started: ApplicationStarted) -> None:
        """Events of this log now belong to that application, whose sums begin at once: Prometheus must see the 0."""
        app_id, name = label_text(started.app_id or log_name), label_text(started.app_name or log_name)
        self._started[log_name] = ApplicationStarted(app_id, name)
        if len(self._started) > _MAX_LOGS:
            del self._started[next(iter(self._started))]
        self.sums(log_name, started.time_millis)

    def id_of(self, log_name: str) -> str:
        """The id of the log's application, or the name of the log."""
        started = self._started.get(log_name)
        return started.app_id if started is not None else label_text(log_name)

    def sums(self, log_name: str, time_millis: int) -> Sums:
        """The sums that an event of that time adds to; they are thrown away when ``limit`` others had later events."""
        started = self._started.get(log_name)
        name = started.app_name if started is not None else label_text(log_name)
        if name not in self._sums and not self._has_room(time_millis):
            return defaultdict(float)
        self._latest_millis[name] = max(time_millis, self._latest_millis.get(name, 0))
        return self._sums.setdefault(name, defaultdict(float))

    def of(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], float]]:
        """Label values, the application's name first, with their sum."""
        for name, sums in self._sums.items():
            for labels in metric.start_labels:
                yield (name, *labels), sums.get((metric, labels), 0.0)

    def _has_room(self, time_millis: int) -> bool:
        """Whether a name with an event of that time is kept; the oldest one may be forgotten for it."""
        if len(self._sums) < self._limit:
            return True
        oldest = min(self._latest_millis, key=self._latest_millis.__getitem__, default=None)
        if oldest is None or self._latest_millis[oldest] > time_millis:
            return False
        del self._sums[oldest], self._latest_millis[oldest]
        return True
