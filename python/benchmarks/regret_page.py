"""Regret as a page in Markdown."""

import statistics
from collections.abc import Sequence

from benchmarks.arms import OFF
from benchmarks.hindsight import TOLERATED, JoinRegret, Measured, join_regrets, summary

_WORST = 10
_HEAD = (
    "| query | join | chosen, why | best in hindsight | regret | predicted, ms | measured, ms "
    "| passed: estimate | real |\n"
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
)


def regret_page(measured: Sequence[Measured], title: str) -> str:
    """The summary, the worst joins, every join, and what went wrong."""
    regrets = sorted((one for query in measured for one in join_regrets(query)), key=lambda one: -one.regret)
    parts = [
        f"# {title}\n",
        _summary(measured),
        f"## The worst {min(_WORST, len(regrets))}\n\n{_table(regrets[:_WORST])}",
        f"## Every join\n\n{_table(regrets)}",
        f"## Queries\n\n{_queries(measured)}",
    ]
    if problems := [problem for query in measured for problem in query.problems]:
        parts.append("## What went wrong\n\n" + "".join(f"- {problem}\n" for problem in problems))
    return "\n".join(parts)


def _summary(measured: Sequence[Measured]) -> str:
    whole = summary(measured)
    if not whole.with_options:
        return f"{len(measured)} queries, {whole.joins} joins: none has another option that was measured.\n"
    share = whole.right / whole.with_options
    lost_share = f" ({whole.lost_seconds / whole.total_seconds:.1%})" if whole.total_seconds else ""
    right = f"{whole.right} of {whole.with_options} ({share:.0%}); surely worse: {whole.surely_wrong}"
    lines = [
        f"queries: {len(measured)}; joins: {whole.joins}; joins with another measured option: {whole.with_options}",
        f"choices that are the best option or within {TOLERATED:.0%} of it: {right}",
        f"lost, summed over joins, cross-fitted: {whole.lost_seconds:.1f} s of {whole.total_seconds:.1f} s{lost_share}",
        f"Spark without the plugin: {whole.off_seconds:.1f} s",
    ]
    if whole.noise is not None:
        lines.append(f"noise, the same choices forced: {whole.noise:.1%} at the median")
    if whole.pass_rates:
        lines.append(f"pass rates within a factor of 2: {whole.pass_rates_close} of {whole.pass_rates}")
    return "".join(f"- {line}\n" for line in lines)


def _table(regrets: Sequence[JoinRegret]) -> str:
    return _HEAD + "".join(f"| {' | '.join(_cells(one))} |\n" for one in regrets)


def _cells(one: JoinRegret) -> tuple[str, ...]:
    real = None if one.passed is None else one.passed.rate
    return (
        one.query,
        f"`{one.join.join_id}`",
        f"{one.join.chosen}, {' '.join(dict.fromkeys(one.join.why))}",
        "the choice" if one.best == one.join.chosen else one.best,
        f"{one.regret:.1%} ({one.surely:.1%} to {one.at_most:.1%})",
        _signed(one.predicted_millis),
        _signed(one.measured_millis),
        f"{one.join.pass_rate:.3g} ({one.join.pass_rate_source})",
        "-" if real is None else f"{real:.3g}",
    )


def _signed(millis: float | None) -> str:
    return "-" if millis is None else f"{millis:+,.0f}"


def _queries(measured: Sequence[Measured]) -> str:
    head = (
        "| query | plugin, s | off, s | plugin / off | joins | rounds |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    )
    return head + "".join(_query(one) for one in measured if one.base)


def _query(measured: Measured) -> str:
    plugin = statistics.median(measured.base.values())
    ratios = measured.ratios(OFF.name)
    off = measured.seconds.get(OFF.name)
    cells = (
        measured.query,
        f"{plugin:.2f}",
        "-" if not off else f"{statistics.median(off.values()):.2f}",
        "-" if not ratios else f"{1 / statistics.median(ratios):.2f}",
        str(len(measured.joins)),
        str(len(measured.base)),
    )
    return f"| {' | '.join(cells)} |\n"
