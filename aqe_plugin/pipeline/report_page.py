"""A summary as one HTML page without scripts or external resources; every text from a log is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from aqe_plugin.events.quantities import quantity
from aqe_plugin.render.terminal import visible

Row = Mapping[str, Any]

_MAX_CHARS = 2000
_BETWEEN_TABS_AND_LINE_ENDS = re.compile(r"[^\t\r\n]+")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2733}"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #e3e7ec}"
    "td.n,th.n{text-align:right;white-space:nowrap}td.t{word-break:break-word;white-space:pre-line}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}"
    "dd{margin:0}.none{color:#66717e}"
)
_COMPARED = ("observed", "applied", "saved")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums and the heads of lists; every list is bounded.

    Attributes:
        totals: sums over all fingerprints and days, with ``since`` and ``until``.
        days: by day, oldest first: ``savedMillis``, ``regretMillis``, ``waitMillis``, ``rowsIn``, ``rowsOut`` of
            queries in mode ``apply``.
        faster: fingerprints that ran with and without the plugin's choices and took less time with them, most
            ``savedMillis`` first; ``slower`` those that took longer, most lost first.
        joins: joins with most regret.
        rejected: number of rejected lines by reason.
    """

    totals: Row
    days: list[Row]
    faster: list[Row]
    slower: list[Row]
    joins: list[Row]
    rejected: list[Row]


def page(summary: Summary, source: str) -> str:
    """The whole page; ``source`` is the address of the tables, for the heading."""
    sections = (
        _section("In all", _totals(summary.totals)),
        _section("Saved and lost by day", _days(summary.days)),
        _section("Faster with the plugin's choices than without", _compared(summary.faster, "took less time")),
        _section("Slower with the plugin's choices than without", _compared(summary.slower, "took longer")),
        _section("Joins with most regret", _joins(summary.joins)),
        _section("Rejected lines", _rejected(summary.rejected)),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>aqe-plugin: decisions</title><style>{_STYLE}</style></head><body>"
        f"<h1>Decisions of aqe-plugin, and their outcomes</h1><p>{_shown(source)}</p>"
        f"{''.join(sections)}</body></html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{_shown(title)}</h2>{content}</section>"


def _totals(totals: Row) -> str:
    removed = totals["rowsIn"] - totals["rowsOut"]
    facts = (
        ("days", f"{totals['since']} to {totals['until']}"),
        ("queries", f"{totals['queries']:,} of {totals['fingerprints']:,} fingerprints; {totals['failed']:,} failed"),
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
        "that of the cheapest option. Both use measured pass rates."
    )
    return f"<dl>{rows}</dl><p>{_shown(meaning)}</p>"


def _days(days: Sequence[Row]) -> str:
    if not days:
        return _none("No query ran in mode apply.")
    names = {"savedMillis": "saved", "regretMillis": "regret", "waitMillis": "waited"}
    most = max(1.0, *(_finite(day[name]) for day in days for name in names))

    def cell(millis: Any) -> str:
        # The browser draws the bar; a loss has none.
        bar = f'<meter max="{most:.3f}" value="{max(0.0, _finite(millis)):.3f}"></meter>'
        return f'<td class="n">{_shown(_millis(millis))} {bar}</td>'

    head = "".join(f'<th class="n">{name}</th>' for name in names.values())
    body = "".join(
        f"<tr><td>{_shown(day['date'])}</td>{''.join(cell(day[name]) for name in names)}</tr>" for day in days
    )
    return f"<table><thead><tr><th>day</th>{head}</tr></thead><tbody>{body}</tbody></table>"


def _compared(fingerprints: Sequence[Row], did: str) -> str:
    rows = [
        (row["joinConditions"], f"{row['applied']:,}", *(_millis(row[f"{name}Millis"]) for name in _COMPARED))
        for row in fingerprints
    ]
    return _table(
        ("joins of the query", "#runs", "#time without", "#time with", "#saved in all"),
        rows,
        f"Of the fingerprints with at least 5 runs both in mode apply and in another mode, none {did}.",
    )


def _joins(joins: Sequence[Row]) -> str:
    rows = [
        (
            *(row["join"], str(row["mode"]), f"{row['joins']:,}", _millis(row["regretMillis"])),
            *(_rate(row["predictedPass"]), _rate(row["measuredPass"])),
        )
        for row in joins
    ]
    heads = ("join", "#mode", "#decided", "#regret", "#pass rate predicted", "#measured")
    return _table(heads, rows, "No join has any regret.")


def _rejected(rejected: Sequence[Row]) -> str:
    rows = [(row["why"], f"{row['lines']:,}", f"{row['logs']:,}") for row in rejected]
    return _table(("why", "#lines", "#logs"), rows, "Every line of the plugin could be read.")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], without_rows: str) -> str:
    """A table, or the text ``without_rows``; a head that begins with ``#`` is that of a column of numbers."""
    if not rows:
        return _none(without_rows)
    kinds = ["n" if head.startswith("#") else "t" for head in heads]
    head = "".join(f"<th>{_shown(name.removeprefix('#'))}</th>" for name in heads)
    cells = (
        "".join(f'<td class="{kind}">{_shown(cell)}</td>' for kind, cell in zip(kinds, row, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{one}</tr>" for one in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _none(text: str) -> str:
    return f'<p class="none">{_shown(text)}</p>'


def _shown(text: Any) -> str:
    cut = str(text)
    cut = cut if len(cut) <= _MAX_CHARS else f"{cut[:_MAX_CHARS]} ..."
    return escape(_BETWEEN_TABS_AND_LINE_ENDS.sub(lambda match: visible(match[0]), cut))


def _millis(millis: Any) -> str:
    return quantity(_finite(millis), "millis")


def _rate(rate: Any) -> str:
    return "" if rate is None else quantity(_finite(rate), "ratio")


def _finite(number: Any) -> float:
    return float(number) if number is not None and math.isfinite(number) else 0.0
