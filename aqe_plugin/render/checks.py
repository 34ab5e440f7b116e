"""Checks, each as soon as it is made."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from aqe_plugin.install.doctor import Check, Verdict
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.terminal import shown

__all__ = ["print_checks"]

_STYLES = {Verdict.OK: "green", Verdict.FAILED: "bold red", Verdict.NOT_RUN: "yellow"}


def print_checks(checks: Iterable[Check], output: TableOrJson, console: Console) -> bool:
    """Prints one line a check, or one JSON object (JSON Lines); gives back whether none failed."""
    fine = True
    for check in checks:
        fine = fine and check.verdict is not Verdict.FAILED
        if output is TableOrJson.JSON:
            told = {"name": check.name, "verdict": check.verdict.value, "finding": check.finding}
            console.file.write(json.dumps(told) + "\n")
            console.file.flush()
        else:
            line = Text(f"{check.verdict.value:<8}", style=_STYLES[check.verdict])
            console.print(line.append(f"{check.name:<9} {shown(check.finding)}", style="default"))
    return fine
