"""The dashboard of one application."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric
from monitoring import promql
from monitoring.grafana import Dashboard, Query, Row
from monitoring.panels import graph, increases_by, rows_through_filters, stat

__all__ = ["APPLICATION"]


def _removed(rows_in: str, rows_out: str) -> str:
    return promql.ratio(f"({rows_in} - {rows_out})", rows_in)


def _per_query(seconds: Metric, legend: str) -> Query:
    """A line: the mean of ``seconds`` over the queries of an application."""
    per_second = promql.per_second(metrics.APPLICATION_QUERIES)
    return Query(promql.ratio(promql.per_second(seconds), per_second), legend)


APPLICATION = Dashboard(
    uid="aqe-plugin-application",
    title="aqe-plugin / One application",
    text="What the plugin did in the queries of one application, all of its runs together.",
    job_metric=metrics.QUERIES.name,
    application_metric=metrics.APPLICATION_QUERIES.name,
    rows=(
        Row(
            "In the time shown",
            (
                stat("Queries", "Queries that ended.", promql.total(metrics.APPLICATION_QUERIES)),
                stat("Query time", "Their wall time, added up.", promql.total(metrics.APPLICATION_QUERY_SECONDS), "s"),
                stat("Joins decided", "All its joins.", promql.total(metrics.APPLICATION_DECISIONS)),
                stat(
                    "Share of rows dropped",
                    "Of the rows that filters checked.",
                    _removed(promql.total(metrics.APPLICATION_ROWS_IN), promql.total(metrics.APPLICATION_ROWS_OUT)),
                    "percentunit",
                ),
                stat("Errors", "Faults of the plugin.", promql.total(metrics.APPLICATION_ERRORS), bad_above=0),
                stat(
                    "Not applied",
                    "Filters that were planned and not found by their scan.",
                    promql.total(metrics.APPLICATION_NOT_APPLIED),
                    bad_above=0,
                ),
            ),
        ),
        Row(
            "Over time",
            (
                graph(
                    "Mean time of a query",
                    "Compare with the time before a change of the conf: aqe-plugin history tells when that was.",
                    _per_query(metrics.APPLICATION_QUERY_SECONDS, "query"),
                    _per_query(metrics.APPLICATION_RULE_SECONDS, "of it in the plugin's rules"),
                    unit="s",
                    width=12,
                ),
                increases_by(
                    "Joins by choice",
                    "A change here without a change of conf or data is worth a look.",
                    metrics.APPLICATION_DECISIONS,
                    "choice",
                    width=12,
                ),
                rows_through_filters(
                    "By this application's filters.",
                    metrics.APPLICATION_ROWS_IN,
                    metrics.APPLICATION_ROWS_OUT,
                    width=12,
                ),
                graph(
                    "Waits per query",
                    "All joins of a query added up: their probe sides may wait at the same time.",
                    _per_query(metrics.APPLICATION_WAIT_SECONDS, "waited"),
                    unit="s",
                    width=12,
                ),
            ),
        ),
    ),
)
