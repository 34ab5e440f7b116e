"""The dashboard of limits that are worth changing."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from monitoring import promql
from monitoring.grafana import Dashboard, Query, Row
from monitoring.panels import graph, heat_map, increases_by, quantiles

__all__ = ["TUNING"]


TUNING = Dashboard(
    uid="aqe-plugin-tuning",
    title="aqe-plugin / Tuning",
    text="Which limit holds the plugin back, or lets too much through? Panels name the conf key they speak for.",
    job_metric=metrics.QUERIES.name,
    rows=(
        Row(
            "Waits: wait.savingShare, wait.maxIdle, wait.limit",
            (
                graph(
                    "Predicted saving against predicted idling",
                    "Seconds per second, of the waits that were made. Close to each other: waits pay barely.",
                    Query(promql.per_second(metrics.WAIT_SAVING), "saving"),
                    Query(promql.per_second(metrics.WAIT_IDLE), "idling"),
                    unit="s",
                ),
                heat_map(
                    "Waits as they were",
                    "Probe sides by how long they waited. Many beyond wait.maxIdle: idling is underestimated.",
                    metrics.WAIT_SECONDS,
                    "s",
                ),
                increases_by(
                    "Waits by reason",
                    "WAIT_TOO_LONG moves with wait.maxIdle, NOT_WORTH_WAITING with wait.savingShare.",
                    metrics.WAIT_DECISIONS,
                    "waits",
                    "reason",
                ),
                increases_by(
                    "Waits by outcome",
                    "unused: lower wait.savingShare. released: the build side took longer than predicted.",
                    metrics.WAITS_ENDED,
                    "outcome",
                ),
            ),
        ),
        Row(
            "Filters: filter.maxPassRate, filter.maxBytes, filter.buildTimeout",
            (
                graph(
                    "Measured pass rate",
                    "Far below filter.maxPassRate at p95: the limit could be lower, so that fewer scans wait.",
                    *quantiles(metrics.MEASURED_PASS),
                    unit="percentunit",
                    width=6,
                ),
                graph(
                    "Mean size of a filter",
                    "By kind, against filter.maxBytes.",
                    Query(
                        promql.ratio(
                            promql.per_second(metrics.FILTER_BYTES, "kind"),
                            promql.per_second(metrics.FILTERS, "kind"),
                        ),
                        "{{kind}}",
                    ),
                    unit="bytes",
                    width=6,
                ),
                graph(
                    "Time to build",
                    "Against filter.buildTimeout.",
                    *quantiles(metrics.BUILD_SECONDS),
                    unit="s",
                    width=6,
                ),
                graph(
                    "Rows not checked",
                    "Rows that passed unchecked while a filter was paused because it removed too few rows.",
                    Query(promql.per_second(metrics.ROWS_UNCHECKED), "rows"),
                    unit="ops",
                    width=6,
                ),
            ),
        ),
        Row(
            "Choices: broadcast.*, cost.*",
            (
                increases_by(
                    "Reasons of the choice",
                    "BROADCAST_MEMORY and BROADCAST_ROWS move with the limits called so, TIE with cost.tieRatio and "
                    "cost.jobLaunchNanos.",
                    metrics.DECISIONS,
                    "reason",
                    width=12,
                ),
                increases_by(
                    "Reasons against filters",
                    "PASS_RATE_TOO_HIGH moves with filter.maxPassRate, FILTER_TOO_BIG with filter.maxBytes.",
                    metrics.FILTER_DECISIONS,
                    "filter",
                    "reason",
                    width=12,
                ),
            ),
        ),
    ),
)
