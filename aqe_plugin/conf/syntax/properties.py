"""``spark-defaults.conf``: a properties file of which only the lines that change are touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.syntax.java_properties import Entry, entries_of, escaped
from aqe_plugin.errors import ConflictError

__all__ = ["PropertiesConf", "parse_properties"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_LAST_LINE_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_REMARKED = ("spark.plugins", "spark.jars")


@dataclass(frozen=True, slots=True)
class PropertiesConf:
    """A properties file; see :class:`~aqe_plugin.conf.stores.port.TargetConf`.

    Attributes:
        text: the file; bytes that are no UTF-8 stand in it as surrogates, and are written back as they were.
        name: what to call the file in an error.
    """

    text: str
    name: str
    entries: tuple[Entry, ...]

    @property
    def spark_version(self) -> str | None:
        return None

    @property
    def runs_on_this_machine(self) -> bool:
        return True

    def get(self, key: str) -> str | None:
        entry = self._last(key)
        return None if entry is None else entry.value

    def items(self) -> dict[str, str]:
        return {entry.key: entry.value for entry in self.entries}

    def remarks(self) -> tuple[str, ...]:
        times = Counter(entry.key for entry in self.entries)
        return tuple(
            f"{key} stands {count} times; Spark takes the last, on line {max(self._lines_of(key))}."
            for key, count in times.items()
            if count > 1 and (key in _REMARKED or key.startswith(PREFIX))
        )

    def with_value(self, key: str, value: str) -> PropertiesConf:
        entry = self._last(key)
        if entry is None:
            return self._with_line(key, value)
        if entry.value == value:
            return self
        for written in _ways_to_write(self.text[entry.value_start : entry.value_end], entry.value, value):
            changed = self._with_text(self.text[: entry.value_start] + written + self.text[entry.value_end :])
            if changed._reads_as(self, entry, value):
                return changed
        raise ConflictError(
            f"{self.name}, line {entry.line}: {key} is written in a way that is not changed safely. "
            f"Write it on one line: {key} {escaped(entry.value)}"
        )

    def without(self, key: str) -> PropertiesConf:
        entry = self._last(key)
        if entry is None:
            return self
        begin, ends_its_line = entry.start, _LAST_LINE_END.search(self.text[entry.start : entry.end]) is not None
        if not ends_its_line:
            before = _LAST_LINE_END.search(self.text[:begin])
            begin = begin if before is None else before.start()
        return self._with_text(self.text[:begin] + self.text[entry.end :]).without(key)

    def render(self) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")

    def _last(self, key: str) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def _lines_of(self, key: str) -> Iterator[int]:
        return (entry.line for entry in self.entries if entry.key == key)

    def _with_text(self, text: str) -> PropertiesConf:
        return replace(self, text=text, entries=entries_of(text, self.name))

    def _with_line(self, key: str, value: str) -> PropertiesConf:
        """Adds a line at the end, in the file's own manner, so that taking it away again leaves the same bytes."""
        found = _LINE_END.search(self.text)
        line_end = "\n" if found is None else found[0]
        line = key + self._separator() + escaped(value)
        last = self.entries[-1] if self.entries else None
        if last is not None and last.open:
            return self._with_text(self.text[: last.start] + line + line_end + self.text[last.start :])
        if self.text == "" or _LAST_LINE_END.search(self.text):
            return self._with_text(self.text + line + line_end)
        return self._with_text(self.text + line_end + line)

    def _separator(self) -> str:
        last = self.entries[-1] if self.entries else None
        if last is None:
            return " "
        found = re.search(r"[ \t]*[=:][ \t]*\Z", self.text[last.start : last.value_start])
        return " " if found is None else found[0]

    def _reads_as(self, before: PropertiesConf, changed: Entry, value: str) -> bool:
        """Whether it says what ``before`` said, but for the value of one entry."""
        expected = [(entry.key, value if entry is changed else entry.value) for entry in before.entries]
        return [(entry.key, entry.value) for entry in self.entries] == expected


def parse_properties(content: bytes, name: str) -> PropertiesConf:
    """The properties file with this content.

    Raises:
        TargetError: Spark itself could not read it.
    """
    text = content.decode("utf-8", "surrogateescape")
    return PropertiesConf(text, name, entries_of(text, name))


def _ways_to_write(written: str, old: str, new: str) -> Iterator[str]:
    """How ``new`` may stand where ``written`` stands, which reads as ``old``; what keeps most of it comes first."""
    if old and new.startswith(old):
        yield written + escaped(new[len(old) :])
    if new and old.startswith(new):
        tail = escaped(old[len(new) :])
        if written.endswith(tail):
            yield written[: -len(tail)]
    yield escaped(new)
    # A key that stands alone on its line has no separator.
    yield " " + escaped(new)
