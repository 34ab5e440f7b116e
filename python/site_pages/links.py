"""Links of a page, as they are in the project, and as they are in the site."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["anchor", "with_links"]

# What is code stays as it is: a fenced block, or a span between the same number of backticks.
_CODE = r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[^\n]*$|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
# The text of a link may have code and one picture in it.
_LINK = r"(?P<picture>!?)\[(?P<text>(?:`[^`]*`|!\[[^\]]*\]\([^)]*\)|[^\[\]`])*)\]\((?P<target>[^)\s]+)\)"
_EITHER = re.compile(f"{_CODE}|{_LINK}", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)]*)\)")


def anchor(heading: str) -> str:
    """The anchor that a forge makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def with_links(page: str, moved: Callable[[str], str | None]) -> str:
    """``page`` with the target of each link and picture as ``moved`` says; ``None`` leaves the link's text alone."""

    def replaced(found: re.Match[str]) -> str:
        target = found["target"]
        if target is None:
            return found[0]
        text = _PICTURE.sub(lambda inner: f"![{inner['text']}]({moved(inner['target'])})", found["text"])
        new = moved(target)
        return text if new is None else f"{found['picture']}[{text}]({new})"

    return _EITHER.sub(replaced, page)
