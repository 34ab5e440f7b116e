"""A file of SQL statements, split at semicolons as Spark's SQL shell splits it."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What hides a semicolon: quoted text, in which a backslash escapes, names in backticks, comments.
_PARTS = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`[^`]*`?)|(?P<line>--[^\n]*)|(?P<opened>/\*)|(?P<end>;)""",
    re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")


def statements_of(text: str) -> list[str]:
    """The statements of ``text``, without those that have nothing but comments and blanks."""
    return [statement.strip() for statement, has_code in _split(text) if has_code]


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Each statement, and whether there is more in it than comments."""
    begin = at = 0
    code = ""
    while match := _PARTS.search(text, at):
        code += text[at : match.start()] + (match["quoted"] or "")
        at = match.end() if match["opened"] is None else _after_comment(text, match.end())
        if match["end"] is not None:
            yield text[begin : match.start()], bool(code.strip())
            begin, code = at, ""
    yield text[begin:], bool((code + text[at:]).strip())


def _after_comment(text: str, at: int) -> int:
    """Where the comment ends that was opened before ``at``; comments nest."""
    depth = 1
    while depth and (match := _BRACKETS.search(text, at)):
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at if depth == 0 else len(text)
