"""What decisions were worth, and every query with its joins, as one HTML page that can be mailed."""

from __future__ import annotations

from aqe_plugin.events.queries import QueryStory
from aqe_plugin.events.savings import Savings
from aqe_plugin.render.html import facts, page_start, plot, shown, table
from aqe_plugin.render.query_text import (
    COLUMNS,
    join_cells,
    limit_lines,
    plain,
    predicate_lines,
    query_summary,
)
from aqe_plugin.render.savings import Head, rows_by_table, seconds_by_query
from aqe_plugin.render.short_lines import ROW_COLUMNS, query_line, rows_of


def page_head(head: Head, savings: Savings, source: str) -> str:
    """The page up to its queries, which :func:`query_details` and ``html.PAGE_END`` follow."""
    return (
        f"{page_start('aqe-plugin: savings', 'What the decisions of aqe-plugin were worth')}<p>{shown(source)}</p>"
        f"{head_html(head, savings)}<h2>Queries</h2>"
    )


def head_html(head: Head, savings: Savings) -> str:
    """The head and its plots."""
    return f"<p><strong>{shown(head.heading)}</strong></p>{facts(head.rows)}{plots_html(savings)}"


def plots_html(savings: Savings) -> str:
    """The plots below the head of a page or a notebook."""
    plots = (
        ("Seconds by query, with the plugin's choices above and without below", seconds_by_query(savings.queries)),
        ("Rows by table, removed above and checked below", rows_by_table(savings.tables)),
    )
    return "".join(f"<p><strong>{shown(title)}</strong></p>{plot(bars)}" for title, bars in plots if bars)


def query_details(query: QueryStory) -> str:
    """A query to be opened, in it a line for each join, limit and predicate, and below it why, to be opened too."""
    short = table(ROW_COLUMNS, [(chosen, what, why) for chosen, _, what, why in rows_of(query)])
    joins = [tuple(plain(cell) for cell in join_cells(join, query)) for join in query.joins]
    others = plain((*limit_lines(query), *predicate_lines(query)))
    why = f"{table(COLUMNS, joins) if joins else ''}<p>{shown(plain(query_summary(query)))}</p><p>{shown(others)}</p>"
    return (
        f"<details><summary>{shown(plain(query_line(query)))}</summary>{short}"
        f"<details><summary>Why</summary>{why}</details></details>\n"
    )
