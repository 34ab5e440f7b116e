"""A summary as one HTML page without scripts or external resources; every text from a log is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqe_plugin.events.quantities import quantity
from aqe_plugin.events.savings import Savings
from aqe_plugin.render.html import PAGE_END, facts, none, page_start, scrolling, section, shown, table
from aqe_plugin.render.savings import head_of
from aqe_plugin.render.savings_page import head_html

Row = Mapping[str, Any]

_COMPARED = ("observed", "applied", "saved")


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums and the heads of lists; every list is bounded.

    Attributes:
        savings: of all queries, as ``aqe-plugin explain`` has them for the same logs.
        totals: sums over all fingerprints and days, with ``since`` and ``until``.
        days: by day, oldest first: ``savedMillis``, ``regretMillis``, ``waitMillis``, ``rowsIn``, ``rowsOut`` of
            queries in mode ``apply``.
        faster: fingerprints that ran with and without the plugin's choices and took less time with them, most
            ``savedMillis`` first; ``slower`` those that took longer, most lost first.
        joins: joins with most regret.
        rejected: number of rejected lines by reason.
    """

    savings: Savings
    totals: Row
    days: list[Row]
    faster: list[Row]
    slower: list[Row]
    joins: list[Row]
    rejected: list[Row]


def page(summary: Summary, source: str) -> str:
    """The whole page; ``source`` is the address of the tables, for the heading."""
    head = head_html(head_of(summary.savings), summary.savings)
    sections = (
        section("In all", _totals(summary.totals)),
        section("Saved and lost by day", _days(summary.days)),
        section("Faster with the plugin's choices than without", _compared(summary.faster, "took less time")),
        section("Slower with the plugin's choices than without", _compared(summary.slower, "took longer")),
        section("Joins with most regret", _joins(summary.joins)),
        section("Rejected lines", _rejected(summary.rejected)),
    )
    start = page_start("aqe-plugin: decisions", "What the decisions of aqe-plugin were worth")
    return f"{start}<p>{shown(source)}</p>{head}{''.join(sections)}{PAGE_END}"


def _totals(totals: Row) -> str:
    told = (
        ("days", f"{totals['since']} to {totals['until']}"),
        ("fingerprints of queries", f"{totals['fingerprints']:,}"),
        ("joins", f"{totals['filtered']:,} with a filter, {totals['waited']:,} waited for"),
        ("regret", _millis(totals["regretMillis"])),
    )
    meaning = (
        "Regret is the price of what ran less that of the cheapest option. Here and by day, prices are the plugin's "
        "own at the conf's thresholds and measured pass rates; above, they are those that were decided by."
    )
    return f"{facts(told)}<p>{shown(meaning)}</p>"


def _days(days: Sequence[Row]) -> str:
    if not days:
        return none("No query ran in mode apply.")
    names = {"savedMillis": "saved", "regretMillis": "regret", "waitMillis": "waited"}
    most = max(1.0, *(_finite(day[name]) for day in days for name in names))

    def cell(millis: Any) -> str:
        # The browser draws the bar; a loss has none.
        bar = f'<meter max="{most:.3f}" value="{max(0.0, _finite(millis)):.3f}"></meter>'
        return f'<td class="n">{shown(_millis(millis))} {bar}</td>'

    head = "".join(f'<th class="n">{name}</th>' for name in names.values())
    body = "".join(
        f"<tr><td>{shown(day['date'])}</td>{''.join(cell(day[name]) for name in names)}</tr>" for day in days
    )
    return scrolling(f"<table><thead><tr><th>day</th>{head}</tr></thead><tbody>{body}</tbody></table>")


def _compared(fingerprints: Sequence[Row], did: str) -> str:
    rows = [
        (row["joinConditions"], f"{row['applied']:,}", *(_millis(row[f"{name}Millis"]) for name in _COMPARED))
        for row in fingerprints
    ]
    return table(
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
    return table(heads, rows, "No join has any regret.")


def _rejected(rejected: Sequence[Row]) -> str:
    rows = [(row["why"], f"{row['lines']:,}", f"{row['logs']:,}") for row in rejected]
    return table(("why", "#lines", "#logs"), rows, "Every line of the plugin could be read.")


def _millis(millis: Any) -> str:
    return quantity(_finite(millis), "millis")


def _rate(rate: Any) -> str:
    return "" if rate is None else quantity(_finite(rate), "ratio")


def _finite(number: Any) -> float:
    return float(number) if number is not None and math.isfinite(number) else 0.0
