"""Reads a properties file as Java does (``java.util.Properties.load``), with the offset of every key and value.

Spark reads ``spark-defaults.conf`` so, as UTF-8. The rules that matter here: a line ends at ``\\n``, ``\\r`` or both;
an odd number of backslashes at its end joins it with the next, without that line's leading white space; a key ends at
the first white space, ``=`` or ``:`` without a backslash before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aqe_plugin.errors import TargetError

__all__ = ["Entry", "entries_of", "escaped"]

_SPACE = " \t\f"
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_BAD_UNICODE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\u(?![0-9a-fA-F]{4})")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TO_ESCAPE = re.compile(r"[\\\t\n\r\f\ud800-\udfff]|^[ =:]")
_SPARK_TRIMS = "".join(chr(code) for code in range(33) if chr(code) not in "\r\n")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key and its value, with offsets into the text.

    Attributes:
        value: without the white space around it, which Spark removes.
        start: of its first line.
        end: of the next line's start.
        value_start: of the value as written, with escapes and joined lines.
        value_end: of the end of the value as written, without trailing white space.
        line: number of its first line, from 1.
        open: the file ends within the entry, so appended text would become a part of it.
    """

    key: str
    value: str
    start: int
    end: int
    value_start: int
    value_end: int
    line: int
    open: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as Java joins it: the offsets of its characters that count, of its start and of its end."""

    kept: list[int]
    start: int
    end: int
    open: bool


def entries_of(text: str, name: str) -> tuple[Entry, ...]:
    """Every entry in order, including repeated keys.

    Args:
        name: the file's name in an error.

    Raises:
        TargetError: a ``\\u`` has no four hexadecimal digits, for which Java refuses the whole file.
    """
    found, number, counted = [], 1, 0
    for line in _lines(text):
        number, counted = number + len(_LINE_ENDS.findall(text, counted, line.start)), line.start
        found.append(_entry(text, line, number, name))
    return tuple(found)


def escaped(value: str) -> str:
    """``value`` as written on one line behind a separator."""

    def escape(match: re.Match[str]) -> str:
        letters = {letter: name for name, letter in _LETTERS.items()}
        found = match[0]
        if "\ud800" <= found <= "\udfff":
            return f"\\u{ord(found):04x}"
        return "\\" + letters.get(found, found)

    return _TO_ESCAPE.sub(escape, value)


def _lines(text: str) -> Iterator[_Line]:
    position = 0
    while position < len(text):
        line = _next_line(text, position)
        if line is None:
            return
        yield line
        position = line.end


def _next_line(text: str, position: int) -> _Line | None:
    """The next line that is neither blank nor a comment, if any."""
    kept: list[int] = []
    natural_start = start = position
    skipping, joined, backslash = True, False, False
    while position < len(text):
        at, character = position, text[position]
        position += 1
        if skipping:
            if character in _SPACE:
                continue
            if not joined and character in "\r\n":
                natural_start = position
                continue
            skipping = joined = False
        if not kept and character in "#!":
            position = natural_start = _after_line(text, position)
            skipping = True
        elif character not in "\r\n":
            if not kept:
                start = natural_start
            kept.append(at)
            backslash = character == "\\" and not backslash
        elif not kept:
            skipping, natural_start = True, position
        else:
            if text[at : at + 2] == "\r\n":
                position += 1
            natural_start = position
            if not backslash:
                return _Line(kept, start, position, open=False)
            kept.pop()
            if position >= len(text):
                # A lone backslash is an empty key to Java, unless two characters end its line.
                return _Line(kept, start, position, open=True) if kept or at + 1 == position else None
            skipping, joined, backslash = True, True, False
    if backslash:
        kept.pop()
        return _Line(kept, start, position, open=True)
    return _Line(kept, start, position, open=skipping) if kept else None


def _after_line(text: str, position: int) -> int:
    match = re.compile(r"[\r\n]").search(text, position)
    return len(text) if match is None else match.end()


def _entry(text: str, line: _Line, number: int, name: str) -> Entry:
    written = "".join(text[at] for at in line.kept)
    malformed = _BAD_UNICODE.search(written)
    if malformed is not None:
        raise TargetError(
            f"{name}, line {number}: \\u without four hexadecimal digits; Spark refuses the whole file. "
            "Write a backslash as \\\\."
        )
    key_end, value_start = _split(written)
    value_end = _without_space_at_end(written, value_start)
    after = line.kept[-1] + 1 if line.kept else line.start
    places = [*line.kept, after]
    begin = places[value_start]
    return Entry(
        key=_unescaped(written[:key_end]),
        value=_unescaped(written[value_start:]).strip(_SPARK_TRIMS),
        start=line.start,
        end=line.end,
        value_start=begin,
        value_end=places[value_end - 1] + 1 if value_end > value_start else begin,
        line=number,
        open=line.open,
    )


def _split(written: str) -> tuple[int, int]:
    """The end of the key and the start of the value."""
    key = re.match(r"(?:\\.|[^\\=: \t\f])*", written, re.DOTALL)
    separator = re.compile(r"[ \t\f]*[=:]?[ \t\f]*").match(written, key.end() if key else 0)
    return (key.end() if key else 0), (separator.end() if separator else 0)


def _without_space_at_end(written: str, start: int) -> int:
    end = len(written)
    while end > start and written[end - 1] in _SPARK_TRIMS:
        end -= 1
    backslashes = len(written[start:end]) - len(written[start:end].rstrip("\\"))
    return end + (backslashes % 2 if end < len(written) else 0)


def _unescaped(written: str) -> str:
    def unescape(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        return _LETTERS.get(match[2], match[2])

    return _ESCAPE.sub(unescape, written)
