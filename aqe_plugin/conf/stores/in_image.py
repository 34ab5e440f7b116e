"""Confs of Spark that runs in a container image, as an API server holds them: text, or a map of strings."""

from __future__ import annotations

import json
from dataclasses import dataclass

from aqe_plugin.conf.syntax.properties import PropertiesConf
from aqe_plugin.errors import ConflictError, TargetError

__all__ = ["FileInImage", "MapConf", "TextConf", "parse_map"]

_JARS = "spark.jars"


class FileInImage:
    """What any ``spark-defaults.conf`` is that a container image is given, wherever that keeps its text."""

    __slots__ = ()

    inner: PropertiesConf

    @property
    def spark_version(self) -> str | None:
        return None

    @property
    def runs_on_this_machine(self) -> bool:
        return False

    def get(self, key: str) -> str | None:
        return self.inner.get(key)

    def items(self) -> dict[str, str]:
        return self.inner.items()

    def remarks(self) -> tuple[str, ...]:
        return self.inner.remarks()


@dataclass(frozen=True, slots=True)
class TextConf(FileInImage):
    """A ``spark-defaults.conf`` inside a ConfigMap; see :class:`~aqe_plugin.conf.stores.port.TargetConf`."""

    inner: PropertiesConf

    def with_value(self, key: str, value: str) -> TextConf:
        return TextConf(self.inner.with_value(key, value))

    def without(self, key: str) -> TextConf:
        return TextConf(self.inner.without(key))

    def render(self) -> bytes:
        return self.inner.render()


@dataclass(frozen=True, slots=True)
class MapConf:
    """The ``sparkConf`` of an application; see :class:`~aqe_plugin.conf.stores.port.TargetConf`.

    Attributes:
        values: what is set; an API server keeps no order of it.
        jars_listed: ``spec.deps.jars`` lists jars, which overrule ``spark.jars``.
    """

    values: dict[str, str]
    name: str
    spark_version: str | None
    jars_listed: bool

    @property
    def runs_on_this_machine(self) -> bool:
        return False

    def get(self, key: str) -> str | None:
        return self.values.get(key)

    def items(self) -> dict[str, str]:
        return dict(self.values)

    def remarks(self) -> tuple[str, ...]:
        return ()

    def with_value(self, key: str, value: str) -> MapConf:
        if key == _JARS and self.jars_listed and self.values.get(key) != value:
            raise ConflictError(
                f"{self.name}: spec.deps.jars lists jars, which overrule {_JARS}. "
                "Move them to spark.jars in sparkConf, separated by commas, and try again."
            )
        return self._with({**self.values, key: value})

    def without(self, key: str) -> MapConf:
        return self._with({name: value for name, value in self.values.items() if name != key})

    def render(self) -> bytes:
        return json.dumps(self.values, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8") + b"\n"

    def _with(self, values: dict[str, str]) -> MapConf:
        return MapConf(values, self.name, self.spark_version, self.jars_listed)


def parse_map(content: bytes | None, name: str, spark_version: str | None, jars_listed: bool) -> MapConf:
    """The map in ``content``, which is what ``render`` wrote.

    Raises:
        TargetError: it is no JSON object of strings.
    """
    try:
        values = json.loads(content) if content is not None else {}
    except ValueError as error:
        raise TargetError(f"{name}: sparkConf cannot be read: {error}.") from error
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise TargetError(f"{name}: sparkConf is no map of keys to strings.")
    return MapConf(values, name, spark_version, jars_listed)
