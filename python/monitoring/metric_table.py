"""The table of metrics in docs/reference/metrics.md."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric
from monitoring.marked import with_marked

__all__ = ["with_metric_table"]


def with_metric_table(page: str) -> str:
    """``page`` with the table between its two marks written anew.

    Raises:
        ValueError: the page lacks a mark.
    """
    rows = [f"| `{metric.name}` | {metric.type.value} | {_labels(metric)} | {metric.help} |" for metric in metrics.ALL]
    return with_marked(page, "metrics", ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|", *rows])


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels)
