"""Parts of a page that are generated, between two marks."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["with_marked"]


def with_marked(page: str, name: str, lines: Iterable[str]) -> str:
    """``page`` with ``lines`` between the marks of ``name``.

    Raises:
        ValueError: the page lacks a mark.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return "".join([before, begin, *(f"{line}\n" for line in lines), end, after])
