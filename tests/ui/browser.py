"""A real Chromium without a screen, and the pages that it gives back."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

__all__ = ["Browser", "Page", "read_page"]

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Browser:
    """One process for each page, with a profile of its own."""

    program: Path

    def open(self, url: str, *flags: str) -> Page:
        """The page as it stands once it is loaded and its scripts have run; ``flags`` are Chromium's."""
        return read_page(self._run(*flags, "--dump-dom", url))

    def screenshot(self, url: str, target: Path, *, width: int, height: int) -> None:
        self._run(f"--screenshot={target}", f"--window-size={width},{height}", "--hide-scrollbars", url)
        assert target.is_file(), f"no picture of {url}"

    def _run(self, *words: str) -> str:
        with tempfile.TemporaryDirectory() as profile:
            # Without a sandbox, since containers and root have none; every page is our own.
            command = [str(self.program), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
            command += ["--virtual-time-budget=5000", *words]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(slots=True)
class Page:
    """What a reader of a page has.

    Attributes:
        links: text of the link → where it leads.
        tables: id of the table → the text of its cells, without the header.
        elements: names of all elements.
    """

    title: str = ""
    text: str = ""
    links: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    elements: set[str] = field(default_factory=set)


def read_page(html: str) -> Page:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._within: list[str] = []
        self._rows: list[list[str]] = []
        self._href = ""
        self._link_text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.page.elements.add(tag)
        self._within.append(tag)
        if tag == "table":
            self._rows = self.page.tables.setdefault(values.get("id", ""), [])
        elif tag == "tr" and "tbody" in self._within:
            self._rows.append([])
        elif tag == "td" and self._rows:
            self._rows[-1].append("")
        elif tag == "a":
            self._href, self._link_text = values.get("href", ""), ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.page.links[self._link_text.strip()] = self._href
        # What needs no end, such as <br>, is passed over.
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "script" in self._within or "style" in self._within:
            return
        if "title" in self._within and "svg" not in self._within:
            self.page.title += data
        if "svg" in self._within:
            return
        self.page.text += data
        if "a" in self._within:
            self._link_text += data
        if "td" in self._within and self._rows and self._rows[-1]:
            self._rows[-1][-1] += data
