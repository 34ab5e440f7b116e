"""How often a rollout is wrong, and how soon it is right: ``python -m benchmarks.rollouts --help`` has the options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

from aqe_plugin.tuning.rollout.rings import Ring, RingLimits
from benchmarks.rollout_fleet import Effect, Ending, Fleet, rollout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARE = 0.3
_SLOWDOWNS = (0.8, 0.9, 0.95, 1.0, 1.02, 1.05, 1.08, 1.1, 1.15, 1.2, 1.3)
_FAILURES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_COLOURS = ("#4c78a8", "#e4572e")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A fleet, what a change does to it, and the share of its applications that try the change first."""

    name: str
    fleet: Fleet
    effect: Effect
    share: float | None = _SHARE


_USUAL = Fleet()
_HARSH = replace(_USUAL, kept_days=2, late=0.5)
_UNLIKE = replace(_USUAL, spread=0.3)
_DAYS = replace(_USUAL, daily=0.2)
_NIGHTLY = replace(_USUAL, starts_within_millis=5_000)
# Applications take about four minutes.
_RUNNING = replace(_NIGHTLY, looked_at_millis=220_000)
SCENARIOS = (
    Scenario("no difference", _USUAL, Effect()),
    Scenario("no difference; logs kept for 2 days, half of them late", _HARSH, Effect()),
    Scenario("no difference; 1 % of all queries fail", replace(_USUAL, fails=0.01), Effect()),
    Scenario("no difference; 20 % of all queries fail", replace(_USUAL, fails=0.2), Effect()),
    Scenario(
        "no difference; a failed query ends its application, 2 % fail",
        replace(_USUAL, fails=0.02, aborts=True),
        Effect(),
    ),
    Scenario("no difference; all start within 5 s of a night", _NIGHTLY, Effect()),
    Scenario("no difference; the same, looked at while they run", _RUNNING, Effect()),
    Scenario("no difference; days differ by 20 %", _DAYS, Effect()),
    Scenario("no difference; applications differ by 30 %", _UNLIKE, Effect()),
    Scenario("20 % faster", _USUAL, Effect(0.8)),
    Scenario("20 % faster; applications differ by 30 %", _UNLIKE, Effect(0.8)),
    Scenario("10 % slower", _USUAL, Effect(1.1)),
    Scenario("10 % slower; logs kept for 2 days, half of them late", _HARSH, Effect(1.1)),
    Scenario("10 % slower; all start within 5 s of a night", _NIGHTLY, Effect(1.1)),
    Scenario("10 % slower; the same, one query each", replace(_NIGHTLY, fingerprints=1), Effect(1.1)),
    Scenario("10 % slower; the same, looked at while they run", _RUNNING, Effect(1.1)),
    Scenario("10 % slower; days differ by 20 %", _DAYS, Effect(1.1)),
    Scenario("10 % slower; applications differ by 30 %", _UNLIKE, Effect(1.1)),
    Scenario("10 % slower; the same, within 5 s of a night", replace(_NIGHTLY, spread=0.3), Effect(1.1)),
    Scenario("30 % slower", _USUAL, Effect(1.3)),
    Scenario("1 % of the queries fail", _USUAL, Effect(fails=0.01)),
    Scenario("10 % of the queries fail", _USUAL, Effect(fails=0.1)),
    Scenario("every query fails", _USUAL, Effect(fails=1.0)),
    Scenario("2 % of the queries end their driver", _USUAL, Effect(kills=0.02)),
    Scenario("10 % of the queries end their driver", _USUAL, Effect(kills=0.1)),
    Scenario("no difference; no share", _USUAL, Effect(), share=None),
    Scenario("no difference; no share, days differ by 10 %", replace(_USUAL, daily=0.1), Effect(), share=None),
    Scenario("10 % slower; no share", _USUAL, Effect(1.1), share=None),
)


def main() -> None:
    """Prints a table of the scenarios, and draws how the end depends on what a change does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400, help="rollouts of each scenario (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=RingLimits().max_pairs, help="the limit of pairs in a ring")
    parser.add_argument("--processes", type=int, help="default: one for each core")
    parser.add_argument("--plot", type=Path, help="an SVG to write")
    asked = parser.parse_args()
    limits = RingLimits(max_pairs=asked.pairs)
    with ProcessPoolExecutor(asked.processes) as pool:

        def endings(fleet: Fleet, effect: Effect, share: float | None = _SHARE) -> list[Ending]:
            one = partial(rollout, fleet, effect, share, limits)
            return list(pool.map(one, range(asked.trials), chunksize=5))

        print(
            "| The change | settles | of these no control left | rolled back: worse | undecided | applications | days |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|")
        for scenario in SCENARIOS:
            print(_row(scenario.name, endings(scenario.fleet, scenario.effect, scenario.share)), flush=True)
        if asked.plot:
            slower = [(factor - 1, endings(_USUAL, Effect(factor))) for factor in _SLOWDOWNS]
            failing = [(share, endings(_USUAL, Effect(fails=share))) for share in _FAILURES]
            _plot(slower, failing, asked.plot)


def _row(name: str, endings: Sequence[Ending]) -> str:
    settled = _share(endings, lambda one: one.ring is Ring.SETTLED)
    unshown = _share(endings, lambda one: one.ring is Ring.SETTLED and one.why.startswith("no application"))
    worse = _share(endings, _is_alarm)
    undecided = _share(endings, lambda one: one.ring is not Ring.SETTLED and not _is_alarm(one))
    low, middle, high = quantiles([one.applications for one in endings], n=4)
    days = sorted(one.days for one in endings)[len(endings) // 2]
    return (
        f"| {name} | {settled:.1%} | {unshown:.1%} | {worse:.1%} | {undecided:.1%} "
        f"| {middle:.0f} ({low:.0f} to {high:.0f}) | {days} |"
    )


def _is_alarm(ending: Ending) -> bool:
    """Whether the change was called worse, not only given up."""
    return ending.ring is Ring.ROLLED_BACK and ending.why.startswith(("slower", "more queries"))


def _share(endings: Iterable[Ending], holds: Callable[[Ending], bool]) -> float:
    found = [holds(one) for one in endings]
    return sum(found) / len(found)


def _plot(
    slower: Sequence[tuple[float, Sequence[Ending]]], failing: Sequence[tuple[float, Sequence[Ending]]], target: Path
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.6), sharey=True, layout="constrained")
    _draw(left, slower)
    left.axvline(0.05, color="#9aa5b1", linestyle=":", linewidth=1)
    left.annotate("margin", (0.052, 1.02), fontsize=8, color="#667380", annotation_clip=False)
    left.set_xlabel("elapsed time with the change, beside that without it")
    left.xaxis.set_major_formatter(lambda value, _: f"{value:+.0%}")
    _draw(right, failing)
    right.set_xscale("symlog", linthresh=0.001)
    right.set_xlabel("share of the queries that the change makes fail")
    right.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    left.set_ylabel("share of the rollouts")
    left.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    right.legend(frameon=False, fontsize=8)
    figure.savefig(target, metadata={"Date": None})


def _draw(axes: Axes, found: Sequence[tuple[float, Sequence[Ending]]]) -> None:
    at = [one for one, _ in found]
    axes.plot(at, [_share(ends, _is_alarm) for _, ends in found], "o-", ms=3, color=_COLOURS[1], label="called worse")
    settled = [_share(ends, lambda one: one.ring is Ring.SETTLED) for _, ends in found]
    axes.plot(at, settled, "o-", ms=3, color=_COLOURS[0], label="settles")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


if __name__ == "__main__":
    main()
