"""HTML pages without scripts or external resources; whatever comes from a log is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from aqe_plugin.render.terminal import visible

_MAX_CHARS = 2000
_BETWEEN_TABS_AND_LINE_ENDS = re.compile(r"[^\t\r\n]+")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = (
    ":root{color-scheme:light dark;--ink:#1d2733;--line:#e3e7ec;--faint:#66717e;--paper:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ink:#d9e0e8;--line:#333d49;--faint:#93a0ae;--paper:#14191f}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:var(--ink);background:var(--paper)}"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid var(--line)}"
    "td.n,th.n{text-align:right;white-space:nowrap}td.t{white-space:pre-line}"
    ".wide{overflow-x:auto}td{overflow-wrap:anywhere;min-width:6rem}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}p{overflow-wrap:anywhere}"
    "dd{margin:0;white-space:pre-line;overflow-wrap:anywhere}.none,dt{color:var(--faint)}summary{cursor:pointer;overflow-wrap:anywhere}"
    "details{margin:.3rem 0}details details{margin-left:1rem}code{overflow-wrap:anywhere}"
)
# Both can be seen on light and on dark ground, also in a notebook, which has its own styles.
_FILLS = ("#3f7fbf", "#9aa5b1")
_BAR_WIDTH, _BAR_HEIGHT = 180, 9


@dataclass(frozen=True, slots=True)
class Bars:
    """A row of a plot: one bar for each of ``lengths``, one below the other; ``told`` says them in words."""

    label: str
    lengths: tuple[float, ...]
    told: str


def page_start(title: str, heading: str) -> str:
    """A page up to its content, which :data:`PAGE_END` follows."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{shown(title)}</title><style>{_STYLE}</style></head><body><h1>{shown(heading)}</h1>"
    )


PAGE_END = "</body></html>\n"


def section(title: str, content: str) -> str:
    """``content``, which is HTML, below a heading."""
    return f"<section><h2>{shown(title)}</h2>{content}</section>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values."""
    return f"<dl>{''.join(f'<dt>{shown(name)}</dt><dd>{shown(value)}</dd>' for name, value in rows)}</dl>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], without_rows: str = "") -> str:
    """A table, or the text ``without_rows``; a head that begins with ``#`` is that of a column of numbers."""
    if not rows:
        return none(without_rows)
    kinds = ["n" if head.startswith("#") else "t" for head in heads]
    head = "".join(f"<th>{shown(name.removeprefix('#'))}</th>" for name in heads)
    cells = (
        "".join(f'<td class="{kind}">{shown(cell)}</td>' for kind, cell in zip(kinds, row, strict=True)) for row in rows
    )
    body = "".join(f"<tr>{one}</tr>" for one in cells)
    return scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def plot(rows: Sequence[Bars]) -> str:
    """Horizontal bars at one scale, beside their labels and what they say; negative lengths have none."""
    most = max((length for row in rows for length in row.lengths if math.isfinite(length)), default=0.0)
    body = "".join(
        # A notebook has the text of all cells on the right.
        f'<tr><td><div align="left">{shown(row.label)}</div></td><td width="{_BAR_WIDTH}">{_svg(row.lengths, most)}'
        f'</td><td><div align="left">{shown(row.told)}</div></td></tr>'
        for row in rows
    )
    return scrolling(f"<table><tbody>{body}</tbody></table>")


def scrolling(table: str) -> str:
    """A table, which is HTML, that scrolls by itself where the page is narrower."""
    return f'<div class="wide">{table}</div>'


def none(text: str) -> str:
    """A text that stands where there is nothing to show."""
    return f'<p class="none">{shown(text)}</p>'


def shown(text: Any) -> str:
    """``text`` as HTML: cut if it is very long, control characters visible, and nothing in it markup."""
    cut = str(text)
    cut = cut if len(cut) <= _MAX_CHARS else f"{cut[:_MAX_CHARS]} ..."
    return escape(_BETWEEN_TABS_AND_LINE_ENDS.sub(lambda match: visible(match[0]), cut))


def _svg(lengths: Sequence[float], most: float) -> str:
    shares = (min(1.0, length / most) if most > 0 and length > 0 else 0.0 for length in lengths)
    rects = "".join(
        f'<rect y="{at * (_BAR_HEIGHT + 1)}" width="{_BAR_WIDTH * share:.1f}" height="{_BAR_HEIGHT}" '
        f'fill="{_FILLS[at % len(_FILLS)]}"/>'
        for at, share in enumerate(shares)
    )
    height = len(lengths) * (_BAR_HEIGHT + 1)
    # A notebook makes an image narrower where there is no room.
    size = f'width="{_BAR_WIDTH}" height="{height}" viewBox="0 0 {_BAR_WIDTH} {height}" preserveAspectRatio="none"'
    return f'<svg {size} aria-hidden="true">{rects}</svg>'
