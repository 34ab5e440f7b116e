"""Which application a log belongs to, and the sums of those that were last heard of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from aqe_plugin.events.lines import ApplicationStarted
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric

__all__ = ["ApplicationState", "ApplicationSums", "SumRow", "Sums", "label_text"]

_MAX_LABEL_CHARS = 80
# A log of which the application is forgotten goes by its own name.
_MAX_LOGS = 100_000

Sums = defaultdict[tuple[Metric, tuple[str, ...]], float]


@dataclass(frozen=True, slots=True)
class SumRow:
    """One sum: of which metric, with which labels."""

    metric: str
    labels: tuple[str, ...]
    by: float


@dataclass(frozen=True, slots=True)
class ApplicationState:
    """The sums of one application, and when its latest event was, in milliseconds since 1970."""

    latest_millis: int
    sums: tuple[SumRow, ...]


def label_text(text: str) -> str:
    """``text`` as a label value: at most 80 characters, and none that a terminal, a parser or UTF-8 stumbles over."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:_MAX_LABEL_CHARS])


class ApplicationSums:
    """Sums by application name, for the ``limit`` names with the latest events; those before them are forgotten.

    Runs of one recurring job share a name and so its sums. A name that comes back begins at 0, which Prometheus takes
    for the restart that it is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._started: dict[str, ApplicationStarted] = {}
        self._sums: dict[str, Sums] = {}
        self._latest_millis: dict[str, int] = {}
        self._changed: set[str] = set()
        self._changed_logs: set[str] = set()

    def changes(self) -> Iterator[tuple[str, ApplicationState | None]]:
        """Names whose sums changed since ``settle``, ``None`` for those that were forgotten."""
        for name in self._changed:
            sums = self._sums.get(name)
            rows = tuple(SumRow(metric.name, labels, by) for (metric, labels), by in (sums or {}).items())
            yield name, None if sums is None else ApplicationState(self._latest_millis[name], rows)

    def changed_logs(self) -> Iterator[tuple[str, ApplicationStarted | None]]:
        """Logs whose application became known since ``settle``, or was forgotten."""
        for log_name in self._changed_logs:
            yield log_name, self._started.get(log_name)

    def settle(self) -> None:
        """The changes were written down."""
        self._changed.clear()
        self._changed_logs.clear()

    def restore(self, name: str, state: ApplicationState) -> None:
        """Goes on with an application's sums, of which one limit's worth finds room."""
        if len(self._sums) < self._limit or self._has_room(state.latest_millis):
            known = {metric.name: metric for metric in metrics.ALL}
            rows = ((known.get(row.metric), row) for row in state.sums)
            self._sums[name] = defaultdict(float, {(m, row.labels): row.by for m, row in rows if m is not None})
            self._latest_millis[name] = state.latest_millis

    def restore_log(self, log_name: str, started: ApplicationStarted) -> None:
        """Goes on with what is known of a log."""
        self._started[log_name] = started

    def start(self, log_name: str, started: ApplicationStarted) -> None:
        """What comes from this log is of that application, whose sums begin now: Prometheus must see the 0 first."""
        app_id, name = label_text(started.app_id or log_name), label_text(started.app_name or log_name)
        self._started[log_name] = ApplicationStarted(app_id, name)
        self._changed_logs.add(log_name)
        if len(self._started) > _MAX_LOGS:
            oldest = next(iter(self._started))
            del self._started[oldest]
            self._changed_logs.add(oldest)
        self.sums(log_name, started.time_millis)

    def id_of(self, log_name: str) -> str:
        """The application's id, else its log's name."""
        started = self._started.get(log_name)
        return started.app_id if started is not None else label_text(log_name)

    def sums(self, log_name: str, time_millis: int) -> Sums:
        """What to add to for an event of that time; nobody reads it when ``limit`` others had later ones."""
        started = self._started.get(log_name)
        name = started.app_name if started is not None else label_text(log_name)
        if name not in self._sums and not self._has_room(time_millis):
            return defaultdict(float)
        self._latest_millis[name] = max(time_millis, self._latest_millis.get(name, 0))
        self._changed.add(name)
        return self._sums.setdefault(name, defaultdict(float))

    def of(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], float]]:
        """Label values, the application's name first, with their sum."""
        for name, sums in self._sums.items():
            for labels in metric.start_labels:
                yield (name, *labels), sums.get((metric, labels), 0.0)

    def _has_room(self, time_millis: int) -> bool:
        """Whether a name with an event of that time may join, for which the oldest may have to go."""
        if len(self._sums) < self._limit:
            return True
        oldest = min(self._latest_millis, key=self._latest_millis.__getitem__, default=None)
        if oldest is None or self._latest_millis[oldest] > time_millis:
            return False
        del self._sums[oldest], self._latest_millis[oldest]
        self._changed.add(oldest)
        return True
