"""Queries and their joins for terminals: a table where it is wide enough, else one text below the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from aqe_plugin.events.queries import QueryStory
from aqe_plugin.render.query_text import (
    COLUMNS,
    Segments,
    join_cells,
    limit_lines,
    plain,
    predicate_lines,
    query_failure,
    query_heading,
    query_summary,
)
from aqe_plugin.render.short_lines import query_line, row_lines
from aqe_plugin.render.terminal import TABLE_WIDTH, drawn_table

# No line is longer, however wide the terminal.
LINE_WIDTH = 120


def query_lines(query: QueryStory, width: int = LINE_WIDTH) -> list[Segments]:
    """A line for the query, then one for each join, limit and inferred predicate, of at most ``width`` characters but
    for errors and names of applications."""
    return [query_line(query, width), *row_lines(query, width)]


def query_table(query: QueryStory) -> RenderableType:
    """A heading and a line that sums the query up, then each join with all its options, limit and predicate."""
    return Group(
        styled((*query_heading(query), *query_failure(query), ("\n", ""), *query_summary(query))),
        _Joins(query),
        styled((*limit_lines(query), *predicate_lines(query))),
    )


def plain_lines(query: QueryStory) -> list[str]:
    """What :func:`query_table` shows, for files and pipes: no line is wrapped."""
    lines = plain((*query_heading(query), *query_failure(query), ("\n", ""), *query_summary(query))).splitlines()
    for join in query.joins:
        facts, *rest = (plain(cell).splitlines() for cell in join_cells(join, query))
        lines += _indented(2, facts)
        lines += (line for cell in rest for line in _indented(4, cell))
    return [*lines, *plain((*limit_lines(query), *predicate_lines(query))).splitlines()]


class _Joins:
    """The joins of a query, in the layout that fits the terminal."""

    def __init__(self, query: QueryStory) -> None:
        self._cells = [join_cells(join, query) for join in query.joins]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if options.max_width < TABLE_WIDTH:
            for facts, *others in self._cells:
                yield Padding(styled(facts), (0, 0, 0, 2))
                yield from (Padding(styled(cell), (0, 0, 0, 4)) for cell in others)
        elif self._cells:
            table = drawn_table(*COLUMNS)
            table.expand = table.show_lines = True
            for column, ratio in zip(table.columns, (3, 4, 4), strict=True):
                column.ratio = ratio
            for cells in self._cells:
                table.add_row(*map(styled, cells))
            yield table


def _indented(spaces: int, lines: Iterable[str]) -> list[str]:
    return [f"{' ' * spaces}{line}" for line in lines]


def styled(segments: Segments) -> Text:
    """The segments with their styles, for a terminal."""
    # Assembled, never parsed: whatever a log holds is no markup.
    return Text.assemble(*segments)
