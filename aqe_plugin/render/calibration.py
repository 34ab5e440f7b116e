"""What a calibration found, as a table, JSON, lines of a conf, or a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.errors import ExtraMissingError, WriteError
from aqe_plugin.events.json_values import encode
from aqe_plugin.machine.extras import install_command
from aqe_plugin.render.terminal import drawn_table
from aqe_plugin.tuning.calibration.fit import Coefficient, Fit, Point
from aqe_plugin.tuning.groups import written

_COLOURS = ("#9aa5b1", "#e4572e")


def print_fit(found: Fit, least_identified: float, console: Console) -> None:
    """A row for each coefficient: old, measured, interval, and whether the samples tell enough about it."""
    table = drawn_table("key", "old", "measured", "95 % interval", "times", "known")
    for column in table.columns[1:]:
        column.justify = "right"
    proposed = set(found.proposed(least_identified))
    for one in found.coefficients:
        table.add_row(
            one.key.removeprefix(PREFIX),
            written(one.key, one.old),
            written(one.key, one.value),
            f"{written(one.key, one.low)} to {written(one.key, one.high)}",
            f"{one.value / one.old:.2f}" if one.old else "",
            f"{one.identified:.0%}",
            style="" if one in proposed else "dim",
        )
    console.print(table)


def fit_json(found: Fit, least_identified: float) -> dict[str, object]:
    """The fit, and the keys that are proposed."""
    return {**encode(found), "proposed": [one.key for one in found.proposed(least_identified)]}


def fit_conf_lines(proposed: Sequence[Coefficient]) -> list[str]:
    """Lines of a ``spark-defaults.conf``."""
    return [f"{one.key} {written(one.key, one.value)}" for one in proposed]


def require_plots() -> None:
    """Raises ``ExtraMissingError`` when Matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ExtraMissingError(f"--plot needs Matplotlib: {install_command('plots')}.") from error
    mpl.use("Agg")


def plot_fit(points: Sequence[Point], file: Path) -> None:
    """Measured against predicted milliseconds of every arm, with the old coefficients and with the fitted ones.

    Args:
        file: its suffix, such as ``.svg`` or ``.png``, says in which format.
    """
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.5, 6.5), layout="constrained")
    measured, errors = [one.measured for one in points], [one.error for one in points]
    for predicted, name, colour in (
        ([one.before for one in points], "present coefficients", _COLOURS[0]),
        ([one.after for one in points], "fitted coefficients", _COLOURS[1]),
    ):
        axes.errorbar(predicted, measured, yerr=errors, fmt="o", markersize=4, label=name, color=colour)
    shown = [*measured, *(one.after for one in points)]
    axes.axline((0, 0), slope=1, color="black", linewidth=0.8)
    axes.set_xlim(0, 1.1 * max([*shown, *(one.before for one in points)]))
    axes.set_ylim(0, 1.1 * max(shown))
    axes.set_xlabel("predicted, ms (with what all ways to run the query share as measured)")
    axes.set_ylabel("measured, ms (median, standard error)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:
        raise WriteError(f"{file}: the plot cannot be written: {error}.") from error
    finally:
        pyplot.close(figure)
