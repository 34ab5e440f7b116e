"""The dashboard of the whole fleet."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from monitoring import promql
from monitoring.dashboards.worth import IS_IT_WORTH_IT
from monitoring.grafana import Dashboard, Kind, Panel, Query, Row
from monitoring.panels import graph, increases_by, quantiles, rows_through_filters, speeds_by, stat

__all__ = ["FLEET"]


FLEET = Dashboard(
    uid="aqe-plugin-fleet",
    title="aqe-plugin / Fleet",
    text="Is the plugin at work everywhere, what does it do, and what does it cost?",
    job_metric=metrics.QUERIES.name,
    rows=(
        IS_IT_WORTH_IT,
        Row(
            "In the time shown",
            (
                stat(
                    "Applications",
                    "Applications that began to write an event log.",
                    promql.total(metrics.APPLICATIONS),
                ),
                stat("Queries", "Queries that were planned with the plugin.", promql.total(metrics.QUERIES)),
                stat("Joins decided", "All joins, whatever was chosen.", promql.total(metrics.DECISIONS)),
                stat(
                    "Rows dropped in scans",
                    "Rows that filters kept from being shuffled.",
                    f"{promql.total(metrics.ROWS_IN)} - {promql.total(metrics.ROWS_OUT)}",
                ),
            ),
        ),
        Row(
            "What is decided",
            (
                speeds_by(
                    "Joins by choice",
                    "leave_to_spark: nothing to decide, or a reason against it.",
                    metrics.DECISIONS,
                    "choice",
                ),
                speeds_by("Joins by mode", "observe decides and changes nothing.", metrics.DECISIONS, "mode"),
                Panel(
                    "Applications by query time",
                    "Where the time is, and so where a decision matters most.",
                    (
                        Query(
                            promql.largest(10, metrics.APPLICATION_QUERY_SECONDS, "application"),
                            "{{application}}",
                        ),
                    ),
                    "s",
                    Kind.BARS,
                ),
            ),
        ),
        Row(
            "Filters",
            (
                rows_through_filters(
                    "The gap between the lines is what was not shuffled.", metrics.ROWS_IN, metrics.ROWS_OUT
                ),
                increases_by(
                    "Filters by kind",
                    "missing is a fault, pass_all a filter that could not be built.",
                    metrics.FILTERS,
                    "kind",
                ),
                increases_by(
                    "Filters that could not be built",
                    "By reason; scans waited for nothing.",
                    metrics.PASS_ALL,
                    "reason",
                ),
            ),
        ),
        Row(
            "Limits and predicates",
            (
                increases_by(
                    "Limits by what is read",
                    "leave_to_spark: every file may be read; the reason is in aqe_limits().",
                    metrics.LIMIT_DECISIONS,
                    "choice",
                ),
                graph(
                    "Files below limits",
                    "Files that scans below limits could read, and those that they did not have to read.",
                    Query(promql.increase(metrics.LIMIT_FILES), "files"),
                    Query(promql.increase(metrics.LIMIT_FILES_LEFT_OUT), "left out"),
                ),
                increases_by(
                    "Predicates inferred across joins",
                    "By how they follow from the queries' conditions.",
                    metrics.PREDICATES,
                    "inferred_by",
                ),
            ),
        ),
        Row(
            "Time",
            (
                graph(
                    "Queries",
                    "Wall time of queries that were planned with the plugin.",
                    *quantiles(metrics.QUERY_SECONDS),
                    unit="s",
                ),
                graph(
                    "Waits",
                    "From a plan's start until a scan had its filter.",
                    *quantiles(metrics.WAIT_SECONDS),
                    unit="s",
                ),
                graph(
                    "The plugin's own rules",
                    "Their share of the queries' time; more than 5 % raises an alert.",
                    Query(
                        promql.ratio(
                            f'sum(rate({metrics.RULE_SECONDS.name}_sum{{job="$job"}}[$__rate_interval]))',
                            f'sum(rate({metrics.QUERY_SECONDS.name}_sum{{job="$job"}}[$__rate_interval]))',
                        ),
                        "share of query time",
                    ),
                    unit="percentunit",
                    bad_above=0.05,
                ),
            ),
        ),
        Row(
            "Exporter",
            (
                graph("Event log files", "Files read so far.", Query(promql.now(metrics.FILES), "files"), width=6),
                graph(
                    "Not usable",
                    "Lines and files skipped, and times the folder could not be read.",
                    Query(promql.increase(metrics.SKIPPED), "skipped"),
                    Query(promql.increase(metrics.READ_ERRORS), "folder unreadable"),
                    width=6,
                ),
                graph(
                    "Memory",
                    "Resident memory of the exporter.",
                    Query('sum(process_resident_memory_bytes{job="$job"})', "resident"),
                    unit="bytes",
                    width=6,
                ),
                graph(
                    "Scrapes",
                    "A scrape reads what was written since the last one; its limit is the scrape timeout.",
                    Query('max(scrape_duration_seconds{job="$job"})', "time of a scrape"),
                    unit="s",
                    width=6,
                ),
            ),
        ),
    ),
)
