"""A conf that a server keeps as a map of strings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import TargetError


@dataclass(frozen=True, slots=True)
class MapConf(TargetConf):
    """A conf without order and layout; its text is a sorted JSON object."""

    values: Mapping[str, str]
    spark_version: str | None = None
    jars_overridden: bool = False

    def items(self) -> dict[str, str]:
        return dict(self.values)

    def with_value(self, key: str, value: str) -> MapConf:
        return replace(self, values={**self.values, key: value})

    def without(self, key: str) -> MapConf:
        return replace(self, values={name: value for name, value in self.values.items() if name != key})

    def render(self) -> bytes:
        return json.dumps(self.values, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8") + b"\n"


def parse_map(content: bytes | None, name: str) -> MapConf:
    """The map in ``content``, as :meth:`MapConf.render` wrote it; no content is an empty map.

    Raises:
        TargetError: it is not a JSON object of strings.
    """
    try:
        values = json.loads(content) if content is not None else {}
    except ValueError as error:
        raise TargetError(f"{name}: sparkConf cannot be read: {error}.") from error
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise TargetError(f"{name}: sparkConf is not a map of keys to strings.")
    return MapConf(values)
