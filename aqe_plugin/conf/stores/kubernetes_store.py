"""A conf on a Kubernetes API server: in a ConfigMap, or as the ``sparkConf`` of an application.

A patch holds that conf, and in an annotation what aqe-plugin recorded about it. It names the version it was made from,
so the rest of the object stays untouched and nobody's change is lost. What was recorded travels in the same patch as
the change: whoever sees the one sees the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.stores.api_server import ObjectApi, connect
from aqe_plugin.conf.stores.kubernetes_address import parse_address
from aqe_plugin.conf.stores.map_conf import MapConf, parse_map
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.shared_state import (
    Lead,
    SharedState,
    annotation_name,
    packed,
    room_for,
    signature,
    unpacked,
)
from aqe_plugin.conf.stores.state_folder import StateFolder
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.conf.target import ConfStore, TargetConf
from aqe_plugin.errors import AqePluginError, ConflictError, StateError, TargetError, WriteError
from aqe_plugin.machine.disk import digest, state_home

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
        keeper: as in the store's interface.
        uid: the object's own. An object of the same name in another cluster has another one, and so has this one when
            it is made anew.
    """

    api: ObjectApi
    state: Path
    spec: Mapping[str, Any]
    keeper: str = ""
    uid: str = ""

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
    def other_copies(self) -> str:
        return f", on every machine that has a copy, and remove that of the object: {self._removal}"

    def read(self) -> bytes | None:
        return self._content(self.api.get())

    def parse(self, content: bytes | None) -> TargetConf:
        if not self.api.address.kind.spec:
            return parse_properties(content, f"{self.name}, {self.api.address.key}", in_image=True)
        version = self.spec.get("sparkVersion") or (self.spec.get("runtimeVersions") or {}).get("sparkVersion")
        jars = (self.spec.get("deps") or {}).get("jars")
        return replace(parse_map(content, self.name), spark_version=version, jars_overridden=bool(jars))

    def fetch_state(self, takes_back: bool = False) -> None:
        try:
            shared = self._shared(self.api.get())
        except StateError as error:
            if not takes_back:
                raise
            self.api.say(f"{error} Until then this machine's copy counts, and what goes back is recorded there alone.")
            return
        if shared is not None:
            self._take_over(shared)

    def share_state(self, closing: bool = False) -> None:
        try:
            self._share()
        except AqePluginError as error:
            if not closing:
                raise
            self.api.say(
                f"{self.name}: the change is made, but what is recorded about it is on this machine alone, until its "
                f"next change: {error}"
            )

    def look_at_state(self, found: Mapping[str, Any]) -> None:
        """As ``fetch_state``, from the object as it was ``found``, for a command that may change nothing.

        What cannot be brought is reported; this machine's copy then counts.
        """
        try:
            shared = self._shared(found)
            if shared is not None and self._folder.lacks(shared):
                with self.locked():
                    self._take_over(shared)
        except AqePluginError as error:
            self.api.say(f"{error} What is shown of journal and rollouts is this machine's copy.")
            return
        if shared is None and self._annotation in _annotations(found):
            self.api.say(
                f"{self.name}: its annotation {self._annotation} is about another object, from which this one was "
                "copied, so it does not count. The next change replaces it."
            )

    def rehearse(self, before: bytes | None, after: bytes | None) -> str:
        self._send(before, after, dry_run=True)
        kept = f" {self.keeper} keeps it as its repository says: --format patch is for there." if self.keeper else ""
        return f"{self.api.server} would accept it. {self.api.address.kind.effect}{kept}"

    def replace(
        self, before: bytes | None, after: bytes | None, takes_back: bool = False, mode: int | None = None
    ) -> None:
        self._send(before, after, dry_run=False, takes_back=takes_back)

    def patch(self, before: bytes | None, after: bytes | None) -> str:
        address = self.api.address
        whole = {
            "apiVersion": "/".join(filter(None, (address.kind.group, address.kind.version))),
            "kind": address.kind.name,
            "metadata": {"name": address.name, "namespace": self.api.namespace},
            **self._patch(before, after),
        }
        return json.dumps(whole, indent=2, ensure_ascii=False)

    def _send(self, before: bytes | None, after: bytes | None, dry_run: bool, takes_back: bool = False) -> None:
        state = None if dry_run else self._folder.state(self._target)
        for _ in range(_TRIES):
            found = self.api.get()
            try:
                records = {} if state is None else self._records(state, found)
            except (StateError, WriteError):
                # A harmful value must not stay because of its records; share_state says why they are not there.
                if not takes_back:
                    raise
                records = {}
            present = self._content(found)
            if present == after and not records:
                # The server took an earlier patch, and its answer was lost.
                return
            if present not in (before, after):
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
            if self.api.patch({**self._patch(before, after), "metadata": {**metadata, **records}}, dry_run):
                return
        raise self._restless()

    def _share(self) -> None:
        state = self._folder.state(self._target)
        for _ in range(_TRIES):
            found = self.api.get()
            records = self._records(state, found)
            if not records:
                return
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            if self.api.patch({"metadata": {**version, **records}}, dry_run=False):
                return
        raise self._restless()

    def _restless(self) -> ConflictError:
        return ConflictError(
            f"{self.name}: somebody else changed it {_TRIES} times during the write; nothing was written. "
            "Try again later."
        )

    @property
    def _folder(self) -> StateFolder:
        return StateFolder(self.journal_folder)

    @property
    def _place(self) -> str:
        """Where the conf is in a cluster."""
        address = self.api.address
        kept_in = ".".join((*address.kind.spec, "sparkConf")) if address.kind.spec else address.key
        return "/".join((self.api.namespace, address.kind_name, address.name, kept_in))

    @property
    def _target(self) -> str:
        return "/".join(filter(None, (self._place, self.uid)))

    @property
    def _annotation(self) -> str:
        return annotation_name("" if self.api.address.kind.spec else self.api.address.key)

    @property
    def _removal(self) -> str:
        """The command that removes the annotation."""
        address = self.api.address
        resource = ".".join(filter(None, (address.kind.plural, address.kind.group)))
        context = f" --context {address.context}" if address.context else ""
        return f"kubectl{context} annotate -n {self.api.namespace} {resource}/{address.name} {self._annotation}-"

    def _shared(self, found: Mapping[str, Any]) -> SharedState | None:
        """What the object's annotation says; ``None`` when it has none, or that of another object.

        Raises:
            StateError: the annotation cannot be read.
        """
        text = _annotations(found).get(self._annotation)
        if text is None:
            return None
        where = f"{self.name}, annotation {self._annotation}"
        try:
            shared = unpacked(text, where)
        except ValueError as error:
            raise StateError(
                f"{where}: somebody edited it: {error}. It holds journal and rollouts for all machines. Restore "
                f"it, or remove it: {self._removal}. Then the copy of the machine that changes the conf next counts "
                "for all, so change it next from the machine that changed it last."
            ) from error
        return shared if shared.target == self._target or self._came_back(shared, found) else None

    def _came_back(self, shared: SharedState, found: Mapping[str, Any]) -> bool:
        """Whether ``shared`` is of an object of this name that was deleted and restored with its annotations: it holds
        what the journal's last change left, which of a copy for another cluster only an equal conf does."""
        is_of_place = f"{shared.target}/".startswith(f"{self._place}/")
        return is_of_place and digest(self._content(found)) in shared.left

    def _take_over(self, shared: SharedState) -> None:
        news = [line for one in self._folder.beside(shared).values() for line in one.news]
        for aside in self._folder.take_over(shared):
            self.api.say(
                f"{self.name}: this machine recorded something that the object does not know, and {_who(news)} went on "
                f"elsewhere. What the object knows counts; what this machine had is kept in {aside}."
            )

    def _has_news(self, state: SharedState, found: Mapping[str, Any]) -> bool:
        """Whether this machine, which knows ``state``, has records that the object has not, or not as its own.

        Raises:
            ConflictError: the object knows what this machine does not.
            StateError: the annotation cannot be read.
        """
        shared = self._shared(found)
        if shared is None:
            return not state.is_empty
        both = self._folder.beside(shared)
        news = [line for one in both.values() for line in one.news]
        if news:
            raise ConflictError(
                f"{self.name}: {_who(news)} went on with it from another machine in the meantime; nothing was written. "
                "Look (aqe-plugin history) and try again."
            )
        # What came back from a backup is to be the object's own before somebody edits the conf.
        return shared.target != self._target or any(one.lead is Lead.OURS for one in both.values())

    def _records(self, state: SharedState, found: Mapping[str, Any]) -> dict[str, Any]:
        """The part of the object's metadata that shows what this machine recorded; empty when nothing is new.

        Raises:
            WriteError: the object has no room for it.
            ConflictError, StateError: as of :meth:`_has_news`.
        """
        return {"annotations": {self._annotation: self._packed(state, found)}} if self._has_news(state, found) else {}

    def _packed(self, state: SharedState, found: Mapping[str, Any]) -> str:
        room = room_for(self._annotation, _annotations(found))
        text = packed(state, room)
        if text is None:
            raise WriteError(
                f"{self.name}: its journal and rollouts no longer fit into the annotation {self._annotation} ({room:,} "
                "bytes are left for it). When no rollout is under way, begin new ones: move "
                f"{self.journal_folder} away{self.other_copies}."
            )
        return text

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
    """The object that ``text`` names, read once, with what other machines recorded about it.

    Args:
        say: receives a sentence before each wait for the server, and what is odd about the records.
    """
    address = parse_address(text)
    api = connect(address, environment, patience or Patience(), say)
    found = api.get()
    spec = _spec(found, address.kind.spec, api.name) if address.kind.spec else {}
    uid = (found.get("metadata") or {}).get("uid") or ""
    store = KubernetesStore(api, state_home(environment), spec, _keeper(found), str(uid))
    store.look_at_state(found)
    return store


def _annotations(found: Mapping[str, Any]) -> Mapping[str, str]:
    return (found.get("metadata") or {}).get("annotations") or {}


def _who(news: Sequence[bytes]) -> str:
    return signature(news) or "somebody"


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
