"""YAML parsed for the offsets of its values; edits cut into the text, so comments and layout stay.

Kubernetes reads the same text with another parser; what the two could read differently is refused.
"""

from __future__ import annotations

import json
import re

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from aqe_plugin.errors import TargetError

# A string that every YAML parser reads alike without quotes.
_PLAIN = re.compile(r"(?!(?i:true|false|yes|no|on|off|null|y|n)\Z)[A-Za-z/][A-Za-z0-9_./,$-]*(?::/[A-Za-z0-9_./,$-]*)*")


def documents_of(text: str, name: str) -> list[MappingNode]:
    """The documents of a YAML file that are mappings.

    Raises:
        TargetError: it is not YAML; the message has the line and the parser's reason.
    """
    try:
        nodes: list[Node | None] = list(YAML(typ="safe", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        place = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise TargetError(f"{name}{place}: not YAML: {error.problem or error.context}.") from error
    except RecursionError as error:
        raise TargetError(f"{name}: not Kubernetes YAML: mappings and lists are nested too deeply.") from error
    except YAMLError as error:
        raise TargetError(f"{name}: not YAML: {' '.join(str(error).split())}.") from error
    return [node for node in nodes if isinstance(node, MappingNode)]


def child(node: Node | None, *path: str) -> Node | None:
    """The node at ``path`` below ``node``, if any."""
    for key in path:
        if not isinstance(node, MappingNode):
            return None
        node = next((value for name, value in node.value if text_of(name) == key), None)
    return node


def text_of(node: Node | None) -> str:
    """The text of a scalar, empty for any other node."""
    return str(node.value) if isinstance(node, ScalarNode) else ""


def is_block(node: Node | None) -> bool:
    """Whether a node is a mapping with one key a line, not one in braces."""
    return isinstance(node, MappingNode) and not node.flow_style


def quoted(value: str, style: str | None) -> str:
    """``value`` as a scalar on one line, in the quoting ``style`` where that is safe."""
    if style == "'" and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    if style is None and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def line_start_before(text: str, position: int) -> int:
    """The offset of the start of the line at ``position``."""
    return text.rfind("\n", 0, position) + 1


def line_end_after(text: str, position: int) -> int:
    """The offset of the start of the next line after ``position``."""
    return text.find("\n", position) + 1 or len(text)


def without_line(text: str, begin: int, end: int) -> str:
    """``text`` without its lines from ``begin`` to ``end``; without a final line end it keeps none."""
    if end > begin and text[end - 1 : end] != "\n":
        before = text[:begin]
        begin -= 2 if before.endswith("\r\n") else 1 if before.endswith("\n") else 0
    return text[:begin] + text[end:]
