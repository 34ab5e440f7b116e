"""A conf that is kept on a Kubernetes API server: in a ConfigMap, or as the ``sparkConf`` of an application.

Only that is ever sent, as a patch that names the version it was made from, so that nothing else of the object is
touched and nobody's change is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.stores.address import parse_address
from aqe_plugin.conf.stores.api_server import ObjectApi, connect
from aqe_plugin.conf.stores.in_image import MapConf, TextConf, parse_map
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.port import TargetConf
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import ConflictError, TargetError
from aqe_plugin.machine.state import make_state_folder, state_home

__all__ = ["LiveStore", "open_store"]

_TRIES = 5
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class LiveStore:
    """An object on an API server; see :class:`~aqe_plugin.conf.stores.port.ConfStore`.

    Attributes:
        state: the folder on this machine that journals are kept below.
        spark_version: of an application, as its spec says; ``jars_listed``: its spec lists jars of its own.
    """

    api: ObjectApi
    state: Path
    spark_version: str | None
    jars_listed: bool

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.api.name

    @property
    def effect(self) -> str:
        return f"{self.name} is changed. {self.api.address.kind.effect}"

    @property
    def journal_folder(self) -> Path:
        address = self.api.address
        server = _UNSAFE.sub("_", self.api.server.split("://")[-1])
        place = self.state / "aqe-plugin" / "kubernetes" / server / self.api.namespace
        return place / address.kind_name / address.name / ("sparkConf" if address.kind.spec else address.key)

    def make_journal_folder(self) -> None:
        make_state_folder(self.journal_folder)

    def read(self) -> bytes | None:
        return self._content(self.api.get())

    def parse(self, content: bytes | None) -> TargetConf:
        if self.api.address.kind.spec:
            return parse_map(content, self.name, self.spark_version, self.jars_listed)
        return TextConf(parse_properties(content or b"", f"{self.name}, {self.api.address.key}"))

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        self._send(before, after, dry_run=True)
        return f"{self.api.server} would take it. {self.api.address.kind.effect}"

    def replace(self, before: bytes | None, after: bytes | None) -> None:
        self._send(before, after, dry_run=False)

    def leftovers(self) -> list[Path]:
        return []

    def why_not_loaded(self) -> str | None:
        return None

    def _send(self, before: bytes | None, after: bytes | None, dry_run: bool) -> None:
        for _ in range(_TRIES):
            found = self.api.get()
            present = self._content(found)
            if present == after:
                # An answer that was lost on its way: the server had taken it.
                return
            if present != before:
                keys = changes_between(self._items(before), self._items(present), "")
                differs = ", ".join(change.key for change in keys) or "comments or layout"
                raise ConflictError(
                    f"{self.name}: somebody else changed it meanwhile ({differs}), and nothing was written. "
                    "Look at it and try again."
                )
            if found.get("immutable"):
                raise ConflictError(
                    f"{self.name}: the ConfigMap is immutable. Make one under a new name and install into that."
                )
            version = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}
            if self.api.patch({**version, **self._patch(before, after)}, dry_run):
                return
        raise ConflictError(
            f"{self.name}: somebody else changed it {_TRIES} times while this was being written, and nothing was. "
            "Try again when they are done."
        )

    def _content(self, found: Mapping[str, Any]) -> bytes | None:
        address = self.api.address
        if not address.kind.spec:
            if address.key in (found.get("binaryData") or {}):
                raise TargetError(f"{self.name}: {address.key} stands in binaryData, and Spark's conf is text.")
            text = (found.get("data") or {}).get(address.key)
            return None if text is None else str(text).encode("utf-8")
        values = _spec(found, address.kind.spec, self.name).get("sparkConf")
        return None if values is None else MapConf(values, self.name, None, False).render()

    def _patch(self, before: bytes | None, after: bytes | None) -> dict[str, Any]:
        """What makes ``before`` into ``after``; in a merge patch, null takes a member out."""
        address = self.api.address
        if not address.kind.spec:
            return {"data": {address.key: None if after is None else after.decode("utf-8")}}
        old, new = self._items(before), self._items(after)
        changed: dict[str, str | None] = {key: value for key, value in new.items() if old.get(key) != value}
        changed |= {key: None for key in old if key not in new}
        patch: dict[str, Any] = {"sparkConf": None if after is None else changed}
        for step in reversed(address.kind.spec):
            patch = {step: patch}
        return patch

    def _items(self, content: bytes | None) -> dict[str, str]:
        return self.parse(content).items()


def open_store(
    text: str, environment: Mapping[str, str], say: Callable[[str], None], patience: Patience | None = None
) -> LiveStore:
    """The object that ``text`` names, which is looked at once.

    Args:
        say: is told, in a sentence, when the server is waited for.

    Raises:
        ConfError: it names none.
        TargetError: there is no such object.
        ClusterError: the API server cannot be asked.
    """
    address = parse_address(text)
    api = connect(address, environment, patience or Patience(), say)
    found = api.get()
    spec = _spec(found, address.kind.spec, api.name) if address.kind.spec else {}
    version = spec.get("sparkVersion") or (spec.get("runtimeVersions") or {}).get("sparkVersion")
    jars = (spec.get("deps") or {}).get("jars")
    return LiveStore(api, state_home(environment), version, bool(jars))


def _spec(found: Mapping[str, Any], path: tuple[str, ...], name: str) -> Mapping[str, Any]:
    inner: Any = found
    for step in path:
        inner = inner.get(step) if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping):
        raise TargetError(f"{name}: the application has no {'.'.join(path)}.")
    return inner
