"""Objects on the tests' API server, and a way to them."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from api_server import ApiServer
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.stores.api_server import Patience
from aqe_plugin.conf.stores.kubernetes_store import KubernetesStore, open_store
from aqe_plugin.install.controller import carry_out, propose_rollback, propose_tuning
from aqe_plugin.install.journal import Actor, journal_of

__all__ = [
    "ACTOR",
    "APACHES",
    "APPLICATION",
    "CONFIGMAP",
    "JAR",
    "QUICK",
    "SCHEDULED",
    "THEIRS",
    "Machine",
    "ann",
    "bob",
    "here",
    "opened",
    "patches",
    "without_version",
]

JAR = "local:///opt/spark/aqe-plugin-spark-4.1-0.1.0.jar"
CONFIGMAP = "/api/v1/namespaces/spark/configmaps/conf"
APPLICATION = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/sparkapplications/nightly"
SCHEDULED = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/scheduledsparkapplications/nightly"
APACHES = "/apis/spark.apache.org/v1/namespaces/spark/sparkapplications/nightly"
THEIRS = "# theirs\r\nspark.plugins\tcom.acme.P\n\n spark.secret = pa$$é\n"
ACTOR = Actor("ann@host", "ring 1", lambda: datetime(2026, 11, 21, 12, tzinfo=timezone.utc))
QUICK = Patience(attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.05, request_seconds=30)


@pytest.fixture
def here(api: ApiServer, tmp_path: Path) -> dict[str, str]:
    """An environment with a kubeconfig for the server, and the objects that the tests begin with."""
    api.put(CONFIGMAP, data={"spark-defaults.conf": THEIRS, "log4j2.properties": "rootLogger.level = info\n"})
    conf = {"spark.plugins": "com.acme.P", "spark.executor.instances": "2"}
    for path, spec in (
        (APPLICATION, {"type": "Scala", "sparkVersion": "4.1.0", "sparkConf": conf}),
        (SCHEDULED, {"schedule": "@daily", "template": {"type": "Scala"}}),
        (APACHES, {"runtimeVersions": {"sparkVersion": "4.1.1"}, "sparkConf": {}}),
    ):
        api.put(path, spec=spec, status={"applicationState": "RUNNING"})
    return {"KUBECONFIG": str(api.kubeconfig(tmp_path)), "XDG_STATE_HOME": str(tmp_path / "state")}


def opened(
    here: dict[str, str], text: str = "kubernetes:configmap/conf", patience: Patience = QUICK
) -> KubernetesStore:
    return open_store(text, here, lambda _: None, patience)


class Machine:
    """A machine with a state folder of its own, a clock, and a user who is named as the machine is."""

    def __init__(self, here: dict[str, str], state: Path, hours: float = 0) -> None:
        self.here, self.state = {**here, "XDG_STATE_HOME": str(state)}, state
        self.said: list[str] = []
        now = ACTOR.now() + timedelta(hours=hours)
        self.actor = Actor(f"{state.name}@host-{state.name}", "", lambda: now)

    def opened(self, text: str = "kubernetes:configmap/conf") -> KubernetesStore:
        """As each command opens it; what it says is new in ``said``."""
        self.said.clear()
        return open_store(text, self.here, self.said.append, QUICK)

    def tunes(self, key: str, value: str) -> list[str]:
        """Sets a key of the plugin, as one command does."""
        return carry_out(propose_tuning(self.opened(), {f"{PREFIX}{key}": value}, "a test"), self.actor)

    def rolls_back(self) -> list[str]:
        return carry_out(propose_rollback(self.opened(), force=False), self.actor)

    def history(self, text: str = "kubernetes:configmap/conf") -> list[tuple[int, str, str]]:
        """Each change with number, phase and who made it."""
        return [(one.number, one.phase, one.who) for one in journal_of(self.opened(text)).records]

    @property
    def folder(self) -> Path:
        """Where the journal of the ConfigMap is."""
        return self.opened().journal_folder


@pytest.fixture
def ann(here: dict[str, str], tmp_path: Path) -> Machine:
    return Machine(here, tmp_path / "ann")


@pytest.fixture
def bob(here: dict[str, str], tmp_path: Path) -> Machine:
    return Machine(here, tmp_path / "bob")


def without_version(found: dict[str, Any]) -> dict[str, Any]:
    """The object without its version, and without who wrote it."""
    told = copy.deepcopy(found)
    del told["metadata"]["resourceVersion"]
    told["metadata"].pop("managedFields", None)
    return told


def patches(api: ApiServer) -> list[bool]:
    """Whether each patch that came was a rehearsal."""
    return ["dryRun" in asked for verb, _, asked in api.requests if verb == "PATCH" and "fault" not in asked]
