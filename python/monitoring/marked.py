"""Parts of a page that are generated, between two marks."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["with_marked"]


def with_marked(page: str, name: str, lines: Iterable[str]) -> str:
    """``page`` with ``lines`` between the marks of ``name``.

    Raises:
        ValueError: the page does not have each mark once.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    for mark in (begin, end):
        if page.count(mark) != 1:
            raise ValueError(f"the page has {mark.strip()!r} {page.count(mark)} times, and not once")
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return "".join([before, begin, *(f"{line}\n" for line in lines), end, after])
