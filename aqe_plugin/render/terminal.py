"""Standard output, and any text made fit for a terminal."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff"
    r"\U000e0000-\U000e007f]"
)


# Wide enough that no table wraps; a table uses only the width it needs.
ANY_WIDTH = 100_000
# From this width on, each of three columns holds the longest conf key in one piece.
TABLE_WIDTH = 150
_LEAST_WRAPPED = 30


def stdout_console(*, soft_wrap: bool = False) -> Console:
    """Standard output. A file or a pipe has no width, so no cell of a table is wrapped there, unless COLUMNS is set."""
    # Whatever only needs texts made visible is spared its import.
    from rich.console import Console

    console = Console(soft_wrap=soft_wrap)
    # FORCE_COLOR makes rich take a pipe for a terminal.
    return console if console.file.isatty() or _columns() else Console(soft_wrap=soft_wrap, width=ANY_WIDTH)


def _columns() -> bool:
    """Whether COLUMNS says how wide the output is to be."""
    return os.environ.get("COLUMNS", "").isdigit()


def drawn_table(*columns: str) -> Table:
    """A table without rows, drawn as all are: a line below the heads; a cell that is too long is folded."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def hanging(text: str, indent: int, console: Console) -> str:
    """``text``, which begins in column ``indent``, wrapped at words within that column; as it is where it has room, or
    is written into a file or a pipe without a width."""
    if not (console.is_terminal or (_columns() and not console.stderr)) or indent + len(text) <= console.width:
        return text
    width = max(console.width - indent, _LEAST_WRAPPED)
    return f"\n{' ' * indent}".join(wrapped(text, width))


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The lines of one line of text, which begin with ``first`` and ``rest``, wrapped at words alone: an id or a path
    is there to be pasted, however long."""
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return lines or [text]


def fits(table: Table, console: Console, width: int) -> bool:
    """Whether no cell of the table is wrapped in so many columns."""
    return console.measure(table, options=console.options.update(max_width=ANY_WIDTH)).maximum <= width


def visible(text: str) -> str:
    """``text`` with escapes for what a terminal must not get.

    These are control, direction-changing and invisible characters, and lone surrogates, which stand for bytes that are
    not UTF-8 and which nothing can write.
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_lines(text: str) -> str:
    """The same of each line of ``text``; line ends stay."""
    return "\n".join(map(visible, text.split("\n")))


def print_json(members: object, console: Console) -> None:
    """One JSON value, on a line of its own (JSON Lines)."""
    console.file.write(json.dumps(members) + "\n")
    console.file.flush()


def print_lines(lines: Iterable[str], console: Console) -> None:
    """Each line as it is: no markup, no colours, nothing folded."""
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
