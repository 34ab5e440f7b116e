"""A small table as plain text for a terminal and as HTML for a notebook, made without any library.

Cells may hold anything a query, a path or a log can hold: control characters are made visible, and in HTML nothing is
markup but what this module writes.
"""

from __future__ import annotations

import html
import shutil
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from aqe_plugin.render.terminal import visible_lines

_NARROWEST = 8

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


class Shown(ABC):
    """A value that a terminal and a notebook show as tables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return text_of(*self._tables())

    def _repr_html_(self) -> str:
        return html_of(*self._tables())

    @abstractmethod
    def _tables(self) -> tuple[Table, ...]:
        """What is shown, in this order."""


def html_of(*tables: Table) -> str:
    """The tables as HTML, one below the other."""
    return "".join(_html(table) for table in tables)


def text_of(*tables: Table) -> str:
    """The tables as plain text, as wide as the terminal, 100 characters where there is none."""
    width = max(60, shutil.get_terminal_size((100, 25)).columns)
    return "\n".join(line.rstrip() for table in tables for line in _lines(table, width))


def _lines(table: Table, width: int) -> Iterator[str]:
    yield from _wrapped(table.heading, width)
    if table.rows:
        yield ""
        yield from _grid(table, width)
        yield ""
    for note in table.notes:
        yield from _wrapped(note, width)


def _grid(table: Table, width: int) -> Iterator[str]:
    rows = [[visible_lines(cell) for cell in row] for row in table.rows]
    columns = list(zip(table.columns, *rows, strict=True))
    widths = [max(len(line) for cell in column for line in [*cell.split("\n"), ""]) for column in columns]
    while sum(widths) + 2 * len(widths) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    spaced = any("\n" in cell for row in rows for cell in row)
    yield from _row(table.columns, widths)
    yield "  ".join("-" * wide for wide in widths)
    for number, row in enumerate(rows):
        if spaced and number:
            yield ""
        yield from _row(row, widths)


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    wrapped = [_wrapped(cell, wide) for cell, wide in zip(cells, widths, strict=True)]
    for line in zip_longest(*wrapped, fillvalue=""):
        yield "  ".join(part.ljust(wide) for part, wide in zip(line, widths, strict=True))


def _wrapped(text: str, width: int) -> list[str]:
    lines = (textwrap.wrap(line, max(1, width), break_on_hyphens=False) for line in visible_lines(text).split("\n"))
    return [part for line in lines for part in line or [""]]


def _html(table: Table) -> str:
    head = "".join(_html_cell("th", column) for column in table.columns)
    body = "".join(f"<tr>{''.join(_html_cell('td', cell) for cell in row)}</tr>" for row in table.rows)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if table.rows else ""
    notes = "".join(f"<p>{_escaped(note)}</p>" for note in table.notes)
    return f"<div><p><strong>{_escaped(table.heading)}</strong></p>{grid}{notes}</div>"


def _html_cell(tag: str, text: str) -> str:
    return f'<{tag} style="{_CELL}">{_escaped(text)}</{tag}>'


def _escaped(text: str) -> str:
    return html.escape(visible_lines(text))
