"""Results as charts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import QueryResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATIO_TICKS = (0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_COLOURS = ("#9aa5b1", "#4c78a8", "#e4572e", "#54a24b", "#b279a2")


def plot_seconds(results: Sequence[QueryResult], contenders: Sequence[str], title: str, target: Path) -> list[Path]:
    """One group of bars per query: medians, each with a line from the fastest to the slowest run. Over the last
    contender's bar stands how many times faster it is.

    Args:
        target: path without suffix.

    Returns:
        The files written: a PNG and an SVG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    *others, last = contenders
    width = 0.8 / len(contenders)
    figure, axes = pyplot.subplots(figsize=(1.6 * len(results) + 2.5, 4.5), layout="constrained")
    for position, name in enumerate(contenders):
        timings = [result.timing(name) for result in results]
        medians = [timing.median if timing else 0.0 for timing in timings]
        seconds = [timing.seconds if timing else (0.0,) for timing in timings]
        bars = axes.bar(
            [index + (position - (len(contenders) - 1) / 2) * width for index in range(len(results))],
            medians,
            width,
            yerr=[
                [median - min(runs) for median, runs in zip(medians, seconds, strict=True)],
                [max(runs) - median for median, runs in zip(medians, seconds, strict=True)],
            ],
            error_kw={"elinewidth": 0.8},
            label=name,
            color=_COLOURS[position % len(_COLOURS)],
        )
        if name == last and others:
            axes.bar_label(bars, [_label(result, others, last) for result in results], fontsize=8, padding=2)
    axes.set_xticks(range(len(results)), [result.query for result in results])
    axes.set_ylabel("wall seconds, median")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    if others:
        axes.set_xlabel(f"over {last}: how many times faster it is than {' and '.join(others)}", fontsize=8)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(contenders), fontsize=8)
    return _saved(figure, target)


def plot_ratios(results: Sequence[QueryResult], slow: str, fast: str, title: str, target: Path) -> list[Path]:
    """One bar per query, most won on the left: how many times faster `fast` is than `slow`, on a logarithmic scale.

    Queries that one of the two did not finish are left out.

    Args:
        target: path without suffix.

    Returns:
        The files written: a PNG and an SVG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    found = ((result.query, result.ratio(slow, fast)) for result in results)
    ranked = sorted(((ratio, query) for query, ratio in found if ratio is not None), reverse=True)
    figure, axes = pyplot.subplots(figsize=(max(6.0, 0.16 * len(ranked) + 1.5), 4.5), layout="constrained")
    axes.bar(
        range(len(ranked)),
        [ratio - 1.0 for ratio, _ in ranked],
        bottom=1.0,
        color=[_COLOURS[1] if ratio >= 1.0 else _COLOURS[2] for ratio, _ in ranked],
    )
    axes.set_yscale("log")
    highest = max((ratio for ratio, _ in ranked), default=1.0)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in _RATIO_TICKS if tick <= highest * 1.5]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}x"))
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(ranked)), [query for _, query in ranked], rotation=90, fontsize=6)
    axes.set_xlim(-0.7, len(ranked) - 0.3)
    axes.set_ylabel(f"times faster than {slow}")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return _saved(figure, target)


def _saved(figure: "Figure", target: Path) -> list[Path]:
    from matplotlib import pyplot

    # Not `with_suffix`: it would take ".05-seconds" of "tpcds-sf0.05-seconds" for one.
    files = [target.with_name(target.name + suffix) for suffix in (".png", ".svg")]
    for file in files:
        figure.savefig(file, dpi=150)
    pyplot.close(figure)
    return files


def _label(result: QueryResult, others: Sequence[str], last: str) -> str:
    ratios = [result.ratio(other, last) for other in others]
    return "\n".join(f"{ratio:.1f}x" for ratio in ratios if ratio is not None)
