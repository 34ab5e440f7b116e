"""A summary as one HTML page that loads nothing and runs nothing; every text from a log is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from aqe_plugin.events.describe import quantity
from aqe_plugin.events.model import TrialArm
from aqe_plugin.pipeline.charts import bars, calibration
from aqe_plugin.pipeline.summary import Row, Summary
from aqe_plugin.tuning.history import QueryHistory, in_arm
from aqe_plugin.tuning.recommendation import Finding, Recommendation

__all__ = ["page"]

# Characters that no HTML may hold, and those that turn the direction of the text around them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_LONGEST = 2000
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2733}"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #e3e7ec}"
    "td.n,th.n{text-align:right;white-space:nowrap}td.t{word-break:break-word;white-space:pre-line}"
    "svg{width:100%;height:auto;font-size:11px}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}"
    "dd{margin:0}.none{color:#66717e}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(summary: Summary, findings: Sequence[Finding], source: str, history: QueryHistory) -> str:
    """The whole page.

    Args:
        findings: of ``tuning.recommend``; none when there is no history to learn from.
        source: where the tables are, for the heading.
        history: what to learn from, of which the sides of a trial are shown.
    """
    sections = (
        _section("In all", _totals(summary.totals)),
        _section("Saved and lost by day", _days(summary.days)),
        _section(
            "Where it saved: query shapes with and without the plugin's choices",
            _cohorts(summary.cohorts, "took less time"),
        ),
        _section("Where it lost", _cohorts(summary.lost, "took longer")),
        _section("Joins with most regret", _joins(summary.joins)),
        _section("How well pass rates are predicted", _pass_rates(summary.pass_rates)),
        _section("Recommended changes", _findings(findings)),
        _section("Tried by a share of the applications", _tried(history)),
        _section("Kept aside", _rejected(summary.rejected)),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>aqe-plugin: decisions</title><style>{_STYLE}</style></head><body>"
        f"<h1>What aqe-plugin decided, and what came of it</h1><p>{_shown(source)}</p>"
        f"{''.join(sections)}</body></html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{_shown(title)}</h2>{content}</section>"


def _totals(totals: Row) -> str:
    removed = totals["rowsIn"] - totals["rowsOut"]
    facts = (
        ("days", f"{totals['since']} to {totals['until']}"),
        ("queries", f"{totals['queries']:,} of {totals['cohorts']:,} shapes; {totals['failed']:,} failed"),
        ("their time", _millis(totals["totalMillis"])),
        (
            "joins decided",
            f"{totals['joins']:,}, {totals['filtered']:,} with a filter, {totals['waited']:,} waited for",
        ),
        (
            "rows checked",
            f"{quantity(totals['rowsIn'], 'rows')}, {quantity(removed, 'rows')} of them removed in the scan",
        ),
        ("saved, by the plugin's prices", _millis(totals["savedMillis"])),
        ("regret, by the plugin's prices", _millis(totals["regretMillis"])),
        ("time in the plugin's rules", _millis(totals["ruleMillis"])),
        ("filters planned and not applied", f"{totals['planned'] - totals['applied']:,.0f}"),
        ("faults of the plugin", f"{totals['errors']:,.0f}"),
    )
    rows = "".join(f"<dt>{_shown(name)}</dt><dd>{_shown(value)}</dd>" for name, value in facts)
    meaning = (
        "Saved is the price of what Spark would have done less that of what ran; regret is the price of what ran less "
        "that of the cheapest option. Both use the pass rates that came out."
    )
    return f"<dl>{rows}</dl><p>{_shown(meaning)}</p>"


def _days(days: Sequence[Row]) -> str:
    if not days:
        return _none("No query ran in mode apply.")
    labels = [str(day["date"]) for day in days]

    def seconds(name: str) -> list[float]:
        return [_finite(day[name]) / 1000 for day in days]

    return bars(
        "seconds saved and regretted, by day",
        labels,
        [("saved", seconds("savedMillis")), ("regret", seconds("regretMillis")), ("waited", seconds("waitMillis"))],
        "seconds",
    )


def _cohorts(cohorts: Sequence[Row], did: str) -> str:
    if not cohorts:
        return _none(f"Of the query shapes with 5 runs and more both in mode apply and in another, none {did}.")
    rows = [
        (
            _text(row["shape"]),
            _number(f"{row['applied']:,}"),
            _number(_millis(row["observedMillis"])),
            _number(_millis(row["appliedMillis"])),
            _number(_millis(row["savedMillis"])),
        )
        for row in cohorts
    ]
    return _table(("query shape", "runs", "without", "with", "saved in all"), rows)


def _joins(joins: Sequence[Row]) -> str:
    if not joins:
        return _none("No join has any regret.")
    rows = [
        (
            _text(row["join"]),
            _number(str(row["mode"])),
            _number(f"{row['joins']:,}"),
            _number(_millis(row["regretMillis"])),
            _number(_rate(row["predictedPass"])),
            _number(_rate(row["measuredPass"])),
        )
        for row in joins
    ]
    return _table(("join", "mode", "decided", "regret", "pass rate predicted", "measured"), rows)


def _pass_rates(rates: Sequence[Row]) -> str:
    if not rates:
        return _none("No filter has measured a pass rate.")
    points = [(_finite(row["predictedPass"]), _finite(row["measuredPass"]), int(row["joins"])) for row in rates]
    joins = sum(count for _, _, count in points)
    error = sum(_finite(row["absoluteError"]) * row["joins"] for row in rates) / joins
    told = f"Mean absolute error {quantity(error, 'ratio')} over {joins:,} joins; on the line both are equal."
    return calibration("predicted against measured pass rate", points) + f"<p>{_shown(told)}</p>"


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return _none("No finished query to learn from.")
    made = [finding.recommendation for finding in findings if finding.recommendation is not None]
    rows = [_change(one, change.key, change.old, change.new) for one in made for change in one.changes]
    others = [(_text(one.group), _text(one.reason)) for one in findings if one.recommendation is None]
    changes = _table(("key", "old", "new", "confidence", "why"), rows) if rows else _none("Nothing to change.")
    left = _table(("left as it is", "because"), others) if others else ""
    return changes + left


def _change(one: Recommendation, key: str, old: float, new: float) -> tuple[str, ...]:
    return (
        _text(key),
        _number(f"{old:.6g}"),
        _number(f"{new:.6g}"),
        _number(_rate(one.risk.confidence)),
        _text(one.why),
    )


def _tried(history: QueryHistory) -> str:
    rows = []
    for arm in TrialArm:
        side = in_arm(history, arm)
        applications = {run.application for run in side.runs} | {failure.application for failure in side.failures}
        if applications:
            counts = (len(applications), len(side.runs), len(side.failures))
            rows.append((_text(arm.value), *(_number(f"{count:,}") for count in counts)))
    if not rows:
        return _none("No query was on a side of a trial.")
    return _table(("side", "applications", "finished queries", "failed queries"), rows)


def _rejected(rejected: Sequence[Row]) -> str:
    if not rejected:
        return _none("Every line of the plugin's own could be read.")
    rows = [(_text(row["why"]), _number(f"{row['lines']:,}"), _number(f"{row['logs']:,}")) for row in rejected]
    return _table(("why", "lines", "logs"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_shown(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    return f'<td class="t">{_shown(text)}</td>'


def _number(text: str) -> str:
    return f'<td class="n">{_shown(text)}</td>'


def _none(text: str) -> str:
    return f'<p class="none">{_shown(text)}</p>'


def _shown(text: Any) -> str:
    cut = str(text)
    cut = cut if len(cut) <= _LONGEST else f"{cut[:_LONGEST]} ..."
    return escape(_UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), cut))


def _millis(millis: Any) -> str:
    return quantity(_finite(millis), "millis")


def _rate(rate: Any) -> str:
    return "" if rate is None else quantity(_finite(rate), "ratio")


def _finite(number: Any) -> float:
    return float(number) if number is not None and math.isfinite(number) else 0.0
