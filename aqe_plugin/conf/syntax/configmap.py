"""A ``spark-defaults.conf`` in the data of a Kubernetes ConfigMap, written as a literal block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os.path import commonprefix

from ruamel.yaml.nodes import MappingNode, ScalarNode

from aqe_plugin.conf.syntax.properties import PropertiesConf, parse_properties
from aqe_plugin.conf.syntax.yaml_text import child, documents_of, line_end_after, line_start_before, text_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError, TargetError

CONF_FILE = "spark-defaults.conf"
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class ConfigMapConf(TargetConf):
    """The conf inside one ConfigMap.

    Attributes:
        document: index of the ConfigMap's document in the file.
        start: offset of the block's first line.
        end: offset behind its last line that is not blank.
        indent: the white space before each of its lines.
        inner: the block without the indent.
    """

    text: str
    name: str
    document: int
    start: int
    end: int
    indent: str
    inner: PropertiesConf

    @property
    def not_read_by(self) -> str:
        return self.inner.not_read_by

    def items(self) -> dict[str, str]:
        return self.inner.items()

    def remarks(self) -> tuple[str, ...]:
        return self.inner.remarks()

    def with_value(self, key: str, value: str) -> ConfigMapConf:
        return self._with_inner(self.inner.with_value(key, value))

    def without(self, key: str) -> ConfigMapConf:
        return self._with_inner(self.inner.without(key))

    def render(self) -> bytes:
        return self.text.encode("utf-8")

    def _with_inner(self, inner: PropertiesConf) -> ConfigMapConf:
        """Replaces the lines that changed; all others keep their indent as it is written."""
        old, new = _LINES.findall(self.inner.text), _LINES.findall(inner.text)
        outer = _LINES.findall(self.text[self.start : self.end])
        alike_before = len(commonprefix((old, new)))  # noqa: RUF071 - of lists of lines
        alike_after = len(commonprefix((old[alike_before:][::-1], new[alike_before:][::-1])))  # noqa: RUF071
        fresh = [self.indent + line if line.strip() else line for line in new[alike_before : len(new) - alike_after]]
        block = "".join(outer[:alike_before] + fresh + outer[len(outer) - alike_after :])
        text = self.text[: self.start] + block + self.text[self.end :]
        changed = parse_configmap(text, self.name, self.document, documents_of(text, self.name)[self.document])
        if changed.items() != inner.items():
            raise _not_safe(self.name, 1 + self.text.count("\n", 0, self.start))
        return changed


def parse_configmap(text: str, name: str, document: int, root: MappingNode) -> ConfigMapConf:
    """The conf in the ConfigMap ``root``.

    Raises:
        ConflictError: the ConfigMap cannot be changed, or the conf is not written as a literal block.
    """
    if text_of(child(root, "immutable")).lower() == "true":
        raise ConflictError(f"{name}: the ConfigMap is immutable. Create one under a new name and install into that.")
    data = child(root, "data")
    assert isinstance(data, MappingNode)
    key, value = next((key, value) for key, value in data.value if text_of(key) == CONF_FILE)
    line = value.start_mark.line + 1
    if not isinstance(value, ScalarNode) or value.style != "|" or value.anchor is not None:
        raise ConflictError(
            f"{name}, line {line}: {CONF_FILE} is not written as a literal block and cannot be changed safely. "
            f"Write `{CONF_FILE}: |` and below it the lines, indented."
        )
    start = line_end_after(text, value.start_mark.index)
    parent = text[line_start_before(text, key.start_mark.index) : key.start_mark.index]
    indent, end = _block(text, start, value.end_mark.index, parent)
    inner = "".join(one.removeprefix(indent) for one in _LINES.findall(text[start:end]))
    conf = parse_properties(
        inner.encode("utf-8", "surrogatepass"), f"{name}, {CONF_FILE} from line {line + 1}", in_image=True
    )
    if conf.items() != parse_properties(value.value.encode("utf-8", "surrogatepass"), name).items():
        raise _not_safe(name, line)
    return ConfigMapConf(text, name, document, start, end, indent, conf)


def _block(text: str, start: int, end: int, parent: str) -> tuple[str, int]:
    """The indent of the block's lines, and the offset of its end without blank lines."""
    lines = _LINES.findall(text[start:end])
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return parent + "  ", start
    return first[: len(first) - len(first.lstrip(" "))], start + sum(len(line) for line in lines)


def _not_safe(name: str, line: int) -> TargetError:
    return TargetError(
        f"{name}, line {line}: {CONF_FILE} reads differently with and without its indent (tabs, or characters that "
        "YAML takes for line ends). Indent all of its lines with the same spaces."
    )
