"""Queries and their joins as terminal tables."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aqe_plugin.events.queries import QueryStory
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


def _styled(segments: Segments) -> Text:
    # Assembled, never parsed: whatever a log holds is no markup.
    return Text.assemble(*segments)
