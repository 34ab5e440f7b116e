"""``python -m monitoring.worth_page PROMETHEUS FILE``: the panels of *Is it worth it*, drawn without Grafana."""

from __future__ import annotations

import argparse
import json
import math
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitoring.dashboards.worth import IS_IT_WORTH_IT
from monitoring.grafana import Panel, Query

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Line", "Span", "draw", "lines_of"]

_COLUMNS = 24
_POINTS = 240
_TIMEOUT_SECONDS = 30
_UNITS = {"s": "seconds", "short": ""}
_BAD = "#e4572e"


@dataclass(frozen=True, slots=True)
class Span:
    """The time shown, in seconds since 1970, and how often Prometheus scrapes."""

    begin: float
    end: float
    scrape_seconds: float

    @property
    def step_seconds(self) -> float:
        return max(self.scrape_seconds, (self.end - self.begin) / _POINTS)

    @property
    def variables(self) -> dict[str, str]:
        """What Grafana would fill in."""
        rate = max(self.step_seconds + self.scrape_seconds, 4 * self.scrape_seconds)
        return {"$__rate_interval": f"{math.ceil(rate)}s", "$__range": f"{math.ceil(self.end - self.begin)}s"}


@dataclass(frozen=True, slots=True)
class Line:
    """Points of (seconds since 1970, value)."""

    legend: str
    points: tuple[tuple[float, float], ...]


def lines_of(panel: Panel, prometheus: str, job: str, span: Span) -> tuple[Line, ...]:
    """What the Prometheus at the address ``prometheus`` answers to the queries of ``panel``, which may be nothing.

    Raises:
        OSError: it does not answer, or refuses a query.
        ValueError: what answers is no Prometheus.
    """
    return tuple(line for query in panel.queries for line in _asked(query, prometheus, {"$job": job}, span))


def draw(panels: Sequence[tuple[Panel, Sequence[Line]]], title: str, file: Path) -> None:
    """Writes the picture, in the format that the file's name ends with; a panel whose last value is bad is red."""
    import matplotlib as mpl

    mpl.use("Agg")
    # The same file for the same figures.
    mpl.rcParams.update({"svg.hashsalt": "worth", "svg.fonttype": "none", "date.converter": "concise"})
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(12, 6), layout="constrained")
    figure.suptitle(title, fontsize=10)
    # A grid of 24 columns leaves no room between them.
    unit = math.gcd(_COLUMNS, *(panel.width for panel, _ in panels))
    grid = figure.add_gridspec(math.ceil(sum(panel.width for panel, _ in panels) / _COLUMNS), _COLUMNS // unit)
    taken = 0
    for panel, lines in panels:
        row, column = divmod(taken, _COLUMNS)
        place = grid[row, column // unit : (column + panel.width) // unit]
        _draw(figure.add_subplot(place), panel, lines)
        taken += panel.width
    figure.savefig(file, **({"metadata": {"Date": None}} if file.suffix == ".svg" else {"dpi": 120}))
    pyplot.close(figure)


def _asked(query: Query, prometheus: str, variables: Mapping[str, str], span: Span) -> list[Line]:
    promql = query.promql
    for name, value in {**span.variables, **variables}.items():
        promql = promql.replace(name, value)
    asked = {"query": promql, "start": span.begin, "end": span.end, "step": span.step_seconds}
    url = f"{prometheus.rstrip('/')}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
        try:
            series: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"{prometheus} is no Prometheus") from error
    return [Line(query.legend, tuple((float(at), float(value)) for at, value in one["values"])) for one in series]


def _draw(axes: Axes, panel: Panel, lines: Sequence[Line]) -> None:
    import numpy as np
    from matplotlib.ticker import PercentFormatter

    last = [value for line in lines for _, value in line.points[-1:]]
    is_bad = panel.bad_above is not None and any(value > panel.bad_above for value in last)
    axes.set_title(panel.title, fontsize=10, loc="left", color=_BAD if is_bad else "black")
    for line in lines:
        times = np.array([int(at) for at, _ in line.points], "datetime64[s]")
        axes.plot(times, [value for _, value in line.points], label=line.legend, linewidth=1.2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if not lines:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color="grey")
        return
    axes.xaxis.get_offset_text().set_fontsize(8)
    axes.set_ylabel(_UNITS.get(panel.unit, ""), fontsize=8)
    if panel.unit == "percentunit":
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_ylim(0, 1)
    elif not panel.signed:
        axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
    axes.legend(frameon=False, fontsize=8, loc="best")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m monitoring.worth_page", description=__doc__)
    parser.add_argument("prometheus", help="the address of a Prometheus that scrapes aqe-plugin run")
    parser.add_argument("file", type=Path, help="the picture: .svg, .png or .pdf")
    parser.add_argument("--hours", type=float, default=6.0, help="how far to look back (default: 6)")
    parser.add_argument("--job", default="aqe-plugin", help="the name of the scrape job (default: aqe-plugin)")
    parser.add_argument("--scrape-seconds", type=float, default=30.0, help="its scrape interval (default: 30)")
    given = parser.parse_args(words)
    now = time.time()
    span = Span(now - given.hours * 3600, now, given.scrape_seconds)
    try:
        panels = [(panel, lines_of(panel, given.prometheus, given.job, span)) for panel in IS_IT_WORTH_IT.panels]
    except (OSError, ValueError) as error:
        parser.exit(1, f"{given.prometheus}: {error}\n")
    counted = span.variables["$__rate_interval"].replace("s", " s")
    draw(panels, f"{IS_IT_WORTH_IT.title}: job {given.job}, each point counts {counted}", given.file)


if __name__ == "__main__":
    main()
