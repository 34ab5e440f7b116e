"""The ``sparkConf`` of a Spark operator's manifest, a SparkApplication or ScheduledSparkApplication.

Both operators are known: Kubeflow's (``sparkoperator.k8s.io``) and Apache's own (``spark.apache.org``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from aqe_plugin.conf.stores.kubernetes_address import KINDS, jars_beside
from aqe_plugin.conf.syntax.yaml_text import (
    child,
    documents_of,
    is_block,
    line_end_after,
    line_start_before,
    quoted,
    text_of,
    without_line,
)
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError, TargetError

_CONF = "sparkConf"
_STRING = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class _Setting:
    """One key of ``sparkConf``, with the offsets of its key and its value in the text."""

    key: str
    value: str
    key_start: int
    value_start: int
    value_end: int
    style: str | None
    is_string: bool
    on_one_line: bool


@dataclass(frozen=True, slots=True)
class ManifestConf(TargetConf):
    """The conf of one manifest.

    Attributes:
        document: index of the manifest's document in the file.
        spec_start: offset of the first key of the application's spec.
        conf_start: offset of the key ``sparkConf``, ``None`` when there is none.
        jars_elsewhere: of :func:`jars_beside`.
    """

    text: str
    name: str
    document: int
    spec_start: int
    conf_start: int | None
    settings: tuple[_Setting, ...]
    spark_version: str | None = None
    jars_elsewhere: str = ""

    def items(self) -> dict[str, str]:
        return {setting.key: setting.value for setting in self.settings}

    def remarks(self) -> tuple[str, ...]:
        return tuple(
            f"{setting.key}: {setting.value} is not a string in YAML, and Kubernetes refuses it: put it in quotes."
            for setting in self.settings
            if not setting.is_string
        )

    def with_value(self, key: str, value: str) -> ManifestConf:
        setting = self._find(key)
        if setting is not None and setting.value == value:
            return self
        if setting is None:
            text = self._text_with_line(f"{quoted(key, None)}: {quoted(value, chr(34))}")
        else:
            text = self.text[: setting.value_start] + quoted(value, setting.style) + self.text[setting.value_end :]
        return self._reparsed(text, {**self.items(), key: value})

    def without(self, key: str) -> ManifestConf:
        setting = self._find(key)
        if setting is None:
            return self
        begin = line_start_before(self.text, setting.key_start)
        text = without_line(self.text, begin, line_end_after(self.text, setting.value_end))
        if len(self.settings) == 1 and self.conf_start is not None:
            header = line_start_before(text, self.conf_start)
            header_end = line_end_after(text, self.conf_start)
            if text[header:header_end].strip() == f"{_CONF}:":
                text = without_line(text, header, header_end)
        return self._reparsed(text, {name: value for name, value in self.items().items() if name != key})

    def render(self) -> bytes:
        return self.text.encode("utf-8")

    def _find(self, key: str) -> _Setting | None:
        """The setting, if any; a value that is not on one line is refused, since it is about to change."""
        setting = next((setting for setting in self.settings if setting.key == key), None)
        if setting is not None and not setting.on_one_line:
            line = 1 + self.text.count("\n", 0, setting.key_start)
            raise ConflictError(
                f"{self.name}, line {line}: {key} is an alias or spans lines and cannot be changed safely. "
                "Write its value on the key's own line."
            )
        return setting

    def _text_with_line(self, line: str) -> str:
        """The text with ``line`` in ``sparkConf``, which is made if necessary."""
        text = self.text
        end = "\r\n" if "\r\n" in text else "\n"
        if self.conf_start is None:
            at, indent = line_start_before(text, self.spec_start), self._indent(self.spec_start)
            line = f"{_CONF}:{end}{indent}  {line}"
        elif not self.settings:
            at, indent = line_end_after(text, self.conf_start), self._indent(self.conf_start) + "  "
        elif self.settings[-1].on_one_line:
            last = self.settings[-1]
            at, indent = line_end_after(text, last.value_end), self._indent(last.key_start)
        else:
            first = self.settings[0].key_start
            at, indent = line_start_before(text, first), self._indent(first)
        if text[:at].endswith("\n"):
            return f"{text[:at]}{indent}{line}{end}{text[at:]}"
        return f"{text[:at]}{end}{indent}{line}{text[at:]}"

    def _indent(self, position: int) -> str:
        return self.text[line_start_before(self.text, position) : position]

    def _reparsed(self, text: str, expected: dict[str, str]) -> ManifestConf:
        changed = parse_manifest(text, self.name, self.document, documents_of(text, self.name)[self.document])
        if changed.items() != expected:
            raise ConflictError(
                f"{self.name}: {_CONF} is written in a way that cannot be changed safely. "
                "Write one key and its value a line."
            )
        return changed


def spec_path(root: Node) -> tuple[str, ...] | None:
    """The path of the application's spec, ``None`` when the document is not a Spark operator's manifest."""
    group, kind = text_of(child(root, "apiVersion")).partition("/")[0], text_of(child(root, "kind"))
    return next((one.spec for one in KINDS.values() if one.spec and (one.group, one.name) == (group, kind)), None)


def parse_manifest(text: str, name: str, document: int, root: MappingNode) -> ManifestConf:
    """The conf of the manifest ``root``.

    Raises:
        TargetError: its spec or ``sparkConf`` is not what the operator expects.
    """
    spec = child(root, *(spec_path(root) or ("spec",)))
    if not isinstance(spec, MappingNode) or not spec.value or not is_block(spec):
        raise TargetError(f"{name}: the application has no spec with one key a line.")
    conf_key = next((key for key, _ in spec.value if text_of(key) == _CONF), None)
    version = text_of(child(spec, "sparkVersion")) or text_of(child(spec, "runtimeVersions", "sparkVersion"))
    jars = child(spec, "deps", "jars")
    return ManifestConf(
        text=text,
        name=name,
        document=document,
        spec_start=spec.start_mark.index,
        conf_start=None if conf_key is None else conf_key.start_mark.index,
        settings=_settings(text, name, child(spec, _CONF)),
        spark_version=version or None,
        jars_elsewhere=jars_beside(jars is not None and bool(jars.value), text_of(child(spec, "jars"))),
    )


def _settings(text: str, name: str, conf: Node | None) -> tuple[_Setting, ...]:
    if conf is None or (isinstance(conf, ScalarNode) and conf.value in ("", "~", "null")):
        return ()
    if not isinstance(conf, MappingNode):
        raise TargetError(f"{name}, line {conf.start_mark.line + 1}: {_CONF} is not a mapping of keys to values.")
    if not is_block(conf) or conf.anchor is not None:
        raise ConflictError(
            f"{name}, line {conf.start_mark.line + 1}: {_CONF} is written in braces or has an anchor and cannot be "
            "changed safely. Write one key and its value a line."
        )
    settings = tuple(_setting(text, name, key, value) for key, value in conf.value)
    keys = [setting.key for setting in settings]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ConflictError(f"{name}: {_CONF} holds {', '.join(twice)} twice, which YAML forbids. Keep one of them.")
    return settings


def _setting(text: str, name: str, key: Node, value: Node) -> _Setting:
    if text_of(key) in ("", "<<") or not isinstance(value, ScalarNode):
        raise ConflictError(
            f"{name}, line {key.start_mark.line + 1}: {_CONF} holds more than keys with plain values (a merge, a list "
            "or a mapping). Write each key with its value."
        )
    start, end = value.start_mark.index, value.end_mark.index
    written_once = value.style not in ("|", ">") and value.anchor is None and start < end
    return _Setting(
        key=text_of(key),
        value=text_of(value),
        key_start=key.start_mark.index,
        value_start=start,
        value_end=end,
        style=value.style,
        is_string=value.tag == _STRING,
        on_one_line=written_once and key.end_mark.index <= start <= end <= line_end_after(text, key.end_mark.index),
    )
