"""Adds events up into the numbers behind the metrics."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from aqe_plugin.events import ApplicationStarted, Event
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.applications import ApplicationSums
from aqe_plugin.exporter.histogram import Histogram, QueryExemplar
from aqe_plugin.exporter.metrics import Metric
from aqe_plugin.model import FilterOutcome, JoinDecided, QueryEnded

__all__ = ["Tally"]

OTHER = "other"
_KINDS = frozenset(metrics.KINDS)
_WITHOUT_PASS_RATE = {"pass_all", "missing"}
_MAX_OPEN_QUERIES = 10_000
# A Scala Long; more can only be damage, and one such number would stay in a sum for ever.
_MAX_NUMBER = 2.0**63


class Tally:
    """Sums since it was made. Counts only grow; not safe to share between threads.

    Memory is bounded by the labels' values, ``applications``, and 10,000 queries that have not ended, apart from some
    100 bytes for each log.

    Args:
        reason_codes: the codes that may be label values; any other is counted as ``other``.
        applications: for how many applications to keep sums of their own.
    """

    def __init__(self, reason_codes: Iterable[str], applications: int = 100) -> None:
        self._reason_codes = frozenset(reason_codes)
        self._counts: defaultdict[Metric, defaultdict[tuple[str, ...], float]] = defaultdict(lambda: defaultdict(float))
        self._histograms = {metric: Histogram(metric.buckets) for metric in metrics.ALL if metric.buckets}
        self._applications = ApplicationSums(applications)
        self._predicted: OrderedDict[tuple[str, int], dict[str, float]] = OrderedDict()

    def counts(self, metric: Metric) -> dict[tuple[str, ...], float]:
        """Label values → count; those that are known beforehand are there from the start, as 0."""
        if metric.of_applications:
            return dict(self._applications.of(metric))
        return {**dict.fromkeys(metric.start_labels, 0.0), **self._counts[metric]}

    def histogram(self, metric: Metric) -> Histogram:
        return self._histograms[metric]

    def skip(self) -> None:
        """One line or file could not be used."""
        self._add(metrics.SKIPPED)

    def fail_to_read(self) -> None:
        """The folder could not be read."""
        self._add(metrics.READ_ERRORS)

    def add(self, log_name: str, event: Event) -> None:
        """Counts an event of that log; those of Spark itself count for nothing but an application's start."""
        if isinstance(event, JoinDecided):
            self._add_decision(log_name, event)
        elif isinstance(event, QueryEnded):
            self._add_query(log_name, event)
        elif isinstance(event, ApplicationStarted):
            self._add(metrics.APPLICATIONS)
            self._applications.start(log_name, event)

    def _add_decision(self, log_name: str, event: JoinDecided) -> None:
        decision = event.decision
        choice = decision.choice.value
        self._add(metrics.DECISIONS, choice, self._code(decision.reason.code), event.mode.value)
        self._applications.sums(log_name, event.time_millis)[metrics.APPLICATION_DECISIONS, (choice,)] += 1
        self._add(metrics.FILTER_DECISIONS, _yes(decision.build_filter), self._code(decision.filter_reason.code))
        waiting = decision.facts.waiting
        if waiting is not None:
            self._add(metrics.WAIT_DECISIONS, _yes(waiting.waits), self._code(waiting.reason.code))
        if waiting is not None and waiting.waits:
            self._add(metrics.WAIT_SAVING, by=_seconds(waiting.saving_millis))
            self._add(metrics.WAIT_IDLE, by=_seconds(waiting.idle_millis))
        if decision.build_filter:
            self._predicted.setdefault((log_name, event.execution_id), {})[decision.facts.join_id] = decision.pass_rate
            if len(self._predicted) > _MAX_OPEN_QUERIES:
                self._predicted.popitem(last=False)

    def _add_query(self, log_name: str, event: QueryEnded) -> None:
        wall, rules = _seconds(event.duration_millis), _seconds(event.rule_millis)
        not_applied = event.planned - event.applied
        self._add(metrics.QUERIES)
        self._add(metrics.FILTERS_PLANNED, by=event.planned)
        self._add(metrics.FILTERS_APPLIED, by=event.applied)
        self._add(metrics.FILTERS_NOT_APPLIED, by=not_applied)
        self._add(metrics.ERRORS, by=event.errors)
        self._observe(metrics.RULE_SECONDS, rules, log_name, event)
        self._observe(metrics.QUERY_SECONDS, wall, log_name, event)
        predicted = self._predicted.pop((log_name, event.execution_id), {})
        for outcome in event.outcomes:
            self._add_outcome(outcome, predicted.get(outcome.join_id), log_name, event)
        sums = self._applications.sums(log_name, event.time_millis)
        for metric, by in (
            (metrics.APPLICATION_QUERIES, 1),
            (metrics.APPLICATION_QUERY_SECONDS, wall),
            (metrics.APPLICATION_RULE_SECONDS, rules),
            (metrics.APPLICATION_NOT_APPLIED, not_applied),
            (metrics.APPLICATION_ERRORS, event.errors),
            (metrics.APPLICATION_ROWS_IN, sum(outcome.rows_in for outcome in event.outcomes)),
            (metrics.APPLICATION_ROWS_OUT, sum(outcome.rows_out for outcome in event.outcomes)),
            (metrics.APPLICATION_WAIT_SECONDS, sum(_seconds(outcome.wait_millis) for outcome in event.outcomes)),
        ):
            sums[metric, ()] += _sound(by)

    def _add_outcome(self, outcome: FilterOutcome, predicted: float | None, log_name: str, event: QueryEnded) -> None:
        kind = outcome.kind if outcome.kind in _KINDS else OTHER
        self._add(metrics.FILTERS, kind)
        self._add(metrics.ROWS_IN, kind, by=outcome.rows_in)
        self._add(metrics.ROWS_OUT, kind, by=outcome.rows_out)
        self._add(metrics.FILTER_BYTES, kind, by=outcome.filter_bytes)
        self._add(metrics.BATCHES_SKIPPED, by=outcome.batches_skipped)
        self._observe(metrics.WAIT_SECONDS, _seconds(outcome.wait_millis), log_name, event)
        if outcome.reason is not None:
            self._add(metrics.PASS_ALL, self._code(outcome.reason.code))
        else:
            self._observe(metrics.BUILD_SECONDS, _seconds(outcome.build_millis), log_name, event)
        if predicted is not None and kind not in _WITHOUT_PASS_RATE and 0 <= outcome.rows_out <= outcome.rows_in > 0:
            measured, expected = outcome.rows_out / outcome.rows_in, min(1.0, _sound(predicted))
            self._observe(metrics.PREDICTED_PASS, expected, log_name, event)
            self._observe(metrics.MEASURED_PASS, measured, log_name, event)
            self._observe(metrics.PASS_ERROR, abs(measured - expected), log_name, event)

    def _observe(self, metric: Metric, value: float, log_name: str, event: QueryEnded) -> None:
        exemplar = QueryExemplar(
            self._applications.id_of(log_name), event.execution_id, value, _seconds(event.time_millis)
        )
        self._histograms[metric].observe(value, exemplar)

    def _add(self, metric: Metric, *labels: str, by: float = 1) -> None:
        self._counts[metric][labels] += _sound(by)

    def _code(self, code: str) -> str:
        return code if code in self._reason_codes else OTHER


def _sound(number: float) -> float:
    """0 for what only a damaged log holds (negative, endless, too large): a counter that fell looks like a restart."""
    return number if 0 < number < _MAX_NUMBER else 0


def _seconds(millis: float) -> float:
    return _sound(millis) / 1000


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"
