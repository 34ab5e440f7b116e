"""Results as a bar chart."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import QueryResult

_COLOURS = ("#9aa5b1", "#4c78a8", "#e4572e", "#54a24b", "#b279a2")


def plot_seconds(results: Sequence[QueryResult], contenders: Sequence[str], title: str, target: Path) -> list[Path]:
    """One group of bars per query, fastest runs; over the last contender's bar stands how many times faster it is.

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
        bars = axes.bar(
            [index + (position - (len(contenders) - 1) / 2) * width for index in range(len(results))],
            [timing.minimum if timing else 0.0 for timing in timings],
            width,
            label=name,
            color=_COLOURS[position % len(_COLOURS)],
        )
        if name == last and others:
            axes.bar_label(bars, [_label(result, others, last) for result in results], fontsize=8, padding=2)
    axes.set_xticks(range(len(results)), [result.query for result in results])
    axes.set_ylabel("wall seconds, fastest run")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    if others:
        axes.set_xlabel(f"over {last}: how many times faster it is than {' and '.join(others)}", fontsize=8)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(contenders), fontsize=8)
    files = [target.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in files:
        figure.savefig(file, dpi=150)
    pyplot.close(figure)
    return files


def _label(result: QueryResult, others: Sequence[str], last: str) -> str:
    ratios = [result.ratio(other, last) for other in others]
    return "\n".join(f"{ratio:.1f}x" for ratio in ratios if ratio is not None)
