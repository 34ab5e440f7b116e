"""Adds events up into the values of the metrics."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass

from aqe_plugin.events.describe import reason_meanings
from aqe_plugin.events.lines import ApplicationStarted, Event
from aqe_plugin.events.model import FilterOutcome, JoinDecided, LimitDecided, PredicateInferred, QueryEnded
from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.applications import ApplicationsState, ApplicationSums, SumRow, Sums, rows_of, sums_of
from aqe_plugin.exporter.histogram import Histogram, QueryExemplar
from aqe_plugin.exporter.metrics import Metric

OTHER = "other"
_KINDS = frozenset(metrics.KINDS)
_WITHOUT_PASS_RATE = {"pass_all", "missing"}
_MAX_OPEN_QUERIES = 10_000
# The range of a Scala Long. A larger number is damage, and would stay in a sum for ever.
_MAX_NUMBER = 2.0**63
# No query takes ten years: a clock was set, or the log is damaged.
_MAX_MILLIS = 10 * 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class OpenQuery:
    """A query that still runs, with the predicted pass rate of each of its joins that has a filter."""

    log_name: str
    execution_id: int
    predicted: dict[str, float]


@dataclass(frozen=True, slots=True)
class TallyState:
    """Stored sums, those of all applications together first."""

    counts: tuple[SumRow, ...]
    histograms: tuple[Histogram, ...]
    applications: ApplicationsState
    open_queries: tuple[OpenQuery, ...]


class Tally:
    """Sums of events. Counts only grow; not safe to share between threads.

    Memory is bounded by the number of label values, ``applications``, 10,000 open queries, and some 350 bytes for each
    of 100,000 logs.

    Args:
        applications: how many applications get sums of their own; codes of reasons that are not in
            ``reason_codes.json`` are counted as ``other``.
    """

    def __init__(self, applications: int = 100) -> None:
        self._reason_codes = frozenset(reason_meanings())
        self._counts: Sums = defaultdict(float)
        self._histograms = {one: Histogram.empty(one.name, one.buckets) for one in metrics.ALL if one.buckets}
        self._applications = ApplicationSums(applications)
        self._predicted: OrderedDict[tuple[str, int], dict[str, float]] = OrderedDict()

    def state(self) -> TallyState:
        return TallyState(
            counts=rows_of(self._counts),
            histograms=tuple(histogram.copy() for histogram in self._histograms.values()),
            applications=self._applications.state(),
            open_queries=tuple(OpenQuery(*query, dict(rates)) for query, rates in self._predicted.items()),
        )

    def restore(self, state: TallyState) -> None:
        """Continues with stored sums."""
        self._counts = sums_of(state.counts)
        stored = {histogram.metric: histogram for histogram in state.histograms}
        for metric, histogram in self._histograms.items():
            if metric.name in stored and histogram.continues(stored[metric.name]):
                self._histograms[metric] = stored[metric.name].copy()
        self._applications.restore(state.applications)
        self._predicted.update(((one.log_name, one.execution_id), dict(one.predicted)) for one in state.open_queries)

    def counts(self, metric: Metric) -> dict[tuple[str, ...], float]:
        """Label values → count; label values known beforehand have a count of 0 from the start."""
        if metric.of_applications:
            return dict(self._applications.of(metric))
        counted = {labels: count for (counter, labels), count in self._counts.items() if counter is metric}
        return {**dict.fromkeys(metric.start_labels, 0.0), **counted}

    def histogram(self, metric: Metric) -> Histogram:
        return self._histograms[metric]

    def skip(self) -> None:
        """A line or file was skipped."""
        self._add(metrics.SKIPPED)

    def fail_to_read(self) -> None:
        """The source could not be read."""
        self._add(metrics.READ_ERRORS)

    def add(self, log_name: str, event: Event) -> None:
        """Counts an event of that log; of Spark's own events only the application's start."""
        if isinstance(event, JoinDecided):
            self._add_decision(log_name, event)
        elif isinstance(event, QueryEnded):
            self._add_query(log_name, event)
        elif isinstance(event, LimitDecided):
            self._add_limit(event)
        elif isinstance(event, PredicateInferred):
            self._add(metrics.PREDICATES, event.inferred_by, _yes(event.applied))
        elif isinstance(event, ApplicationStarted):
            self._add(metrics.APPLICATIONS)
            self._applications.start(log_name, event)

    def _add_decision(self, log_name: str, event: JoinDecided) -> None:
        decision = event.decision
        choice = decision.choice
        self._add(metrics.DECISIONS, choice, self._code(decision.reason.code), event.mode)
        self._applications.sums(log_name, event.time_millis)[metrics.APPLICATION_DECISIONS, (choice,)] += 1
        self._add(metrics.FILTER_DECISIONS, _yes(decision.build_filter), self._code(decision.filter_reason.code))
        waiting = decision.facts.waiting
        if waiting is not None:
            self._add(metrics.WAIT_DECISIONS, _yes(waiting.has_begun), self._code(waiting.reason.code))
        if waiting is not None and waiting.waits:
            self._add(metrics.WAIT_SAVING, by=_seconds(waiting.saving_millis))
            self._add(metrics.WAIT_IDLE, by=_seconds(waiting.idle_millis))
        if waiting is not None and waiting.outcome is not None:
            waited = _seconds(waiting.waited_millis or 0.0)
            self._add(metrics.WAITS_ENDED, waiting.outcome)
            self._add(metrics.WAITED, waiting.outcome, by=waited)
            self._observe(metrics.WAIT_SECONDS, waited, log_name, event)
            self._applications.sums(log_name, event.time_millis)[metrics.APPLICATION_WAIT_SECONDS, ()] += _sound(waited)
        if decision.build_filter:
            query = (log_name, event.execution_id)
            self._predicted.setdefault(query, {})[decision.join_id] = decision.pass_rate
            if len(self._predicted) > _MAX_OPEN_QUERIES:
                self._predicted.popitem(last=False)

    def _add_limit(self, event: LimitDecided) -> None:
        decision = event.decision
        self._add(metrics.LIMIT_DECISIONS, decision.choice, self._code(decision.reason.code), event.mode)
        if event.outcome is not None:
            self._add(metrics.LIMIT_FILES, by=decision.facts.files)
            self._add(metrics.LIMIT_ROWS_READ, by=event.outcome.rows_read)
        if event.applied:
            self._add(metrics.LIMIT_FILES_LEFT_OUT, by=decision.facts.files - decision.files_chosen)

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
        for saving in event.savings or ():
            saved = saving.elapsed_millis or 0.0
            mode = "apply" if saving.applied else "observe"
            self._add(metrics.SAVED if saved > 0 else metrics.LOST, mode, by=_seconds(abs(saved)))
        sums = self._applications.sums(log_name, event.time_millis)
        for metric, by in (
            (metrics.APPLICATION_QUERIES, 1),
            (metrics.APPLICATION_QUERY_SECONDS, wall),
            (metrics.APPLICATION_RULE_SECONDS, rules),
            (metrics.APPLICATION_NOT_APPLIED, not_applied),
            (metrics.APPLICATION_ERRORS, event.errors),
            (metrics.APPLICATION_ROWS_IN, sum(outcome.rows_in for outcome in event.outcomes)),
            (metrics.APPLICATION_ROWS_OUT, sum(outcome.rows_out for outcome in event.outcomes)),
        ):
            sums[metric, ()] += _sound(by)

    def _add_outcome(self, outcome: FilterOutcome, predicted: float | None, log_name: str, event: QueryEnded) -> None:
        kind = outcome.kind if outcome.kind in _KINDS else OTHER
        self._add(metrics.FILTERS, kind)
        self._add(metrics.ROWS_IN, kind, by=outcome.rows_in)
        self._add(metrics.ROWS_OUT, kind, by=outcome.rows_out)
        self._add(metrics.FILTER_BYTES, kind, by=outcome.filter_bytes)
        self._add(metrics.ROWS_UNCHECKED, by=outcome.rows_unchecked)
        self._add(metrics.FILES_LEFT_OUT, by=outcome.files_left_out or 0)
        self._add(metrics.BYTES_LEFT_OUT, by=outcome.bytes_left_out or 0)
        if outcome.reason is not None:
            self._add(metrics.PASS_ALL, self._code(outcome.reason.code))
        else:
            self._observe(metrics.BUILD_SECONDS, _seconds(outcome.build_millis), log_name, event)
        if predicted is not None and kind not in _WITHOUT_PASS_RATE and 0 <= outcome.rows_out <= outcome.rows_in > 0:
            measured, expected = outcome.rows_out / outcome.rows_in, min(1.0, _sound(predicted))
            self._observe(metrics.PREDICTED_PASS, expected, log_name, event)
            self._observe(metrics.MEASURED_PASS, measured, log_name, event)
            self._observe(metrics.PASS_ERROR, abs(measured - expected), log_name, event)

    def _observe(self, metric: Metric, value: float, log_name: str, event: JoinDecided | QueryEnded) -> None:
        exemplar = QueryExemplar(
            self._applications.id_of(log_name), event.execution_id, value, _sound(event.time_millis) / 1000
        )
        self._histograms[metric].observe(value, exemplar)

    def _add(self, metric: Metric, *labels: str, by: float = 1) -> None:
        self._counts[metric, labels] += _sound(by)

    def _code(self, code: str) -> str:
        return code if code in self._reason_codes else OTHER


def _sound(number: float) -> float:
    """0 for a number that only a damaged log holds (negative, not finite, too large): counters must not fall."""
    return number if 0 < number < _MAX_NUMBER else 0


def _seconds(millis: float) -> float:
    """Milliseconds as seconds, 0 for a duration that cannot be."""
    return _sound(millis) / 1000 if millis < _MAX_MILLIS else 0


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"
