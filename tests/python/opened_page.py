"""An HTML page as a parsed document: its text, its elements, and whatever it would load or run."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["OpenedPage", "opened"]

_WITHOUT_END = {"meta"}
_LOADING = {"src", "href", "srcset", "action", "data", "style", "background"}


@dataclass
class OpenedPage:
    """What a browser would find.

    Attributes:
        loads: attributes that load or run something.
        unclosed: elements that were not closed where they should be.
    """

    text: str = ""
    tags: set[str] = field(default_factory=set)
    loads: list[tuple[str, str]] = field(default_factory=list)
    unclosed: list[str] = field(default_factory=list)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = OpenedPage()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in _WITHOUT_END:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.page.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        self.page.text += data

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.add(tag)
        self.page.loads += [(tag, name) for name, _ in attrs if name in _LOADING or name.startswith("on")]

    def close(self) -> None:
        super().close()
        self.page.unclosed += self._open


def opened(html: str) -> OpenedPage:
    """``html``, parsed."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.page
