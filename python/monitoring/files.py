"""Every generated file with its content."""

from __future__ import annotations

from pathlib import Path

from monitoring.alert_table import with_alert_table
from monitoring.dashboards import DASHBOARDS
from monitoring.grafana import dashboard_json
from monitoring.metric_table import with_metric_table
from monitoring.prometheus_rule import prometheus_rule

__all__ = ["generated_files"]

_METRICS = Path("docs/reference/metrics.md")
_ALERTS = Path("docs/troubleshoot.md")
_DASHBOARDS = Path("deploy/grafana/dashboards")
_RULES = Path("deploy/prometheus/rules")
_PROMETHEUS_RULE = Path("deploy/kubernetes/overlays/prometheus-operator/prometheus-rule.yaml")


def generated_files(root: Path) -> dict[Path, str]:
    """Path → content of each file below ``root``, the project's folder, whatever it contains now."""
    files = {root / _DASHBOARDS / f"{dashboard.uid}.json": dashboard_json(dashboard) for dashboard in DASHBOARDS}
    metrics, alerts = root / _METRICS, root / _ALERTS
    rules = sorted((root / _RULES).glob("*.yml"))
    return {
        **files,
        root / _PROMETHEUS_RULE: prometheus_rule(rules),
        metrics: with_metric_table(metrics.read_text(encoding="utf-8")),
        alerts: with_alert_table(alerts.read_text(encoding="utf-8"), rules),
    }
