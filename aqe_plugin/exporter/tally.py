"""Adds events up into the numbers behind the metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable

from aqe_plugin.events import Event
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric
from aqe_plugin.model import FilterOutcome, JoinDecided, QueryEnded

__all__ = ["Histogram", "Tally"]

OTHER = "other"
_KINDS = frozenset({"empty", "exact", "range_bitmap", "split_block_bloom", "pass_all", "missing"})


class Histogram:
    """Observations counted into fixed buckets; each bucket holds those in it alone."""

    def __init__(self, bounds: tuple[float, ...] = metrics.SECONDS_BUCKETS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[float, int]]:
        """Upper bound (the last is infinite) and how many observations are at or below it."""
        total, rows = 0, []
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            rows.append((bound, total))
        return rows


class Tally:
    """Sums since it was made. Counts only grow; not safe to share between threads.

    Args:
        reason_codes: the codes that may be label values; any other is counted as ``other``.
    """

    def __init__(self, reason_codes: Iterable[str]) -> None:
        self._reason_codes = frozenset(reason_codes)
        self._counts: defaultdict[Metric, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._histograms: defaultdict[Metric, Histogram] = defaultdict(Histogram)

    def counts(self, metric: Metric) -> dict[tuple[str, ...], int]:
        """Label values → count; a metric without labels is there from the start, as 0."""
        return dict(self._counts[metric]) or ({} if metric.labels else {(): 0})

    def histogram(self, metric: Metric) -> Histogram:
        return self._histograms[metric]

    def skip(self) -> None:
        """One line or file could not be used."""
        self._add(metrics.SKIPPED)

    def add(self, event: Event) -> None:
        """Counts an event; those of Spark itself count for nothing."""
        if isinstance(event, JoinDecided):
            self._add_decision(event)
        elif isinstance(event, QueryEnded):
            self._add_query(event)

    def _add_decision(self, event: JoinDecided) -> None:
        decision = event.decision
        self._add(metrics.DECISIONS, decision.choice.value, self._code(decision.reason.code), event.mode.value)
        built = "yes" if decision.build_filter else "no"
        self._add(metrics.FILTER_DECISIONS, built, self._code(decision.filter_reason.code))

    def _add_query(self, event: QueryEnded) -> None:
        self._add(metrics.QUERIES)
        self._add(metrics.FILTERS_PLANNED, by=event.planned)
        self._add(metrics.FILTERS_APPLIED, by=event.applied)
        self._add(metrics.FILTERS_NOT_APPLIED, by=event.planned - event.applied)
        self._add(metrics.ERRORS, by=event.errors)
        self._histograms[metrics.RULE_SECONDS].observe(event.rule_millis / 1000)
        self._histograms[metrics.QUERY_SECONDS].observe(event.duration_millis / 1000)
        for outcome in event.outcomes:
            self._add_outcome(outcome)

    def _add_outcome(self, outcome: FilterOutcome) -> None:
        kind = outcome.kind if outcome.kind in _KINDS else OTHER
        self._add(metrics.FILTERS, kind)
        self._add(metrics.ROWS_IN, kind, by=outcome.rows_in)
        self._add(metrics.ROWS_OUT, kind, by=outcome.rows_out)
        self._add(metrics.FILTER_BYTES, kind, by=outcome.filter_bytes)
        self._add(metrics.BATCHES_SKIPPED, by=outcome.batches_skipped)
        self._histograms[metrics.WAIT_SECONDS].observe(outcome.wait_millis / 1000)
        if outcome.reason is not None:
            self._add(metrics.PASS_ALL, self._code(outcome.reason.code))
        else:
            self._histograms[metrics.BUILD_SECONDS].observe(outcome.build_millis / 1000)

    def _add(self, metric: Metric, *labels: str, by: int = 1) -> None:
        # A damaged log may hold a negative number; a counter that fell would look like a restart.
        self._counts[metric][labels] += max(0, by)

    def _code(self, code: str) -> str:
        return code if code in self._reason_codes else OTHER
