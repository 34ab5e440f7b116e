"""The Prometheus operator's form of deploy/prometheus/rules."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

__all__ = ["prometheus_rule"]

_HEAD = "# Generated from deploy/prometheus/rules by `make docs`: change those.\n"


def prometheus_rule(files: Iterable[Path]) -> str:
    """A PrometheusRule with the groups of all ``files``, in their order."""
    safe = YAML(typ="safe")
    groups = [group for path in files for group in safe.load(path.read_text(encoding="utf-8"))["groups"]]
    labels = {"app.kubernetes.io/name": "aqe-plugin-exporter", "app.kubernetes.io/part-of": "aqe-plugin"}
    content: dict[str, Any] = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "aqe-plugin", "labels": labels},
        "spec": {"groups": groups},
    }
    text = StringIO()
    # Wide enough that no expression is broken in two; Kubernetes does not mind.
    writer = YAML()
    writer.width = 10_000
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump(content, text)
    return _HEAD + text.getvalue()
