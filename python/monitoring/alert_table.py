"""The table of alerts in docs/troubleshoot.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from monitoring.marked import with_marked

__all__ = ["with_alert_table"]


def with_alert_table(page: str, files: Iterable[Path]) -> str:
    """``page`` with the table of the alerts in ``files`` between its two marks written anew.

    Raises:
        ValueError: the page lacks a mark.
    """
    safe = YAML(typ="safe")
    groups = [group for path in files for group in safe.load(path.read_text(encoding="utf-8"))["groups"]]
    rows = [_row(rule) for group in groups for rule in group["rules"] if "alert" in rule]
    return with_marked(page, "alerts", ["| Alert | Severity | Fires if | For |", "|---|---|---|---|", *rows])


def _row(rule: dict[str, Any]) -> str:
    name, lasting = rule["alert"], rule.get("for", "at once")
    condition = " ".join(rule["expr"].split()).replace("|", "\\|")
    return f"| [{name}](#{name.lower()}) | {rule['labels']['severity']} | `{condition}` | {lasting} |"
