"""A histogram that remembers the latest query of each bucket."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from prometheus_client.core import Exemplar


@dataclass(frozen=True, slots=True)
class QueryExemplar:
    """The query behind one observation; ``time_seconds`` is when it ended."""

    application_id: str
    execution_id: int
    value: float
    time_seconds: float


@dataclass(frozen=True, slots=True)
class HistogramState:
    """A stored histogram: count and exemplar of each bucket on its own; the last bucket has no bound."""

    metric: str
    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float
    exemplars: tuple[QueryExemplar | None, ...]


class Histogram:
    """Observations counted into buckets with fixed upper bounds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = (*bounds, float("inf"))
        self._counts = [0] * len(self._bounds)
        self._exemplars: list[QueryExemplar | None] = [None] * len(self._bounds)
        self.sum = 0.0

    def observe(self, value: float, exemplar: QueryExemplar | None = None) -> None:
        bucket = bisect_left(self._bounds, value)
        self._counts[bucket] += 1
        self._exemplars[bucket] = exemplar or self._exemplars[bucket]
        self.sum += value

    def to_state(self, metric: str) -> HistogramState:
        return HistogramState(metric, self._bounds[:-1], tuple(self._counts), self.sum, tuple(self._exemplars))

    def restore(self, state: HistogramState) -> None:
        """Continues from ``state``, unless its buckets have other bounds."""
        if state.bounds == self._bounds[:-1] and len(state.counts) == len(state.exemplars) == len(self._bounds):
            self._counts, self._exemplars, self.sum = list(state.counts), list(state.exemplars), state.sum

    def buckets(self) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
        """Upper bound, cumulative count, and exemplar if any, as Prometheus wants them."""
        total, rows = 0, list[tuple[str, float] | tuple[str, float, Exemplar]]()
        bounds = (*map(repr, self._bounds[:-1]), "+Inf")
        for bound, count, query in zip(bounds, self._counts, self._exemplars, strict=True):
            total += count
            rows.append((bound, total) if query is None else (bound, total, _exemplar(query)))
        return rows


def _exemplar(query: QueryExemplar) -> Exemplar:
    labels = {"application_id": query.application_id, "query": str(query.execution_id)}
    return Exemplar(labels, query.value, query.time_seconds)
