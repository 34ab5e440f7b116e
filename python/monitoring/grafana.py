"""A dashboard as a value, and as the JSON that Grafana imports (its schema version 39, of Grafana 11)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Dashboard", "Kind", "Panel", "Query", "Row", "dashboard_json"]

_COLUMNS = 24
_SCHEMA_VERSION = 39
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


class Kind(str, Enum):
    """Grafana's name of a kind of panel."""

    GRAPH = "timeseries"
    STAT = "stat"
    BARS = "bargauge"
    HEATMAP = "heatmap"


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL and the legend of its lines; ``{{label}}`` stands for a label's value."""

    promql: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        text: what it shows and what a reader should do with it; Grafana shows it at the panel's corner.
        unit: Grafana's name of the unit (``s``, ``bytes``, ``short``, ``percentunit``, ``ops``).
        width: in columns of 24.
        stacked: whether lines add up to a whole.
        bad_above: values above it are red.
        signed: values may be below 0.
    """

    title: str
    text: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: Kind = Kind.GRAPH
    width: int = 8
    stacked: bool = False
    bad_above: float | None = None
    signed: bool = False

    @property
    def height(self) -> int:
        return 4 if self.kind is Kind.STAT else 8


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading, from left to right, over as many lines as they need."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Rows from top to bottom; ``application_metric`` provides the list of applications."""

    uid: str
    title: str
    text: str
    rows: tuple[Row, ...]
    job_metric: str
    application_metric: str | None = None

    @property
    def panels(self) -> Iterator[Panel]:
        return (panel for row in self.rows for panel in row.panels)


def dashboard_json(dashboard: Dashboard) -> str:
    """The file's text, indented by two blanks and with a final newline for readable diffs."""
    return json.dumps(_dashboard(dashboard), indent=2, ensure_ascii=False) + "\n"


def _dashboard(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": ["aqe-plugin", "spark"],
        "schemaVersion": _SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "links": [
            {
                "title": "aqe-plugin",
                "type": "dashboards",
                "tags": ["aqe-plugin"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {"list": list(_variables(dashboard))},
        "panels": list(_placed(dashboard)),
    }


def _variables(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    yield _choice("job", "Job", f"label_values({dashboard.job_metric}, job)")
    if dashboard.application_metric is not None:
        metric = f'{dashboard.application_metric}{{job="$job"}}'
        yield _choice("application", "Application", f"label_values({metric}, application)")


def _choice(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": query, "refId": "Variable"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
    }


def _placed(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    number, y = 1, 0
    for row in dashboard.rows:
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1},
            "panels": [],
        }
        number, y, x, tallest = number + 1, y + 1, 0, 0
        for panel in row.panels:
            if x + panel.width > _COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            yield _panel(panel, number, x, y)
            number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
        y += tallest


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.text,
        "datasource": _DATASOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [_target(panel, query, chr(ord("A") + index)) for index, query in enumerate(panel.queries)],
    }


def _field(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.bad_above is not None:
        steps.append({"color": "red", "value": panel.bad_above})
    lowest = {} if panel.signed else {"min": 0}
    field: dict[str, Any] = {"unit": panel.unit, **lowest, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind is Kind.GRAPH:
        field["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if panel.stacked else 10,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "off" if panel.bad_above is None else "line"},
        }
    return field


_VALUE_NOW = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[Kind, dict[str, Any]] = {
    Kind.GRAPH: {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["mean", "max"], "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    Kind.STAT: {"reduceOptions": _VALUE_NOW, "colorMode": "value", "graphMode": "none", "textMode": "auto"},
    Kind.BARS: {"reduceOptions": _VALUE_NOW, "orientation": "horizontal", "displayMode": "basic"},
    Kind.HEATMAP: {
        "calculate": False,
        "yAxis": {"axisPlacement": "left"},
        "color": {"mode": "scheme", "scheme": "Blues"},
    },
}


def _target(panel: Panel, query: Query, letter: str) -> dict[str, Any]:
    # A stat or a bar is one number, and asks for one; a graph is a line of numbers.
    instant = panel.kind in {Kind.STAT, Kind.BARS}
    return {
        "refId": letter,
        "datasource": _DATASOURCE,
        "expr": query.promql,
        "legendFormat": "{{le}}" if panel.kind is Kind.HEATMAP else query.legend or "__auto",
        "format": "heatmap" if panel.kind is Kind.HEATMAP else "time_series",
        "instant": instant,
        "range": not instant,
        "exemplar": panel.kind is Kind.GRAPH and "_bucket{" in query.promql,
    }
