"""The dashboard of the quality of decisions."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from monitoring import promql
from monitoring.grafana import Dashboard, Query, Row
from monitoring.panels import bars_by, graph, heat_map, quantiles

__all__ = ["QUALITY"]


QUALITY = Dashboard(
    uid="aqe-plugin-quality",
    title="aqe-plugin / Decision quality",
    text="Was it right? What was predicted against what was measured.",
    job_metric=metrics.QUERIES.name,
    rows=(
        Row(
            "Pass rates of filters that ran",
            (
                graph(
                    "Predicted and measured",
                    "Mean share of rows let through. A lasting gap is a bias of the estimates.",
                    Query(promql.mean(metrics.PREDICTED_PASS), "predicted"),
                    Query(promql.mean(metrics.MEASURED_PASS), "measured"),
                    unit="percentunit",
                ),
                graph(
                    "Error of the prediction",
                    "Without its sign. A mean above 0.3 raises an alert.",
                    Query(promql.mean(metrics.PASS_ERROR), "mean"),
                    *quantiles(metrics.PASS_ERROR),
                    unit="percentunit",
                ),
                heat_map(
                    "Measured pass rates",
                    "Filters by the share of rows they let through: the upper ones hardly paid.",
                    metrics.MEASURED_PASS,
                    "percentunit",
                ),
            ),
        ),
        Row(
            "Reasons",
            (
                bars_by(
                    "Of the choice",
                    "docs/reference/reasons.md has an example of each code.",
                    metrics.DECISIONS,
                    "choice",
                    "reason",
                ),
                bars_by(
                    "For and against a filter",
                    "yes: built; no: refused, with the code of why.",
                    metrics.FILTER_DECISIONS,
                    "filter",
                    "reason",
                ),
                bars_by(
                    "Of limits",
                    "What is read below a limit, with the code of why.",
                    metrics.LIMIT_DECISIONS,
                    "choice",
                    "reason",
                ),
                bars_by(
                    "For and against a wait",
                    "Whether the probe side waited for the build side.",
                    metrics.WAIT_DECISIONS,
                    "waits",
                    "reason",
                ),
            ),
        ),
        Row(
            "Faults",
            (
                graph(
                    "Planned and applied",
                    "The lines must lie on each other.",
                    Query(promql.increase(metrics.FILTERS_PLANNED), "planned"),
                    Query(promql.increase(metrics.FILTERS_APPLIED), "applied"),
                    Query(promql.increase(metrics.FILTERS_NOT_APPLIED), "not applied"),
                    width=12,
                ),
                graph(
                    "Errors of the plugin",
                    "After each of them Spark's own plan ran.",
                    Query(promql.increase(metrics.ERRORS), "errors"),
                    width=12,
                    bad_above=0,
                ),
            ),
        ),
    ),
)
