"""A small table as plain text for a terminal and as HTML for a notebook.

Cells may hold anything a query, a path or a log can hold: control characters are made visible, and in HTML nothing is
markup but what this module writes.
"""

from __future__ import annotations

import html
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from aqe_plugin.render.terminal import TABLE_WIDTH, drawn_table, fits, visible_lines, wrapped

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
    # A session that shows nothing is spared its import.
    from rich.console import Console
    from rich.text import Text

    width = max(60, shutil.get_terminal_size((100, 25)).columns)
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as shown:
        for table in tables:
            console.print(Text(visible_lines(table.heading)))
            if table.rows:
                drawn = drawn_table(*table.columns)
                drawn.show_lines = any("\n" in cell for row in table.rows for cell in row)
                for row in table.rows:
                    drawn.add_row(*(Text(visible_lines(cell)) for cell in row))
                # The second of two columns has room enough; of more, each would break keys, ids and paths.
                is_narrow = width < TABLE_WIDTH and len(table.columns) != 2
                if is_narrow and not fits(drawn, console, width):
                    console.print(Text("\n".join(_paragraphs(table, width))), soft_wrap=True)
                else:
                    console.print(drawn)
            for note in table.notes:
                console.print(Text("\n".join(_wrapped(note, width, ""))), soft_wrap=True)
    return "\n".join(line.rstrip() for line in shown.get().rstrip("\n").split("\n"))


def _paragraphs(table: Table, width: int) -> Iterator[str]:
    """Each row as its first cell, and below it the others, those of one line with the name of their column."""
    for first, *others in table.rows:
        yield from _wrapped(first, width, "  ")
        for name, cell in zip(table.columns[1:], others, strict=True):
            if cell:
                yield from _wrapped(cell if "\n" in cell else f"{name}: {cell}", width, "    ")


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    for line in visible_lines(text).split("\n"):
        yield from wrapped(line, width, indent, f"{indent}  " if indent else "")


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
