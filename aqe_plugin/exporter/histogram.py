"""A histogram that remembers the latest query of each bucket."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from prometheus_client.core import Exemplar


@dataclass(frozen=True, slots=True)
class QueryExemplar:
    """The query behind one observation; ``time_seconds`` is when it ended."""

    application_id: str
    execution_id: int
    value: float
    time_seconds: float


@dataclass(slots=True)
class Histogram:
    """Observations counted into buckets: count and exemplar of each bucket on its own; the last one has no bound."""

    metric: str
    bounds: tuple[float, ...]
    counts: list[int]
    exemplars: list[QueryExemplar | None]
    sum: float = 0.0

    @classmethod
    def empty(cls, metric: str, bounds: tuple[float, ...]) -> Histogram:
        buckets = len(bounds) + 1
        return cls(metric, bounds, [0] * buckets, [None] * buckets)

    def observe(self, value: float, exemplar: QueryExemplar | None = None) -> None:
        bucket = bisect_left(self.bounds, value)
        self.counts[bucket] += 1
        self.exemplars[bucket] = exemplar or self.exemplars[bucket]
        self.sum += value

    def copy(self) -> Histogram:
        return replace(self, counts=[*self.counts], exemplars=[*self.exemplars])

    def continues(self, stored: Histogram) -> bool:
        """Whether ``stored`` has the same buckets."""
        return stored.bounds == self.bounds and len(stored.counts) == len(stored.exemplars) == len(self.counts)

    def buckets(self) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
        """Upper bound, cumulative count, and exemplar if any, as Prometheus wants them."""
        total, rows = 0, list[tuple[str, float] | tuple[str, float, Exemplar]]()
        bounds = (*map(repr, self.bounds), "+Inf")
        for bound, count, query in zip(bounds, self.counts, self.exemplars, strict=True):
            total += count
            rows.append((bound, total) if query is None else (bound, total, _exemplar(query)))
        return rows


def _exemplar(query: QueryExemplar) -> Exemplar:
    labels = {"application_id": query.application_id, "query": str(query.execution_id)}
    return Exemplar(labels, query.value, query.time_seconds)
