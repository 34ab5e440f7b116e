"""The kinds of panel in the dashboards, each with its way to be drawn."""

from __future__ import annotations

from aqe_plugin.exporter.metrics import Metric
from monitoring import promql
from monitoring.grafana import Kind, Panel, Query

__all__ = [
    "bars_by",
    "graph",
    "heat_map",
    "increases_by",
    "quantiles",
    "rows_through_filters",
    "speeds_by",
    "stat",
]


def stat(title: str, text: str, query: str, unit: str = "short", bad_above: float | None = None) -> Panel:
    """One number."""
    return Panel(title, text, (Query(query),), unit, Kind.STAT, width=4, bad_above=bad_above)


def graph(
    title: str, text: str, *lines: Query, unit: str = "short", width: int = 8, bad_above: float | None = None
) -> Panel:
    """Lines over time."""
    return Panel(title, text, lines, unit, width=width, bad_above=bad_above)


def speeds_by(title: str, text: str, counter: Metric, *labels: str) -> Panel:
    """How fast ``counter`` grew, one area for each value of ``labels``, on top of each other."""
    query = Query(promql.per_second(counter, *labels), _legend(labels))
    return Panel(title, text, (query,), "ops", stacked=True)


def increases_by(title: str, text: str, counter: Metric, *labels: str, width: int = 8) -> Panel:
    """By how much ``counter`` grew from point to point, one area for each value of ``labels``, on top of each other."""
    query = Query(promql.increase(counter, *labels), _legend(labels))
    return Panel(title, text, (query,), width=width, stacked=True)


def bars_by(title: str, text: str, counter: Metric, *labels: str) -> Panel:
    """By how much ``counter`` grew in the time shown, one bar for each value of ``labels``."""
    return Panel(title, text, (Query(promql.total(counter, *labels), _legend(labels)),), kind=Kind.BARS)


def quantiles(histogram: Metric) -> tuple[Query, ...]:
    """Lines: the quantiles 50, 95 and 99 %."""
    return tuple(Query(promql.quantile(histogram, share), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))


def heat_map(title: str, text: str, histogram: Metric, unit: str) -> Panel:
    """Observations by bucket over time."""
    return Panel(title, text, (Query(promql.count(histogram)),), unit, Kind.HEATMAP)


def rows_through_filters(text: str, rows_in: Metric, rows_out: Metric, width: int = 8) -> Panel:
    """Rows that filters checked and passed, per second."""
    lines = (Query(promql.per_second(rows_in), "checked"), Query(promql.per_second(rows_out), "let through"))
    return Panel("Rows checked and let through", text, lines, "ops", width=width)


def _legend(labels: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)
