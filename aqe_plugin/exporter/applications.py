"""Which application a log belongs to, and the sums of those that were last heard of."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator

from aqe_plugin.events import ApplicationStarted
from aqe_plugin.exporter.metrics import Metric

__all__ = ["ApplicationSums", "label_text"]

_MAX_LABEL_CHARS = 80

_Sums = defaultdict[tuple[Metric, tuple[str, ...]], float]


def label_text(text: str) -> str:
    """``text`` as a label value: at most 80 characters, and none that a terminal, a parser or UTF-8 stumbles over."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:_MAX_LABEL_CHARS])


class ApplicationSums:
    """Sums by application name, for the ``limit`` names last heard of; those before them are forgotten.

    Runs of one recurring job share a name and so its sums. A name that comes back begins at 0, which Prometheus takes
    for the restart that it is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._started: dict[str, ApplicationStarted] = {}
        self._sums: OrderedDict[str, _Sums] = OrderedDict()

    def start(self, log_name: str, started: ApplicationStarted) -> None:
        """What comes from this log is of that application, whose sums begin now: Prometheus must see the 0 first."""
        app_id, name = label_text(started.app_id or log_name), label_text(started.app_name or log_name)
        self._started[log_name] = ApplicationStarted(app_id, name)
        self._sums_of(name)

    def id_of(self, log_name: str) -> str:
        """The application's id, else its log's name."""
        started = self._started.get(log_name)
        return started.app_id if started is not None else label_text(log_name)

    def add(self, log_name: str, metric: Metric, by: float, *labels: str) -> None:
        started = self._started.get(log_name)
        self._sums_of(started.app_name if started is not None else label_text(log_name))[metric, labels] += by

    def of(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], float]]:
        """Label values, the application's name first, with their sum."""
        for name, sums in self._sums.items():
            for labels in metric.start_labels:
                yield (name, *labels), sums.get((metric, labels), 0.0)

    def _sums_of(self, name: str) -> _Sums:
        sums = self._sums.setdefault(name, defaultdict(float))
        self._sums.move_to_end(name)
        if len(self._sums) > self._limit:
            self._sums.popitem(last=False)
        return sums
