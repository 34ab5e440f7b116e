"""The dashboards: as Grafana imports them, and every query of them as a real Prometheus answers it."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.events.describe import reason_meanings
from monitoring.dashboards import DASHBOARDS
from monitoring.files import generated_files
from monitoring.grafana import Dashboard, Panel
from tests.deploy.prometheus_server import DEPLOY, PrometheusServer

ROOT = DEPLOY.parent
FOLDER = DEPLOY / "grafana" / "dashboards"
# What Grafana fills in; the application is that of the recorded log.
VARIABLES = {"$__rate_interval": "10m", "$__range": "1h", "$job": "aqe-plugin", "$application": "aqe-plugin bench"}
UNITS = {"bytes", "ops", "percentunit", "s", "short"}
PANELS = [
    pytest.param(panel, id=f"{dashboard.uid}: {panel.title}") for dashboard in DASHBOARDS for panel in dashboard.panels
]


def imported(dashboard: Dashboard) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{dashboard.uid}.json").read_text())
    return content


@pytest.mark.parametrize("path", generated_files(ROOT), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_generated_is_up_to_date(path: Path) -> None:
    assert path.read_text() == generated_files(ROOT)[path], "run `make docs`"


def test_the_folder_has_no_other_dashboard() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {dashboard.uid for dashboard in DASHBOARDS}


@pytest.mark.parametrize("panel", PANELS)
def test_prometheus_answers_each_query_of_a_panel_with_numbers(watched: PrometheusServer, panel: Panel) -> None:
    for query in panel.queries:
        promql = query.promql
        for name, value in VARIABLES.items():
            promql = promql.replace(name, value)
        assert "$" not in promql
        numbers = [float(sample["value"][1]) for sample in watched.query(promql)]
        assert numbers, promql
        assert all(math.isfinite(number) for number in numbers), promql


@pytest.mark.parametrize("panel", PANELS)
def test_a_legend_names_labels_that_its_query_keeps(watched: PrometheusServer, panel: Panel) -> None:
    for query in panel.queries:
        kept = re.search(r"sum by \(([^)]*)\)", query.promql)
        labels = set(re.findall(r"\{\{(\w+)\}\}", query.legend))
        assert labels <= set((kept[1] if kept else "").replace(" ", "").split(","))


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_has_a_unit_that_grafana_knows_and_a_sentence(panel: Panel) -> None:
    assert panel.unit in UNITS
    assert panel.text.endswith(".")
    assert len(panel.title) <= 45
    codes = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b|\bTIE\b", panel.text))
    assert codes <= set(reason_meanings())


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: str(dashboard.uid))
def test_a_dashboard_can_be_imported(dashboard: Dashboard) -> None:
    content = imported(dashboard)
    assert re.fullmatch(r"[a-z-]{1,40}", content["uid"])
    panels = content["panels"]
    numbers = [panel["id"] for panel in panels]
    assert len(set(numbers)) == len(numbers)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        letters = [target["refId"] for target in panel.get("targets", [])]
        assert len(set(letters)) == len(letters)
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel.get("targets", []))
    assert not any(overlap(one["gridPos"], other["gridPos"]) for one, other in combinations(panels, 2))
    used = set(re.findall(r"\$\{?([a-z]+)\b", json.dumps(content)))
    assert used == {variable["name"] for variable in content["templating"]["list"]}


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not beside and not below


def test_the_variables_of_a_dashboard_use_existing_labels(watched: PrometheusServer) -> None:
    for dashboard in DASHBOARDS:
        for variable in imported(dashboard)["templating"]["list"][1:]:
            asked = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
            assert asked is not None
            metric, label = asked[1].replace("$job", VARIABLES["$job"]), asked[2]
            assert VARIABLES[f"${label}"] in watched.api(f"label/{label}/values", **{"match[]": metric})
