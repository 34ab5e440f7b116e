"""Checks, each as soon as it is made."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from aqe_plugin.events.json_values import encode
from aqe_plugin.install.checks import Check
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.terminal import hanging, print_json, visible

_NAMES = 11
_STYLES = {"ok": "green", "failed": "bold red"}


def print_checks(checks: Iterable[Check], output: TableOrJson, console: Console) -> list[Check]:
    """Prints one line a check, or one JSON object (JSON Lines); returns those that failed."""
    failed = []
    for check in checks:
        failed += [] if check.ok else [check]
        if output == "json":
            print_json(encode(check), console)
        else:
            line = Text(f"{check.verdict:<8}", style=_STYLES.get(check.verdict, "yellow"))
            name = f"{check.name:<{_NAMES}} "
            finding = hanging(visible(check.finding), len(line) + len(name), console)
            console.print(line.append(f"{name}{finding}", style="default"), soft_wrap=True)
    return failed
