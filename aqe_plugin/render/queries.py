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
    join_line,
    limit_lines,
    plain,
    predicate_lines,
    query_failure,
    query_heading,
    query_line,
    query_summary,
)
from aqe_plugin.render.terminal import drawn_table

# From this width on, a column holds the longest conf key in one piece.
_TABLE_WIDTH = 150


def query_lines(query: QueryStory) -> RenderableType:
    """A line for the query, then one for each join, limit and inferred predicate, wrapped where it is too long."""
    lines = Group(
        *(_styled(join_line(join)) for join in query.joins),
        *(Text.assemble(segment, end="") for segment in (*limit_lines(query), *predicate_lines(query))),
    )
    return Group(_styled(query_line(query)), Padding(lines, (0, 0, 0, 2)))


def query_table(query: QueryStory) -> RenderableType:
    """A heading and a line that sums the query up, then each join with all its options, limit and predicate."""
    return Group(
        _styled((*query_heading(query), *query_failure(query), ("\n", ""), *query_summary(query))),
        _Joins(query),
        _styled((*limit_lines(query), *predicate_lines(query))),
    )


def plain_lines(query: QueryStory, why: bool) -> list[str]:
    """What :func:`query_lines` or, with ``why``, :func:`query_table` shows, for files and pipes: no line is wrapped."""
    others = plain((*limit_lines(query), *predicate_lines(query))).splitlines()
    if not why:
        joins = [plain(join_line(join)) for join in query.joins]
        return [*plain(query_line(query)).splitlines(), *_indented(2, [*joins, *others])]
    lines = plain((*query_heading(query), *query_failure(query), ("\n", ""), *query_summary(query))).splitlines()
    for join in query.joins:
        facts, *rest = (plain(cell).splitlines() for cell in join_cells(join))
        lines += _indented(2, facts)
        lines += (line for cell in rest for line in _indented(4, cell))
    return [*lines, *others]


class _Joins:
    """The joins of a query, in the layout that fits the terminal."""

    def __init__(self, query: QueryStory) -> None:
        self._cells = [join_cells(join) for join in query.joins]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if options.max_width < _TABLE_WIDTH:
            for facts, *others in self._cells:
                yield Padding(_styled(facts), (0, 0, 0, 2))
                yield from (Padding(_styled(cell), (0, 0, 0, 4)) for cell in others)
        elif self._cells:
            table = drawn_table(*COLUMNS)
            table.expand = table.show_lines = True
            for column, ratio in zip(table.columns, (3, 4, 4), strict=True):
                column.ratio = ratio
            for cells in self._cells:
                table.add_row(*map(_styled, cells))
            yield table


def _indented(spaces: int, lines: Iterable[str]) -> list[str]:
    return [f"{' ' * spaces}{line}" for line in lines]


def _styled(segments: Segments) -> Text:
    # Assembled, never parsed: whatever a log holds is no markup.
    return Text.assemble(*segments)
