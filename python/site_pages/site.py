"""The pages of the site as Sphinx reads them: those of the project, and those that are made from the code."""

from __future__ import annotations

import os.path
import shutil
from pathlib import Path, PurePosixPath

from site_pages.api import API_PAGES
from site_pages.commands import command_list, command_pages
from site_pages.links import with_links
from site_pages.navigation import HOME, NAVIGATION, UNLISTED, Entry

__all__ = ["Site"]

_LISTED = [HOME, *(entry for entries in NAVIGATION.values() for entry in entries)]
_COMMANDS, _PYTHON = "reference/command-line", "reference/python"


class Site:
    """The site of the project in the folder ``root``.

    Attributes:
        faults: what is wrong with the pages before Sphinx sees any of them.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        unlisted = [entry for entry in UNLISTED if (root / entry.source).is_file()]
        self._entries = [*_LISTED, *unlisted]
        self._names = {entry.source: entry.name for entry in self._entries}
        found = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")}
        self.faults = [
            *(f"{entry.source} is in the navigation, and is no file" for entry in _LISTED if not self._is_file(entry)),
            *(f"{page} is in no navigation" for page in sorted(found - set(self._names))),
        ]

    def write(self, folder: Path) -> None:
        """Writes every page into ``folder``, and every file of the project that a page shows or links to."""
        for entry in self._entries:
            _write(folder / f"{entry.name}.md", self._page(entry, folder))
        for name, page in {**command_pages(), **API_PAGES}.items():
            _write(folder / f"{name}.md", page)

    def _is_file(self, entry: Entry) -> bool:
        return (self._root / entry.source).is_file()

    def _page(self, entry: Entry, folder: Path) -> str:
        text = (self._root / entry.source).read_text(encoding="utf-8")
        page = with_links(text, lambda target: self._moved(target, entry, folder))
        if entry == HOME:
            groups = (_contents(group, [one.name for one in entries]) for group, entries in NAVIGATION.items())
            # Titles are those of the navigation: a page's own is longer.
            return "\n\n".join([page, *groups])
        if entry.name == _COMMANDS:
            return f"{page}\n\n{command_list(_COMMANDS)}\n\n{_contents('', list(command_pages()))}"
        if entry.name == _PYTHON:
            return f"{page}\n\n{_contents('', list(API_PAGES))}"
        return f"---\norphan: true\n---\n\n{page}" if entry in UNLISTED else page

    def _moved(self, target: str, entry: Entry, folder: Path) -> str | None:
        """Where a link of the page leads in the site; a folder has no page, so nowhere.

        What leads to nothing is left to Sphinx, which fails by it.
        """
        path, mark, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return target
        source = os.path.normpath(PurePosixPath(entry.source).parent / path)
        if (self._root / source).is_dir():
            return None
        if source in self._names:
            return _relative(f"{self._names[source]}.md", entry.name) + mark + anchor
        if (self._root / source).is_file():
            copy = folder / "files" / source
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self._root / source, copy)
            return _relative(f"files/{source}", entry.name)
        return target


def _relative(target: str, name: str) -> str:
    return os.path.relpath(target, PurePosixPath(name).parent)


def _contents(caption: str, names: list[str]) -> str:
    """A part of the navigation, not shown on the page; ``names`` count from the site's root."""
    titles = {entry.name: entry.title for entry in _LISTED}
    lines = [f"{titles[name]} </{name}>" if name in titles else f"/{name}" for name in names]
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n".join(["```{toctree}", options + "\n", *lines, "```"]) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
