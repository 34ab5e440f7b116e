"""Reads a properties file as Java does (``java.util.Properties.load``), with the offset of every key and value.

Spark reads ``spark-defaults.conf`` so, as UTF-8. The rules that matter here: a line ends at ``\\n``, ``\\r`` or both;
an odd number of backslashes at its end joins it with the next, without that line's leading white space; a key ends at
the first white space, ``=`` or ``:`` without a backslash before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from aqe_plugin.errors import TargetError

_END = r"(?:\r\n|\r|\n)"
# Blank lines, comments and lone backslashes. Before a single character at the very end, Java takes a lone backslash
# for an empty key.
_SKIPPED = re.compile(rf"(?:[ \t\f]*(?:[#!][^\r\n]*|\\(?![\r\n]\Z))?{_END})*")
_JOINT = rf"\\{_END}[ \t\f]*|\\\Z"
_LINE = re.compile(rf"[ \t\f]*(?=[^#!\r\n \t\f])(?P<body>(?:[^\\\r\n]+|\\[^\r\n]|{_JOINT})+)(?:{_END}|\Z)")
_TOKEN = re.compile(rf"(?P<joint>{_JOINT})|\\?[^\r\n]")
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BAD_UNICODE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\u(?![0-9a-fA-F]{4})")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_NAMES = {letter: name for name, letter in _LETTERS.items()}
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


def entries_of(text: str, name: str) -> tuple[Entry, ...]:
    """Every entry in order, including repeated keys.

    Args:
        name: the file's name in an error.

    Raises:
        TargetError: a ``\\u`` has no four hexadecimal digits, for which Java refuses the whole file.
    """
    found: list[Entry] = []
    number, counted, end = 1, 0, 0
    while True:
        skipped = _SKIPPED.match(text, end)
        start = skipped.end() if skipped else end
        line = _LINE.match(text, start)
        if line is None:
            return tuple(found)
        number, counted, end = number + len(re.findall(_END, text[counted:start])), start, line.end()
        found.append(_entry(line, start, number, name))


def escaped(value: str) -> str:
    """``value`` as written on one line behind a separator."""
    return _TO_ESCAPE.sub(
        lambda match: (
            f"\\u{ord(match[0]):04x}" if "\ud800" <= match[0] <= "\udfff" else "\\" + _NAMES.get(match[0], match[0])
        ),
        value,
    )


def _entry(line: re.Match[str], start: int, number: int, name: str) -> Entry:
    text, body_end = line.string, line.end("body")
    tokens = list(_TOKEN.finditer(text, line.start("body"), body_end))
    # The offsets of the characters that count.
    kept = [offset for token in tokens if token["joint"] is None for offset in range(token.start(), token.end())]
    written = "".join(text[offset] for offset in kept)
    if _BAD_UNICODE.search(written):
        raise TargetError(
            f"{name}, line {number}: \\u without four hexadecimal digits; Spark refuses the whole file. "
            "Write a backslash as \\\\."
        )
    parts = _KEY.match(written)
    key_end, value_start = (parts.end(1), parts.end()) if parts else (0, 0)
    value_end = _without_space_at_end(written, value_start)
    begin = [*kept, kept[-1] + 1 if kept else start][value_start]
    return Entry(
        key=_unescaped(written[:key_end]),
        value=_unescaped(written[value_start:]).strip(_SPARK_TRIMS),
        start=start,
        end=line.end(),
        value_start=begin,
        value_end=kept[value_end - 1] + 1 if value_end > value_start else begin,
        line=number,
        open=body_end == len(text) and tokens[-1]["joint"] is not None,
    )


def _without_space_at_end(written: str, start: int) -> int:
    end = max(start, len(written.rstrip(_SPARK_TRIMS)))
    backslashes = len(written[start:end]) - len(written[start:end].rstrip("\\"))
    return end + (backslashes % 2 if end < len(written) else 0)


def _unescaped(written: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] is not None else _LETTERS.get(match[2], match[2]), written
    )
