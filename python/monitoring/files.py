"""Every generated file with its content."""

from __future__ import annotations

from pathlib import Path

from monitoring.dashboards import DASHBOARDS
from monitoring.grafana import dashboard_json
from monitoring.metric_table import with_metric_table
from monitoring.prometheus_rule import prometheus_rule

__all__ = ["generated_files"]

_PAGE = Path("docs/operations/metrics.md")
_DASHBOARDS = Path("deploy/grafana/dashboards")
_RULES = Path("deploy/prometheus/rules")
_PROMETHEUS_RULE = Path("deploy/kubernetes/overlays/prometheus-operator/prometheus-rule.yaml")


def generated_files(root: Path) -> dict[Path, str]:
    """Path → content of each file below ``root``, the project's folder, whatever it contains now."""
    files = {root / _DASHBOARDS / f"{dashboard.uid}.json": dashboard_json(dashboard) for dashboard in DASHBOARDS}
    page = root / _PAGE
    return {
        **files,
        root / _PROMETHEUS_RULE: prometheus_rule(sorted((root / _RULES).glob("*.yml"))),
        page: with_metric_table(page.read_text(encoding="utf-8")),
    }
