"""Every metric the exporter offers: name, help text, labels, and how events become it.

Names and labels are an interface: dashboards and alerts are built on them. Labels take a handful of values each, all
known beforehand; no application, query, table or column is ever a label.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALL", "SECONDS_BUCKETS", "Metric"]

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric family; ``kind`` is ``counter``, ``gauge`` or ``histogram`` (of seconds)."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()


DECISIONS = Metric(
    "aqe_plugin_join_decisions_total",
    "counter",
    "Joins decided, by the strategy chosen, the code of the reason, and the mode.",
    ("choice", "reason", "mode"),
)
FILTER_DECISIONS = Metric(
    "aqe_plugin_filter_decisions_total",
    "counter",
    "Joins for which a filter was or was not built, by the code of the reason.",
    ("filter", "reason"),
)
QUERIES = Metric(
    "aqe_plugin_queries_total", "counter", "Queries in which at least one join was decided and that ended."
)
FILTERS_PLANNED = Metric("aqe_plugin_filters_planned_total", "counter", "Filters in the plans that ran, one per scan.")
FILTERS_APPLIED = Metric("aqe_plugin_filters_applied_total", "counter", "Those that their scan found when it ran.")
FILTERS_NOT_APPLIED = Metric(
    "aqe_plugin_filters_not_applied_total", "counter", "Filters planned and not applied: each one is a fault."
)
FILTERS = Metric("aqe_plugin_filters_total", "counter", "Filters that ran, by kind.", ("kind",))
PASS_ALL = Metric(
    "aqe_plugin_filters_passed_all_total",
    "counter",
    "Filters that could not be built and let every row through, by the code of the reason.",
    ("reason",),
)
ROWS_IN = Metric(
    "aqe_plugin_filter_rows_in_total", "counter", "Rows that filters checked, by kind of filter.", ("kind",)
)
ROWS_OUT = Metric("aqe_plugin_filter_rows_out_total", "counter", "Rows that filters let through, by kind.", ("kind",))
BATCHES_SKIPPED = Metric(
    "aqe_plugin_filter_batches_skipped_total", "counter", "Column batches of which no row was left."
)
FILTER_BYTES = Metric(
    "aqe_plugin_filter_bytes_total", "counter", "Bytes of all filters that were built, by kind.", ("kind",)
)
BUILD_SECONDS = Metric("aqe_plugin_filter_build_seconds", "histogram", "Time to build a filter.")
WAIT_SECONDS = Metric(
    "aqe_plugin_filter_wait_seconds", "histogram", "Time from a plan's start until a scan had its filter."
)
RULE_SECONDS = Metric("aqe_plugin_rule_seconds", "histogram", "Time a query spent in the plugin's own rules.")
QUERY_SECONDS = Metric("aqe_plugin_query_seconds", "histogram", "Wall time of queries in which a join was decided.")
ERRORS = Metric("aqe_plugin_errors_total", "counter", "Faults of the plugin, after each of which Spark's own plan ran.")
SKIPPED = Metric(
    "aqe_plugin_exporter_skipped_total", "counter", "Lines and files of event logs that could not be used."
)
FILES = Metric("aqe_plugin_exporter_files", "gauge", "Event log files read.")

ALL = (
    DECISIONS,
    FILTER_DECISIONS,
    QUERIES,
    FILTERS_PLANNED,
    FILTERS_APPLIED,
    FILTERS_NOT_APPLIED,
    FILTERS,
    PASS_ALL,
    ROWS_IN,
    ROWS_OUT,
    BATCHES_SKIPPED,
    FILTER_BYTES,
    BUILD_SECONDS,
    WAIT_SECONDS,
    RULE_SECONDS,
    QUERY_SECONDS,
    ERRORS,
    SKIPPED,
    FILES,
)
