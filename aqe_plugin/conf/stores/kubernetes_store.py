"""A conf on a Kubernetes API server: in a ConfigMap, or as the ``sparkConf`` of an application.

A patch holds that conf, and names the version it was made from, so the rest of the object stays untouched and nobody's
change is lost. What is recorded about a change is on the machine that made it. The server notes which machine that was,
as the field manager of the patch, so that another machine can name it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.stores.api_server import MANAGER, ObjectApi, Patience, connect, manager_of
from aqe_plugin.conf.stores.kubernetes_address import jars_beside, parse_address
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import ConflictError, TargetError
from aqe_plugin.machine.disk import state_home


@dataclass(frozen=True, slots=True)
class MapConf(TargetConf):
    """A conf without order and layout; its text is a sorted JSON object."""

    values: Mapping[str, str]
    spark_version: str | None = None
    jars_elsewhere: str = ""

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


_TRIES = 5
# By name, the labels and annotations, and the field manager.
# argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking, fluxcd.io/flux/components/kustomize/kustomizations
_KEEPERS: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        "Argo CD": (("argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"), "argocd-controller"),
        "Flux": (("kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"), "kustomize-controller"),
    }
)
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class KubernetesStore(ConfStore):
    """An object on an API server.

    Attributes:
        state: the folder on this machine that holds the journals.
        spec: the spec of an application, empty for a ConfigMap.
        keeper: as in the store's interface; ``changed_by`` likewise.
    """

    api: ObjectApi
    state: Path
    spec: Mapping[str, Any]
    keeper: str
    changed_by: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.api.name

    @property
    def effect(self) -> str:
        kept = (
            f" {self.keeper} keeps it as its repository says, and may undo this: change it there."
            if self.keeper
            else ""
        )
        return f"{self.name} is changed. {self.api.address.kind.effect}{kept}"

    @property
    def journal_folder(self) -> Path:
        address = self.api.address
        server = _UNSAFE.sub("_", self.api.server.split("://")[-1])
        folder = self.state / "aqe-plugin" / "kubernetes" / server / self.api.namespace
        return folder / address.kind_name / address.name / ("sparkConf" if address.kind.spec else address.key)

    @property
    def keeps_texts(self) -> bool:
        return False

    def noted_as(self, who: str) -> str:
        return manager_of(who).removeprefix(MANAGER)

    def read(self) -> bytes | None:
        return self._content(self.api.get())

    def parse(self, content: bytes | None) -> TargetConf:
        if not self.api.address.kind.spec:
            return parse_properties(content, f"{self.name}, {self.api.address.key}", in_image=True)
        version = self.spec.get("sparkVersion") or (self.spec.get("runtimeVersions") or {}).get("sparkVersion")
        jars = jars_beside(bool((self.spec.get("deps") or {}).get("jars")), self.spec.get("jars") or "")
        return replace(parse_map(content, self.name), spark_version=version, jars_elsewhere=jars)

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        self._send(before, after)
        kept = f" {self.keeper} keeps it as its repository says: --format patch is for there." if self.keeper else ""
        return f"{self.api.server} would accept it. {self.api.address.kind.effect}{kept}"

    def replace(self, before: bytes | None, after: bytes | None, who: str, mode: int | None = None) -> None:
        self._send(before, after, who)

    def patch(self, before: bytes | None, after: bytes | None) -> str:
        address = self.api.address
        whole = {
            "apiVersion": "/".join(filter(None, (address.kind.group, address.kind.version))),
            "kind": address.kind.name,
            "metadata": {"name": address.name, "namespace": self.api.namespace},
            **self._patch(before, after),
        }
        return json.dumps(whole, indent=2, ensure_ascii=False)

    def _send(self, before: bytes | None, after: bytes | None, who: str | None = None) -> None:
        """Sends the change that ``who`` makes; of nobody's the server only tries it."""
        for _ in range(_TRIES):
            found = self.api.get()
            present = self._content(found)
            if present == after:
                # The server took an earlier patch, and its answer was lost.
                return
            if present != before:
                keys = changes_between(self._items(before), self._items(present), "")
                differs = ", ".join(change.key for change in keys) or "comments or layout"
                raise ConflictError(
                    f"{self.name}: somebody else changed it in the meantime ({differs}); nothing was written. "
                    "Look at it and try again."
                )
            if found.get("immutable"):
                raise ConflictError(
                    f"{self.name}: the ConfigMap is immutable. Create one under a new name and install into that."
                )
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            if self.api.patch({**self._patch(before, after), "metadata": metadata}, who):
                return
        raise ConflictError(
            f"{self.name}: somebody else changed it {_TRIES} times during the write; nothing was written. "
            "Try again later."
        )

    def _content(self, found: Mapping[str, Any]) -> bytes | None:
        address = self.api.address
        if not address.kind.spec:
            if address.key in (found.get("binaryData") or {}):
                raise TargetError(f"{self.name}: {address.key} is in binaryData, and a Spark conf is text.")
            text = (found.get("data") or {}).get(address.key)
            return None if text is None else str(text).encode("utf-8")
        values = _spec(found, address.kind.spec, self.name).get("sparkConf")
        return None if values is None else MapConf(values).render()

    def _patch(self, before: bytes | None, after: bytes | None) -> dict[str, Any]:
        """The merge patch from ``before`` to ``after``; null removes a member."""
        address = self.api.address
        if not address.kind.spec:
            return {"data": {address.key: None if after is None else after.decode("utf-8")}}
        changes = changes_between(self._items(before), self._items(after), "")
        changed = None if after is None else {change.key: change.new for change in changes}
        patch: dict[str, Any] = {"sparkConf": changed}
        for step in reversed(address.kind.spec):
            patch = {step: patch}
        return patch

    def _items(self, content: bytes | None) -> dict[str, str]:
        return self.parse(content).items()


def open_store(
    text: str, environment: Mapping[str, str], say: Callable[[str], None], patience: Patience | None = None
) -> KubernetesStore:
    """The object that ``text`` names, read once.

    Args:
        say: receives a sentence before each wait for the server.
    """
    address = parse_address(text)
    api = connect(address, environment, patience or Patience(), say)
    found = api.get()
    spec = _spec(found, address.kind.spec, api.name) if address.kind.spec else {}
    return KubernetesStore(api, state_home(environment), spec, _keeper(found), _changed_by(found))


def _changed_by(found: Mapping[str, Any]) -> dict[str, str]:
    """Who changed by aqe-plugin what the object holds, and when."""
    noted = (found.get("metadata") or {}).get("managedFields") or ()
    writers = {str(one.get("manager", "")): str(one.get("time", "at an unknown time")) for one in noted}
    return {name.removeprefix(MANAGER): at for name, at in writers.items() if name.startswith(MANAGER)}


def _keeper(found: Mapping[str, Any]) -> str:
    """Known by the marks that it puts on what it deploys, or by its name among those who wrote the object."""
    metadata = found.get("metadata") or {}
    marks = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
    writers = {writer.get("manager") for writer in metadata.get("managedFields") or ()}
    return next((name for name, (mark, writer) in _KEEPERS.items() if {*mark} & marks or writer in writers), "")


def _spec(found: Mapping[str, Any], path: tuple[str, ...], name: str) -> Mapping[str, Any]:
    inner: Any = found
    for step in path:
        inner = inner.get(step) if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping):
        raise TargetError(f"{name}: the application has no {'.'.join(path)}.")
    return inner
