"""A small table as text for a terminal and as HTML for a notebook.

Cells may hold anything a query, a path or a log can hold: control characters are made visible, and in HTML nothing is
markup but what this module writes.
"""

from __future__ import annotations

import html
import shutil
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from aqe_plugin.render import visible

__all__ = ["Table", "html_of", "rich_of", "shown", "text_of"]

_CELL = "text-align: left; vertical-align: top; white-space: pre-wrap; padding: 0.3em 0.8em 0.3em 0"


@dataclass(frozen=True, slots=True)
class Table:
    """Plain text in rows and columns; a line break in a cell is one.

    Attributes:
        notes: lines below the rows.
    """

    heading: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def html_of(*tables: Table) -> str:
    """The tables as HTML, one below the other."""
    return "".join(_html(table) for table in tables)


def text_of(*tables: Table) -> str:
    """The tables as text without colours, for ``repr``."""
    return shown(*(rich_of(table) for table in tables))


def rich_of(table: Table) -> RenderableType:
    """The table for a rich console."""
    grid = Grid(box=box.SIMPLE_HEAD, show_lines=any("\n" in cell for row in table.rows for cell in row))
    for column in table.columns:
        grid.add_column(column, overflow="fold")
    for row in table.rows:
        grid.add_row(*(_plain(cell) for cell in row))
    return Group(_plain(table.heading), *([grid] if table.rows else []), *(_plain(note) for note in table.notes))


def shown(*parts: RenderableType) -> str:
    """What rich makes of ``parts`` without colours, as wide as the terminal, 100 characters where there is none."""
    console = Console(color_system=None, width=max(60, shutil.get_terminal_size((100, 25)).columns))
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _plain(text: str) -> Text:
    return Text(_safe_lines(text))


def _html(table: Table) -> str:
    head = "".join(_html_cell("th", column) for column in table.columns)
    body = "".join(f"<tr>{''.join(_html_cell('td', cell) for cell in row)}</tr>" for row in table.rows)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if table.rows else ""
    notes = "".join(f"<p>{_escaped(note)}</p>" for note in table.notes)
    return f"<div><p><strong>{_escaped(table.heading)}</strong></p>{grid}{notes}</div>"


def _html_cell(tag: str, text: str) -> str:
    return f'<{tag} style="{_CELL}">{_escaped(text)}</{tag}>'


def _escaped(text: str) -> str:
    return html.escape(_safe_lines(text))


def _safe_lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))
