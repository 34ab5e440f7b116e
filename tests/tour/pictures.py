"""The tour in pictures: what the terminal showed, and what Prometheus saw."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.tour.shell import Shown
from tests.tour.steps import ALERT, Seen

__all__ = ["draw"]

_WIDTH = 132


def draw(seen: Seen, folder: Path) -> list[Path]:
    """Writes the pictures into ``folder`` and gives back where they lie."""
    folder.mkdir(parents=True, exist_ok=True)
    terminal = folder / "tour-rollout.svg"
    terminal.write_text(_terminal([seen.shown["bad value"], seen.shown["roll back"]]))
    return [terminal, _plot(seen, folder / "tour-alert.svg")]


def _terminal(shown: Sequence[Shown]) -> str:
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for one in shown:
        console.print(Text(f"$ {one.command}", style="bold"))
        console.print(Text.from_ansi(one.output))
    # Without its fonts: a picture that strangers look at loads nothing from anywhere.
    return re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="aqe-plugin"), flags=re.DOTALL)


def _plot(seen: Seen, file: Path) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    # The same file for the same figures.
    mpl.rcParams["svg.hashsalt"] = "tour"
    from matplotlib import pyplot

    clock = seen.clock
    figure, axes = pyplot.subplots(figsize=(8, 3), layout="constrained")
    axes.plot([at - clock.canary_began for at, _ in seen.passing], [100 * share for _, share in seen.passing])
    axes.axhline(20, linestyle=":", color="grey")
    axes.text(0, 21, f"{ALERT} fires above 20 %", color="grey", fontsize=8)
    for at, what in ((clock.alert_fired, "alert fires"), (clock.rolled_back, "canary goes back")):
        axes.axvline(at - clock.canary_began, linestyle="--", color="tab:red")
        axes.text(at - clock.canary_began, 1, f"{what} ", color="tab:red", fontsize=8, rotation=90, ha="right")
    axes.set(
        xlabel="seconds since the canary got the bad threshold", ylabel="filters that\nlet every row through, %", ylim=0
    )
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file
