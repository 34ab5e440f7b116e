"""Queries and their joins as terminal tables or JSON."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aqe_plugin.events.describe import (
    describe_join,
    describe_limit,
    describe_outcome,
    describe_price,
    describe_reason,
    describe_strategy,
    options_not_taken,
)
from aqe_plugin.events.json_values import Json, encode_object
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.render.query_text import COLUMNS, Segments, join_cells, limit_lines, query_footing, query_heading


def query_table(query: QueryStory) -> RenderableType:
    """A heading, one row for each join, a line for each limit, and a line on the whole query."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_lines=True)
    for column, ratio in zip(COLUMNS, (3, 4, 4), strict=True):
        table.add_column(column, ratio=ratio, overflow="fold")
    for join in query.joins:
        table.add_row(*(_styled(cell) for cell in join_cells(join)))
    parts = [table] if query.joins or not query.limits else []
    return Group(_styled(query_heading(query)), *parts, _styled((*limit_lines(query), *query_footing(query))), Text())


def query_json(query: QueryStory) -> Json:
    """The values of ``query``, with each decision's reasons in words beside them."""
    limits: list[Json] = [{**encode_object(limit), "inWords": describe_limit(limit)} for limit in query.limits]
    return {**encode_object(query), "joins": [_join_json(join) for join in query.joins], "limits": limits}


def _styled(segments: Segments) -> Text:
    # Assembled, never parsed: whatever a log holds is no markup.
    return Text.assemble(*segments)


def _join_json(join: JoinStory) -> Json:
    in_words: Json = {
        "join": describe_join(join.decision.facts),
        "choice": describe_strategy(join.decision.choice, join.decision.build_filter),
        "reason": describe_reason(join.decision.reason),
        "filterReason": describe_reason(join.decision.filter_reason),
        "cost": describe_price(join.decision),
        "notTaken": [*options_not_taken(join.decision)],
        "outcomes": [describe_outcome(outcome) for outcome in join.outcomes],
    }
    return {**encode_object(join), "inWords": in_words}
