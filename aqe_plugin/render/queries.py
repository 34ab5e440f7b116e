"""Query stories as terminal tables or JSON.

Whatever comes from a log (query descriptions, table names, error texts) may hold anything: it is shown as plain text,
never read as markup, and control characters are made visible.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from aqe_plugin.events.codec import Json, encode
from aqe_plugin.events.describe import (
    filter_in_words,
    join_in_words,
    options_not_taken,
    outcome_in_words,
    price_in_words,
    quantity,
    reason_in_words,
    strategy_in_words,
)
from aqe_plugin.events.model import Strategy
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.render.terminal import visible

__all__ = [
    "COLUMNS",
    "join_cells",
    "print_json",
    "print_table",
    "query_footing",
    "query_heading",
    "query_json",
    "query_table",
]

COLUMNS = ("join", "chosen, and why", "filters, and what they did")

_STYLES = {
    Strategy.BROADCAST: "bold green",
    Strategy.FILTERED_SORT_MERGE: "bold cyan",
    Strategy.PLAIN_SORT_MERGE: "bold",
    Strategy.LEAVE_TO_SPARK: "dim",
}


def query_table(query: QueryStory) -> RenderableType:
    """A heading, one row for each join, and a line on the whole query."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_lines=True)
    for column, ratio in zip(COLUMNS, (3, 4, 4), strict=True):
        table.add_column(column, ratio=ratio, overflow="fold")
    for join in query.joins:
        table.add_row(*join_cells(join))
    return Group(query_heading(query), table, query_footing(query), Text())


def join_cells(join: JoinStory) -> tuple[Text, Text, Text]:
    """What stands under :data:`COLUMNS` for one join."""
    return _join_cell(join), _choice_cell(join), _filter_cell(join)


def query_json(query: QueryStory) -> Json:
    """The story's values, with each decision's reasons in words beside them."""
    story = encode(query)
    assert isinstance(story, dict)
    story["joins"] = [_join_json(join) for join in query.joins]
    return story


def print_table(queries: Iterable[QueryStory], console: Console) -> int:
    """Prints each query as it comes; gives back how many."""
    count = 0
    for count, query in enumerate(queries, start=1):  # noqa: B007 - the last number is the count
        console.print(query_table(query))
    return count


def print_json(queries: Iterable[QueryStory], console: Console) -> int:
    """Prints one JSON object a line (JSON Lines), each query as it comes; gives back how many."""
    count = 0
    for count, query in enumerate(queries, start=1):  # noqa: B007 - the last number is the count
        console.file.write(json.dumps(query_json(query)) + "\n")
    return count


def query_heading(query: QueryStory) -> Text:
    """Number, duration, description, mode, side of a trial and application, and the query's error."""
    took = "still running" if query.duration_millis is None else quantity(query.duration_millis, "millis")
    heading = Text.assemble(("query ", "bold"), (str(query.execution_id), "bold"), f"  {took}  ")
    heading.append(visible(query.description), style="bold")
    side = "" if query.arm is None else f", {query.arm.value}"
    heading.append(f"  [{query.mode.value}{side}]  {visible(query.application_name or query.application)}", style="dim")
    if query.error is not None:
        heading.append(f"\nfailed: {visible(query.error)}", style="red")
    return heading


def _join_cell(join: JoinStory) -> Text:
    return Text(visible(join_in_words(join.decision.facts)).replace("; ", "\n"))


def _choice_cell(join: JoinStory) -> Text:
    decision = join.decision
    chosen = strategy_in_words(decision.choice, decision.build_filter)
    cell = Text(chosen, style=_STYLES[decision.choice])
    cell.append(f"\n{visible(reason_in_words(decision.reason))}", style="not bold not dim default")
    if price := price_in_words(decision):
        cell.append(f"\n{price}", style="not bold not dim default")
    for option in options_not_taken(decision):
        cell.append(f"\nnot {visible(option)}", style="dim not bold")
    return cell


def _filter_cell(join: JoinStory) -> Text:
    decision = join.decision
    verb = "filter" if decision.build_filter else "no filter"
    cell = Text(f"{verb}: {visible(reason_in_words(decision.filter_reason))}")
    done = {(outcome.filter_id, outcome.table, outcome.scan_columns) for outcome in join.outcomes}
    for planned in join.filters:
        if (planned.filter_id, planned.table, planned.scan_columns) not in done:
            cell.append(f"\n{visible(filter_in_words(planned))}", style="" if planned.applied else "yellow")
    for outcome in join.outcomes:
        cell.append(f"\n{visible(outcome_in_words(outcome))}", style="yellow" if outcome.reason else "green")
    return cell


def query_footing(query: QueryStory) -> Text:
    """Filters, rows removed, time in the plugin's rules, its errors; yellow without an outcome, red after a fault."""
    ended = query.ended
    if ended is None:
        return Text("no outcome yet: the query's end is not in the log", style="yellow")
    share = f" ({quantity(ended.rule_millis / ended.duration_millis, 'ratio')})" if ended.duration_millis else ""
    removed = sum(outcome.rows_removed for outcome in ended.outcomes)
    parts = (
        f"filters planned {ended.planned}, applied {ended.applied}",
        f"{quantity(removed, 'rows')} removed",
        f"plugin rules took {quantity(ended.rule_millis, 'millis')}{share}",
        f"errors {ended.errors}",
    )
    return Text("; ".join(parts), style="red" if ended.errors or ended.applied < ended.planned else "dim")


def _join_json(join: JoinStory) -> Json:
    story = encode(join)
    assert isinstance(story, dict)
    story["inWords"] = {
        "join": join_in_words(join.decision.facts),
        "choice": strategy_in_words(join.decision.choice, join.decision.build_filter),
        "reason": reason_in_words(join.decision.reason),
        "filterReason": reason_in_words(join.decision.filter_reason),
        "cost": price_in_words(join.decision),
        "notTaken": [*options_not_taken(join.decision)],
        "outcomes": [outcome_in_words(outcome) for outcome in join.outcomes],
    }
    return story
