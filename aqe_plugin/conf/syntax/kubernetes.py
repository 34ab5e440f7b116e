"""Finds the one document of a YAML file that holds a Spark conf."""

from __future__ import annotations

from ruamel.yaml.nodes import MappingNode

from aqe_plugin.conf.syntax.configmap import CONF_FILE, parse_configmap
from aqe_plugin.conf.syntax.manifest import parse_manifest, spec_path
from aqe_plugin.conf.syntax.yaml_text import child, documents_of, text_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError, TargetError

_EXPECTED = f"a SparkApplication, a ScheduledSparkApplication, or a ConfigMap with {CONF_FILE} in its data"


def parse_kubernetes(text: str, name: str) -> TargetConf:
    """The Spark conf in ``text``.

    Raises:
        TargetError: it is not YAML, or holds no Spark conf.
        ConflictError: it holds several, or one that cannot be changed.
    """
    documents = documents_of(text, name)
    found = [(number, root) for number, root in enumerate(documents) if _holds_conf(root)]
    if not found:
        held = ", ".join(_title(root) for root in documents) or "nothing"
        raise TargetError(f"{name}: holds {held}; expected {_EXPECTED}.")
    if len(found) > 1:
        held = ", ".join(_title(root) for _, root in found)
        raise ConflictError(f"{name}: holds several Spark confs ({held}). Give each a file of its own.")
    number, root = found[0]
    parse = parse_configmap if _is_configmap(root) else parse_manifest
    return parse(text, name, number, root)


def _holds_conf(root: MappingNode) -> bool:
    return spec_path(root) is not None or (_is_configmap(root) and child(root, "data", CONF_FILE) is not None)


def _is_configmap(root: MappingNode) -> bool:
    return text_of(child(root, "kind")) == "ConfigMap"


def _title(root: MappingNode) -> str:
    kind, title = text_of(child(root, "kind")) or "a mapping without a kind", text_of(child(root, "metadata", "name"))
    return f"{kind} {title}".rstrip()
