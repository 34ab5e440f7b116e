"""A rollout of a ConfigMap goes on, and back, on the machine that began it; another one is told of it and refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api_server import ApiServer
from aqe_plugin.conf.keys import CANARY_SHARE, PREFIX
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.rollout.rings import RingLimits
from aqe_plugin.tuning.rollout.trial import Trial, observed
from canary_fleet import Applications, applications
from commands import Answer
from live_objects import without_version

__all__ = ["applications"]

pytestmark = pytest.mark.simulation

CONFIGMAP = "/api/v1/namespaces/spark/configmaps/conf"
TARGET = ("--target", "kubernetes:cm/conf")
JSON = ("--format", "json")
ASKED = ("--set", f"{PREFIX}filter.buildTimeout=10")
SHARE = ("--canary-share", "0.3")


class Sites:
    """Machines that share an API server and the event logs, and nothing else."""

    def __init__(
        self, api: ApiServer, applications: Applications, answer: Answer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.api, self.applications, self._answer, self._patch = api, applications, answer, monkeypatch
        self._home = applications.target.parent
        self.hours = {"ann": 0.0, "bob": 0.0}
        api.put(CONFIGMAP, data={"spark-defaults.conf": applications.target.read_text(), "other": "1"})
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(self._home)))

    def on(self, name: str, *words: str) -> tuple[int, str, str]:
        """Runs a command on the machine ``name``."""
        state = self._home / name
        with self._patch.context() as patched:
            patched.setenv("XDG_STATE_HOME", str(state))
            for module in ("rollout", "install"):
                patched.setattr(f"aqe_plugin.cli.{module}.actor", lambda why: self._actor(name, why))
            return self._answer(*words)

    def rollout(self, name: str, *words: str) -> dict[str, Any]:
        code, out, err = self.on(name, *self.words(*words))
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    def words(self, *more: str) -> tuple[str, ...]:
        return ("rollout", str(self.applications.logs), *TARGET, *JSON, "--yes", *more)

    def history(self, name: str) -> list[dict[str, Any]]:
        code, out, err = self.on(name, "history", *TARGET, *JSON)
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def rings(self, name: str) -> list[tuple[str, str]]:
        return [(one["who"][:3], one["ring"]) for one in self.history(name) if "ring" in one]

    def folder(self, name: str) -> Path:
        (journal,) = (self._home / name).rglob("rollouts.jsonl")
        return journal.parent

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of the machine's own ledger."""
        return [json.loads(line) for line in (self.folder(name) / "rollouts.jsonl").read_text().splitlines()]

    def days(self, count: int, slowdown: float = 1.0) -> None:
        """Applications of so many days, which read the ConfigMap."""
        self.applications.target.write_text(self.conf)
        self.applications.days(count, slowdown)

    def while_looking(self, meanwhile: Callable[[], object]) -> None:
        """Once, in the middle of a look at the logs, ``meanwhile`` happens."""
        pending = [meanwhile]

        def overtaken(trial: Trial, rings: RingLimits) -> Any:
            if pending:
                pending.pop()()
            return observed(trial, rings)

        self._patch.setattr("aqe_plugin.tuning.rollout.next_steps.observed", overtaken)

    @property
    def conf(self) -> str:
        return str(self.api.objects[CONFIGMAP]["data"]["spark-defaults.conf"])

    def _actor(self, name: str, why: str) -> Actor:
        def now() -> datetime:
            return self.applications.now() + timedelta(hours=self.hours[name])

        return Actor(f"{name}@host-{name}", why, now)


@pytest.fixture
def sites(api: ApiServer, applications: Applications, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Sites:
    return Sites(api, applications, answer, monkeypatch)


# on the machine that began it


def test_a_rollout_of_an_object_goes_through_its_rings_and_is_rolled_back(sites: Sites) -> None:
    before = copy.deepcopy(sites.api.objects[CONFIGMAP])
    assert sites.rollout("ann", *ASKED, *SHARE)["ring"] == "canary"
    assert f"{CANARY_SHARE} 0.3" in sites.conf
    sites.days(16)
    moved = sites.rollout("ann")
    assert (moved["before"], moved["ring"]) == ("canary", "all")
    assert "filter.buildTimeout 10" in sites.conf
    assert CANARY_SHARE not in sites.conf
    assert sites.on("ann", "rollback", *TARGET, "--to", "0", "--yes")[0] == 0
    assert without_version(sites.api.objects[CONFIGMAP]) == without_version(before)
    assert sites.rollout("ann")["ring"] == "rolled_back"
    assert sites.rings("ann")[-1] == ("ann", "rolled_back")
    assert without_version(sites.api.objects[CONFIGMAP]) == without_version(before)


@pytest.mark.parametrize("ring", ["canary", "all"])
def test_a_rollback_takes_a_rollout_of_an_object_back_as_one_change(sites: Sites, ring: str) -> None:
    before = sites.conf
    sites.on(
        "ann", "install", *TARGET, "--jar", "local:///a/aqe-plugin-spark-4.1-0.1.0.jar", "--mode", "apply", "--yes"
    )
    installed = sites.conf
    sites.rollout("ann", *ASKED, *SHARE)
    if ring == "all":
        sites.days(16)
        sites.rollout("ann")
    assert sites.conf != installed
    assert sites.on("ann", "rollback", *TARGET, "--yes")[0] == 0
    assert sites.conf == installed
    assert sites.on("ann", "rollback", *TARGET, "--yes")[0] == 0
    assert sites.conf == before


def test_a_slow_canary_of_an_object_goes_back(sites: Sites) -> None:
    before = sites.conf
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(16, slowdown=1.5)
    found = sites.rollout("ann")
    assert (found["ring"], found["why"][:6], sites.conf) == ("rolled_back", "slower", before)


def test_a_look_without_yes_writes_nothing(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(4)
    before = copy.deepcopy(sites.api.objects[CONFIGMAP])
    code, out, _ = sites.on("ann", *(word for word in sites.words() if word != "--yes"))
    assert (code, json.loads(out)["ring"]) == (0, "canary")
    assert sites.api.objects[CONFIGMAP] == before


def test_an_object_deleted_between_two_looks_is_an_error_and_goes_on_when_it_is_back(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    gone = sites.api.objects.pop(CONFIGMAP)
    code, _, err = sites.on("ann", *sites.words())
    assert (code, "kubernetes:spark/configmap/conf: not found on " in err) == (4, True), err
    sites.api.put(CONFIGMAP, data=gone["data"])
    sites.days(16)
    assert sites.rollout("ann")["ring"] == "all"


def test_an_object_deleted_during_a_look_is_an_error_and_no_step(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(16)
    gone = copy.deepcopy(sites.api.objects[CONFIGMAP])
    sites.while_looking(lambda: sites.api.objects.pop(CONFIGMAP))
    assert sites.on("ann", *sites.words())[0] == 4
    sites.api.objects[CONFIGMAP] = gone
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    assert sites.rollout("ann")["ring"] == "all"


# another machine, or a pod whose ledger was lost


@pytest.mark.parametrize("asked", [ASKED, ()], ids=["of a value", "of a recommendation"])
def test_a_canary_that_another_machine_began_stops_a_rollout_and_names_the_machine(
    sites: Sites, asked: tuple[str, ...]
) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    changed = sites.conf
    code, out, err = sites.on("bob", *sites.words(*asked))
    assert (code, out, sites.conf) == (7, "", changed)
    assert "kubernetes:spark/configmap/conf: changed by ann@host-ann at " in err
    assert f"{CANARY_SHARE} = 0.3 belongs to another canary" in err
    assert "go on on the machine that began it, or remove the canary.* keys, and try again." in err
    assert sites.rings("bob") == []
    sites.days(16)
    assert sites.rollout("ann")["ring"] == "all"


def test_a_rollout_beside_one_of_another_machine_is_told_of_it(sites: Sites) -> None:
    sites.rollout("ann", *ASKED)
    code, out, err = sites.on("bob", *sites.words("--set", f"{PREFIX}filter.buildTimeout=20"))
    assert (code, json.loads(out)["ring"]) == (0, "all")
    assert "changed by ann@host-ann at " in err
    assert "go on with its rollout, on that machine" in err
    found = sites.rollout("ann")
    assert (found["ring"], found["why"][:15]) == ("rolled_back", "changed by hand")
    assert "filter.buildTimeout 20" in sites.conf


def test_of_two_machines_that_take_a_step_at_once_one_is_refused(sites: Sites) -> None:
    sites.api.before_patch = [lambda: None, lambda: sites.rollout("bob", *SHARE, *ASKED)]
    code, _, err = sites.on("ann", *sites.words("--canary-share", "0.5", *ASKED))
    assert (code, "somebody else changed it in the meantime" in err) == (7, True), err
    assert f"{CANARY_SHARE} 0.3" in sites.conf
    assert sites.rings("bob") == [("bob", "observe"), ("bob", "canary")]
    assert sites.on("ann", *sites.words("--canary-share", "0.5"))[0] == 7


def test_a_rollout_goes_on_elsewhere_with_the_folder_of_its_machine(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    folder = sites.folder("ann")
    target = Path(str(folder).replace("/ann/", "/bob/"))
    target.parent.mkdir(parents=True)
    folder.rename(target)
    sites.days(16)
    code, out, err = sites.on("bob", *sites.words())
    assert (code, json.loads(out)["ring"], "changed by" in err) == (0, "all", False), err


# a repository


def test_with_a_patch_pairs_are_kept_and_the_repository_takes_the_steps(sites: Sites) -> None:
    before = sites.conf

    def patch(*more: str) -> str:
        words = ("rollout", str(sites.applications.logs), *TARGET, "--format", "patch", "--yes", *more)
        code, out, err = sites.on("ann", *words)
        assert (code, "Once the repository has deployed the patch" in err) == (0, bool(out)), err
        return str(json.loads(out)["data"]["spark-defaults.conf"]) if out else ""

    def deployed(conf: str) -> None:
        sites.api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] = conf

    first = patch(*ASKED, *SHARE)
    assert (CANARY_SHARE in first, sites.conf, sites.rings("ann")) == (True, before, [("ann", "observe")])
    assert patch() == first
    deployed(first)
    assert patch() == ""
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    looks = [""]
    while looks[-1] == "" and len(looks) < 12:
        sites.days(2)
        looks.append(patch())
        for log in sites.applications.logs.iterdir():
            log.unlink()
    assert (CANARY_SHARE in looks[-1], "filter.buildTimeout 10" in looks[-1]) == (False, True)
    assert len(looks) > 2
    assert CANARY_SHARE in sites.conf
    # What was seen stays seen: without a log, the same patch.
    sites.days(1)
    assert patch() == looks[-1]
    deployed(looks[-1])
    assert patch() == ""
    assert sites.rings("ann")[-1] == ("ann", "all")
