"""The table of metrics in docs/operations/metrics.md."""

from __future__ import annotations

from aqe_plugin.exporter import metrics
from aqe_plugin.exporter.metrics import Metric

__all__ = ["with_metric_table"]

_BEGIN = "<!-- metrics: begin -->\n"
_END = "<!-- metrics: end -->"


def with_metric_table(page: str) -> str:
    """``page`` with the table between its two marks written anew.

    Raises:
        ValueError: the page lacks a mark.
    """
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    return f"{before}{_BEGIN}{_table()}{_END}{after}"


def _table() -> str:
    rows = [f"| `{metric.name}` | {metric.type.value} | {_labels(metric)} | {metric.help} |" for metric in metrics.ALL]
    return "\n".join(["| Metric | Type | Labels | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels)
