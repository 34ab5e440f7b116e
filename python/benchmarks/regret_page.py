"""Regret as a page in Markdown."""

from collections.abc import Sequence

from benchmarks.hindsight import TOLERATED, JoinRegret, join_regrets, summary
from benchmarks.measured import Measured

_WORST = 10
_HEAD = (
    "| query | join | chosen, why | best in hindsight | regret | predicted, ms | measured, ms "
    "| passed: estimate | real |\n"
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
)


def regret_page(measured: Sequence[Measured], title: str) -> str:
    """Wrong rows, the summary, the worst of many joins, every join, the queries, and what failed."""
    regrets = sorted((one for query in measured for one in join_regrets(query)), key=lambda one: -one.regret)
    parts = [
        f"# {title}\n",
        *_wrong(measured),
        _summary(measured),
    ]
    if len(regrets) > _WORST:
        parts.append(f"## The worst {_WORST}\n\n{_table(regrets[:_WORST])}")
    if regrets:
        parts.append(f"## Every join, the worst first\n\n{_table(regrets)}")
    if any(query.base for query in measured):
        parts.append(f"## Queries\n\n{_queries(measured)}")
    if failures := [failure for query in measured for failure in query.failed]:
        parts.append("## What failed\n\n" + "".join(f"- {failure}\n" for failure in failures))
    return "\n".join(parts)


def _wrong(measured: Sequence[Measured]) -> list[str]:
    wrong = [one for query in measured for one in query.wrong_rows]
    if not wrong:
        return []
    says = "These runs have other rows than Spark without the plugin, and are no option below."
    return [f"## WRONG ROWS: {len(wrong)}\n\n{says}\n\n" + "".join(f"- {_indented(one)}\n" for one in wrong)]


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _summary(measured: Sequence[Measured]) -> str:
    whole = summary(measured)
    if not whole.with_options:
        return f"{len(measured)} queries, {whole.joins} joins: none has another option that was measured.\n"
    share = whole.right / whole.with_options
    lost_share = f" ({whole.lost_seconds / whole.base_seconds:.1%})" if whole.base_seconds else ""
    right = f"{whole.right} of {whole.with_options} ({share:.0%}); surely worse: {whole.surely_wrong}"
    lines = [
        f"queries: {len(measured)}; joins: {whole.joins}; joins with another measured option: {whole.with_options}",
        f"choices that are the best option or within {TOLERATED:.0%} of it, cross-fitted: {right}",
        f"lost, summed over joins, cross-fitted: {whole.lost_seconds:.1f} s of {whole.base_seconds:.1f} s{lost_share}",
        f"in the same rounds: plugin {whole.total_seconds:.1f} s, Spark without it {whole.off_seconds:.1f} s",
        f"by itself, the plugin chose otherwise: {_share(whole.own_runs_chosen_otherwise, whole.own_runs)} runs",
        f"dropped, the choices forced were not taken: {_share(whole.rounds_dropped, whole.rounds)} rounds",
        f"dropped, the option was not taken: {_share(whole.forced_runs_dropped, whole.forced_runs)} forced runs",
    ]
    if whole.noise is not None:
        lines.append(f"noise, the same choices forced twice a round: {whole.noise:.1%} at the median")
    if whole.own_ratio is not None:
        lines.append(f"the plugin by itself beside the same choices forced: {whole.own_ratio:.3f} at the median")
    if whole.otherwise_ratio is not None:
        lines.append(
            f"where it chose otherwise, beside the learned choices forced: {whole.otherwise_ratio:.3f} on average"
        )
    if whole.countable:
        lines.append(
            "finished build sides, a part of their table and with a scan to filter, whose distinct keys were measured: "
            + _share(whole.counted, whole.countable)
        )
    if whole.pass_rates:
        lines.append(f"pass rates within a factor of 2: {whole.pass_rates_close} of {whole.pass_rates}")
    return "".join(f"- {line}\n" for line in lines)


def _share(some: int, whole: int) -> str:
    return f"{some} of {whole}" + (f" ({some / whole:.0%})" if whole else "")


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
    medians = measured.beside_spark
    times = ("-", "-", "-") if medians is None else _times(*medians)
    cells = (measured.query, *times, str(len(measured.joins)), str(len(measured.base)))
    return f"| {' | '.join(cells)} |\n"


def _times(plugin: float, off: float) -> tuple[str, str, str]:
    return f"{plugin:.2f}", f"{off:.2f}", f"{plugin / off:.2f}" if off else "-"
