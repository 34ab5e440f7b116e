"""YAML read for the places of its values; it is never written anew, so comments and layout stay.

Kubernetes reads the same text with another parser; whatever the two could read differently is refused, not guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from aqe_plugin.errors import TargetError

__all__ = [
    "child",
    "documents_of",
    "is_block",
    "line_end_after",
    "line_start_before",
    "pairs_of",
    "quoted",
    "text_of",
    "without_line",
]

_LINE_END = re.compile(r"\r\n|\n|\Z")
# What every YAML parser reads as a string without quotes, and as this one.
_PLAIN = re.compile(r"(?!(?i:true|false|yes|no|on|off|null|y|n)\Z)[A-Za-z/][A-Za-z0-9_./,$-]*(?::/[A-Za-z0-9_./,$-]*)*")


def documents_of(text: str, name: str) -> list[MappingNode]:
    """The documents of a YAML file that are mappings.

    Raises:
        TargetError: it is no YAML, with the place and what the parser expected.
    """
    try:
        nodes: list[Node | None] = list(YAML(typ="safe", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        place = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise TargetError(f"{name}{place}: not YAML: {error.problem or error.context}.") from error
    except RecursionError as error:
        raise TargetError(f"{name}: not YAML of Kubernetes: mappings and lists in too many others.") from error
    except YAMLError as error:
        raise TargetError(f"{name}: not YAML: {' '.join(str(error).split())}.") from error
    return [node for node in nodes if isinstance(node, MappingNode)]


def pairs_of(mapping: MappingNode) -> Iterator[tuple[Node, Node]]:
    """Keys and values in order."""
    yield from mapping.value


def child(node: Node | None, *path: str) -> Node | None:
    """What stands at ``path`` below ``node``, ``None`` when nothing does."""
    for key in path:
        if not isinstance(node, MappingNode):
            return None
        node = next((value for name, value in pairs_of(node) if text_of(name) == key), None)
    return node


def text_of(node: Node | None) -> str:
    """What a scalar says, empty for anything else."""
    return str(node.value) if isinstance(node, ScalarNode) else ""


def is_block(node: Node | None) -> bool:
    """Whether it is a mapping with one key a line, not one in braces."""
    return isinstance(node, MappingNode) and not node.flow_style


def quoted(value: str, style: str | None) -> str:
    """``value`` as a scalar on one line, in the style that stood there before as far as that is safe."""
    if style == "'" and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    if style is None and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def line_start_before(text: str, position: int) -> int:
    """Where the line begins that holds ``position``."""
    return text.rfind("\n", 0, position) + 1


def line_end_after(text: str, position: int) -> int:
    """Where the line after the one that holds ``position`` begins."""
    found: Any = _LINE_END.search(text, position)
    return int(found.end())


def without_line(text: str, begin: int, end: int) -> str:
    """``text`` without its lines from ``begin`` to ``end``; a file that had no end of line at its end keeps none."""
    if end > begin and text[end - 1 : end] != "\n":
        before = text[:begin]
        begin -= 2 if before.endswith("\r\n") else 1 if before.endswith("\n") else 0
    return text[:begin] + text[end:]
