"""``spark-defaults.conf``: a properties file, changed line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.syntax.java_properties import Entry, entries_of, escaped
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError

_LINE_END = re.compile(r"\r\n|\r|\n")
_LAST_LINE_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_REMARKED = ("spark.plugins", "spark.jars")


@dataclass(frozen=True, slots=True)
class PropertiesConf(TargetConf):
    """A properties file.

    Attributes:
        text: the file; bytes that are not UTF-8 are surrogates in it, and are written back unchanged.
        name: the file's name in errors.
    """

    text: str
    name: str
    entries: tuple[Entry, ...]
    runs_on_this_machine: bool = True

    @property
    def not_read_by(self) -> str:
        if self.runs_on_this_machine:
            return "An application that is submitted with --properties-file reads it only with --load-spark-defaults."
        return (
            "A driver in cluster mode on Kubernetes is started with --properties-file, and does not read a "
            "spark-defaults.conf that a ConfigMap brings: for it, put the keys into spec.sparkConf of its "
            "SparkApplication, or into the conf of the machine that submits it."
        )

    def items(self) -> dict[str, str]:
        return {entry.key: entry.value for entry in self.entries}

    def remarks(self) -> tuple[str, ...]:
        lines = {
            key: [entry.line for entry in self.entries if entry.key == key]
            for key in self.items()
            if key in _REMARKED or key.startswith(PREFIX)
        }
        return tuple(
            f"{key} is set {len(found)} times; Spark takes the last, on line {found[-1]}."
            for key, found in lines.items()
            if len(found) > 1
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
            f"{self.name}, line {entry.line}: {key} is written in a way that cannot be changed safely. "
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

    def _with_text(self, text: str) -> PropertiesConf:
        return replace(self, text=text, entries=entries_of(text, self.name))

    def _with_line(self, key: str, value: str) -> PropertiesConf:
        """Adds a line at the end, in the file's own style; removing that line restores the bytes."""
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
        """Whether only the value of one entry of ``before`` differs."""
        expected = [(entry.key, value if entry is changed else entry.value) for entry in before.entries]
        return [(entry.key, entry.value) for entry in self.entries] == expected


def parse_properties(content: bytes | None, name: str, in_image: bool = False) -> PropertiesConf:
    """A properties file; an absent one sets nothing.

    Args:
        in_image: it is read in a container, so its paths are not of this machine.

    Raises:
        TargetError: Spark itself could not read it.
    """
    text = (content or b"").decode("utf-8", "surrogateescape")
    return PropertiesConf(text, name, entries_of(text, name), not in_image)


def _ways_to_write(written: str, old: str, new: str) -> Iterator[str]:
    """Ways to write ``new`` in place of ``written``, which reads as ``old``; first those that keep most of it."""
    if old and new.startswith(old):
        yield written + escaped(new[len(old) :])
    if new and old.startswith(new):
        tail = escaped(old[len(new) :])
        if written.endswith(tail):
            yield written[: -len(tail)]
    yield escaped(new)
    # A key that stands alone on its line has no separator.
    yield " " + escaped(new)
