"""Every metric the exporter offers: name, type, help text, labels, and the values a label can take.

Dashboards and alerts depend on names and labels. They follow Prometheus' conventions: base units at the end of a name,
``_total`` behind every counter, and labels with a handful of values, all known beforehand. No application id, query,
table or column is ever a label; a histogram's exemplars name the query instead. Only the family
``aqe_plugin_application_*`` has a label of free text, the application's *name*, and only for a limited number of
applications.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import get_args

from aqe_plugin.events.model import Strategy, WaitEnd

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
RATIO_BUCKETS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 1.0)

WAIT_ENDS = get_args(WaitEnd)
MODES = ("apply", "observe")
KINDS = ("empty", "exact", "missing", "pass_all", "range", "range_bitmap", "split_block_bloom")
PASS_ALL_REASONS = (
    "BUILD_FAILED",
    "BUILD_TIMEOUT",
    "FILTER_TOO_BIG",
    "NON_DETERMINISTIC",
    "NO_BUILD_EXCHANGE",
    "PASS_RATE_TOO_HIGH",
)


class MetricType(str, Enum):
    """Prometheus' type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


# Compared by identity: each metric exists once, and as a key of sums it is found in a tenth of the time.
@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric family.

    Attributes:
        starts: label values with a sample of 0 from the start, so that the first event is an increase.
        buckets: upper bounds of a histogram, in the unit that the name ends in; the last bucket, +Inf, is left out.
    """

    name: str
    type: MetricType
    help: str
    labels: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def of_applications(self) -> bool:
        """Whether it is kept for each of the latest applications."""
        return "application" in self.labels

    @property
    def start_labels(self) -> list[tuple[str, ...]]:
        """Values of the labels, without the application, that have a sample from the start."""
        values: list[tuple[str, ...]] = [(start,) for start in self.starts]
        return values if self.labels not in ((), ("application",)) else [()]


def _counter(name: str, text: str, *labels: str, starts: tuple[str, ...] = ()) -> Metric:
    return Metric(f"aqe_plugin_{name}_total", MetricType.COUNTER, text, labels, starts)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"aqe_plugin_{name}", MetricType.GAUGE, text, labels)


def _seconds(name: str, text: str) -> Metric:
    return Metric(f"aqe_plugin_{name}_seconds", MetricType.HISTOGRAM, text, buckets=SECONDS_BUCKETS)


def _ratio(name: str, text: str) -> Metric:
    return Metric(f"aqe_plugin_{name}_ratio", MetricType.HISTOGRAM, text, buckets=RATIO_BUCKETS)


def _of_application(name: str, text: str, *labels: str, starts: tuple[str, ...] = ()) -> Metric:
    return _counter(f"application_{name}", text, "application", *labels, starts=starts)


APPLICATIONS = _counter("applications", "Applications whose event log has begun.")
QUERIES = _counter("queries", "Ended queries that were planned with the plugin.")
DECISIONS = _counter(
    "join_decisions",
    "Decided joins, by chosen strategy, reason code and mode.",
    "choice",
    "reason",
    "mode",
)
FILTER_DECISIONS = _counter(
    "filter_decisions",
    "Joins with and without a filter, by reason code.",
    "filter",
    "reason",
)
WAIT_DECISIONS = _counter(
    "wait_decisions", "Decisions whether a join's probe side waits, by reason code.", "waits", "reason"
)
WAIT_SAVING = _counter("wait_predicted_saving_seconds", "Predicted time saved by waits.")
WAIT_IDLE = _counter("wait_predicted_idle_seconds", "Predicted idle time of slots in waits.")
WAITS_ENDED = _counter("waits_ended", "Waits that ended, by what they were good for.", "outcome", starts=WAIT_ENDS)
WAITED = _counter("waited_seconds", "Time that probe sides waited, by outcome.", "outcome", starts=WAIT_ENDS)
SAVED = _counter(
    "predicted_saved_seconds",
    "Time that joins saved by price, at measured pass rates; in mode observe what they would have.",
    "mode",
    starts=MODES,
)
LOST = _counter("predicted_lost_seconds", "The same of joins that cost more.", "mode", starts=MODES)
FILTERS_PLANNED = _counter("filters_planned", "Filters in the plans that ran, counted per scan.")
FILTERS_APPLIED = _counter("filters_applied", "Planned filters that their scan found when it ran.")
FILTERS_NOT_APPLIED = _counter("filters_not_applied", "Planned filters that were not applied; each is a fault.")
FILTERS = _counter("filters", "Filters that ran, by kind.", "kind", starts=KINDS)
PASS_ALL = _counter(
    "filters_passed_all",
    "Filters that could not be built and passed every row, by reason code.",
    "reason",
    starts=PASS_ALL_REASONS,
)
ROWS_IN = _counter("filter_rows_in", "Rows that filters checked, by kind of filter.", "kind", starts=KINDS)
ROWS_OUT = _counter("filter_rows_out", "Rows that passed filters, by kind of filter.", "kind", starts=KINDS)
ROWS_UNCHECKED = _counter(
    "filter_rows_unchecked", "Rows that passed unchecked: their filter was paused, or could not compute their key."
)
FILES_LEFT_OUT = _counter(
    "filter_files_left_out", "Data files that scans did not read because they hold none of the keys, as far as known."
)
BYTES_LEFT_OUT = _counter("filter_bytes_left_out", "Bytes of the data files that scans did not read, as far as known.")
FILTER_BYTES = _counter("filter_bytes", "Bytes of all built filters, by kind.", "kind", starts=KINDS)
BUILD_SECONDS = _seconds("filter_build", "Time to build a filter.")
WAIT_SECONDS = _seconds("filter_wait", "How long a probe side waited for its build side.")
RULE_SECONDS = _seconds("rule", "Time in the plugin's own rules per query, without the inference of predicates.")
QUERY_SECONDS = _seconds("query", "Wall time of queries that were planned with the plugin.")
PREDICTED_PASS = _ratio("filter_predicted_pass", "Predicted share of rows that pass a filter.")
MEASURED_PASS = _ratio("filter_measured_pass", "Measured share of rows that passed the same filter.")
PASS_ERROR = _ratio("filter_pass_error", "Absolute difference of the predicted and the measured share.")
LIMIT_DECISIONS = _counter(
    "limit_decisions",
    "Limits of ended queries, by what their scans read, reason code and mode.",
    "choice",
    "reason",
    "mode",
)
LIMIT_FILES = _counter("limit_files", "Files that the scans below limits could read.")
LIMIT_FILES_LEFT_OUT = _counter("limit_files_left_out", "Files that the scans below limits did not have to read.")
LIMIT_ROWS_READ = _counter("limit_rows_read", "Rows that the scans below limits read.")
PREDICATES = _counter(
    "predicates_inferred",
    "Predicates inferred across joins for a scan, by how they follow and whether they were applied.",
    "inferred_by",
    "applied",
)
ERRORS = _counter("errors", "Faults of the plugin, after which queries went on without what had failed.")

APPLICATION_QUERIES = _of_application("queries", "Ended queries of the application.")
APPLICATION_QUERY_SECONDS = _of_application("query_seconds", "Wall time of the application's queries.")
APPLICATION_RULE_SECONDS = _of_application("rule_seconds", "Time in the plugin's own rules.")
APPLICATION_DECISIONS = _of_application(
    "join_decisions",
    "Decided joins of the application, by chosen strategy.",
    "choice",
    starts=get_args(Strategy),
)
APPLICATION_ROWS_IN = _of_application("filter_rows_in", "Rows that the application's filters checked.")
APPLICATION_ROWS_OUT = _of_application("filter_rows_out", "Rows that passed the application's filters.")
APPLICATION_WAIT_SECONDS = _of_application(
    "filter_wait_seconds", "How long the application's probe sides waited for their build sides, in sum."
)
APPLICATION_NOT_APPLIED = _of_application("filters_not_applied", "Its planned filters that were not applied.")
APPLICATION_ERRORS = _of_application("errors", "Faults of the plugin in the application's queries.")

BUILD_INFO = _gauge("build_info", "Always 1; the label has the exporter's version.", "version")
FILES = _gauge("exporter_files", "Event log files read.")
LAST_READ = _gauge("exporter_last_read_timestamp_seconds", "When the logs were last read to their end; 0 before.")
SKIPPED = _counter("exporter_skipped", "Skipped lines and files of event logs.")
READ_ERRORS = _counter("exporter_read_errors", "Failed reads of the source of event logs.")

# In the order in which they stand above.
ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
