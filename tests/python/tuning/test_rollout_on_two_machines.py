"""A rollout of a ConfigMap that is begun on one machine, and goes on, or back, from another."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api_server import ApiServer
from aqe_plugin.conf.keys import CANARY_SHARE, PREFIX
from aqe_plugin.conf.stores.shared_state import LOGS, MOST_BYTES, SharedState, packed, unpacked
from aqe_plugin.conf.stores.state_folder import StateFolder
from aqe_plugin.events.json_values import encode
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.rollout.application_pairs import Pair, PairSide
from aqe_plugin.tuning.rollout.ledger import Look
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits
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

    def shared(self, log: str = "rollouts.jsonl") -> list[dict[str, Any]]:
        """The lines that the object holds."""
        (text,) = self.api.objects[CONFIGMAP]["metadata"]["annotations"].values()
        return [json.loads(line) for line in unpacked(text, "here").logs[log].splitlines()]

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


# from one machine to the other


def test_a_rollout_begun_on_one_machine_goes_on_and_is_rolled_back_on_another(sites: Sites) -> None:
    before = copy.deepcopy(sites.api.objects[CONFIGMAP])
    assert sites.rollout("ann", *ASKED, *SHARE)["ring"] == "canary"
    assert f"{CANARY_SHARE} 0.3" in sites.conf

    assert sites.rings("bob") == [("ann", "observe"), ("ann", "canary")]
    told = json.loads(sites.on("bob", "status", *TARGET, *JSON)[1])
    assert CANARY_SHARE in {one["key"] for one in told["settings"]}
    assert not any("interrupted" in one for one in told["remarks"])

    sites.days(16)
    moved = sites.rollout("bob")
    assert (moved["before"], moved["ring"]) == ("canary", "all")
    assert "filter.buildTimeout 10" in sites.conf
    assert CANARY_SHARE not in sites.conf
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary"), ("bob", "all")]

    assert sites.on("bob", "rollback", *TARGET, "--to", "0", "--yes")[0] == 0
    assert without_version(sites.api.objects[CONFIGMAP]) == without_version(before)
    changes = [(one["who"], one["action"], one["phase"]) for one in sites.history("ann") if "action" in one]
    assert changes == [
        ("ann@host-ann", "tune", "done"),
        ("bob@host-bob", "tune", "done"),
        ("bob@host-bob", "rollback", "done"),
    ]
    assert sites.rollout("ann")["ring"] == "rolled_back"
    assert sites.rings("bob")[-1] == ("ann", "rolled_back")
    assert without_version(sites.api.objects[CONFIGMAP]) == without_version(before)


def test_pairs_that_one_machine_saw_count_on_the_other_when_their_logs_are_gone(sites: Sites) -> None:
    before = sites.conf
    sites.rollout("ann", *ASKED, *SHARE)
    looks = []
    for number in range(8):
        sites.days(2, slowdown=1.5)
        looks.append(sites.rollout(("ann", "bob")[number % 2]))
        for log in sites.applications.logs.iterdir():
            log.unlink()
        if looks[-1]["ring"] == "rolled_back":
            break
    assert (looks[-1]["ring"], sites.conf) == ("rolled_back", before), looks
    assert len(looks) > 2
    used = [pair["changed"]["application"] for line in sites.shared() for pair in line.get("pairs", ())]
    assert len(used) == len(set(used)) > 4


def test_a_ring_that_changes_nothing_is_seen_elsewhere(sites: Sites) -> None:
    assert sites.rollout("ann", *SHARE)["ring"] == "observe"
    assert sites.rings("bob") == [("ann", "observe")]
    sites.days(5)
    assert sites.rollout("bob")["ring"] == "canary"
    assert sites.rings("ann") == [("ann", "observe"), ("bob", "canary")]


def test_a_look_without_yes_shares_nothing(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(4)
    before = copy.deepcopy(sites.api.objects[CONFIGMAP])
    code, out, _ = sites.on("bob", *(word for word in sites.words() if word != "--yes"))
    assert (code, json.loads(out)["ring"]) == (0, "canary")
    assert sites.api.objects[CONFIGMAP] == before


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
    assert (CANARY_SHARE in first, sites.conf, sites.rings("bob")) == (True, before, [("ann", "observe")])
    assert patch() == first
    deployed(first)
    assert patch() == ""
    assert sites.rings("bob") == [("ann", "observe"), ("ann", "canary")]
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
    assert sites.rings("bob")[-1] == ("ann", "all")


# two controllers at once


def test_of_two_controllers_at_once_exactly_one_takes_the_step(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(16)
    sites.while_looking(lambda: sites.rollout("bob"))
    code, _, err = sites.on("ann", *sites.words())
    assert code == 7
    assert err.splitlines()[-1] == (
        "kubernetes:spark/configmap/conf: another machine went on with the rollout in the meantime: bob@host-bob took "
        "the last step, to all. Nothing was written. Look (aqe-plugin history) and try again."
    )
    assert sites.rings("ann") == sites.rings("bob") == [("ann", "observe"), ("ann", "canary"), ("bob", "all")]
    assert sum("action" in one for one in sites.history("ann")) == 2
    assert not list(sites.folder("ann").glob("*.apart-*"))


def test_of_two_looks_at_once_the_pairs_are_kept_once(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(4)
    sites.while_looking(lambda: sites.rollout("bob"))
    assert sites.on("ann", *sites.words())[0] == 7
    assert len([line for line in sites.shared() if "pairs" in line]) == 1
    assert sites.rollout("ann")["ring"] == "canary"
    assert len([line for line in sites.shared() if "pairs" in line]) == 1


@pytest.mark.parametrize("asked", [ASKED, ()], ids=["canary", "observe"])
def test_a_step_overtaken_in_its_last_moment_is_not_taken(sites: Sites, asked: tuple[str, ...]) -> None:
    rehearsals = 1 if asked else 0
    sites.api.before_patch = [lambda: None] * rehearsals + [lambda: sites.rollout("bob", *SHARE, *asked)]
    code, _, err = sites.on("ann", *sites.words(*SHARE, *asked))
    assert code == 7, err
    assert "bob@host-bob, " in err
    assert "went on with it from another machine in the meantime; nothing was written." in err
    wanted = [("bob", "observe"), ("bob", "canary")][: 1 + rehearsals]
    assert sites.rings("bob") == wanted
    code, _, err = sites.on("ann", "history", *TARGET)
    (said,) = [line for line in err.splitlines() if "kept in" in line and "rollouts" in line]
    (aside,) = sites.folder("ann").glob("rollouts.apart-*")
    assert str(aside) in said
    assert "ann@host-ann" in aside.read_text()
    assert sites.rings("ann") == wanted


def test_a_machine_that_was_killed_after_its_patch_is_finished_by_the_other_once(sites: Sites) -> None:
    def down() -> None:
        sites.api.faults = [(400, {})]

    sites.api.before_patch = [lambda: None, down]
    code, _, err = sites.on("ann", *sites.words(*ASKED, *SHARE))
    assert (code, "recorded about it is on this machine alone" in err) == (0, True), err
    changed = sites.conf
    code, out, err = sites.on("bob", *sites.words())
    assert (code, json.loads(out)["ring"]) == (0, "canary"), err
    assert "The step to canary was interrupted before." in err
    assert sites.conf == changed
    assert sites.rings("ann") == sites.rings("bob") == [("ann", "observe"), ("ann", "canary")]
    assert [one["phase"] for one in sites.shared("journal.jsonl")] == ["begun", "done"]
    assert sites.rollout("ann")["ring"] == "canary"
    assert len(sites.history("ann")) == len(sites.history("bob")) == 3


# what was cut off, and clocks apart


def test_a_ledger_cut_off_in_a_line_is_completed_from_the_object(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    ledger = sites.folder("ann") / "rollouts.jsonl"
    whole = ledger.read_bytes()
    for length in (1, len(whole) // 2, len(whole) - 9):
        ledger.write_bytes(whole[:length])
        assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
        assert ledger.read_bytes() == whole


def test_a_ledger_cut_off_before_it_was_shared_loses_no_step(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    with (sites.folder("ann") / "rollouts.jsonl").open("ab") as ledger:
        ledger.write(b'{"schemaVersion": 4, "number": 1, "ring": "can')
    sites.days(16)
    assert sites.rollout("ann")["ring"] == "all"
    assert sites.rings("bob") == [("ann", "observe"), ("ann", "canary"), ("ann", "all")]


def test_a_clock_an_hour_behind_is_reported_and_loses_no_step(sites: Sites) -> None:
    sites.hours["bob"] = -1.0
    sites.rollout("ann", *ASKED, *SHARE)
    code, out, err = sites.on("bob", *sites.words())
    assert (code, json.loads(out)["ring"]) == (0, "canary"), err
    (told,) = [line for line in err.splitlines() if "in the future" in line]
    (name,) = sites.api.objects[CONFIGMAP]["metadata"]["annotations"]
    assert told.endswith(
        f"begin again: aqe-plugin rollback, then move rollouts.jsonl in {sites.folder('bob')} away, on every machine "
        f"that has a copy, and remove that of the object: kubectl annotate -n spark configmaps/conf {name}-."
    )
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    sites.days(16)
    assert sites.rollout("bob")["ring"] == "all"
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary"), ("bob", "all")]
    sites.days(1)
    assert sites.rollout("ann")["number"] == 1
    assert len([one for one in sites.shared() if "phase" in one]) == 5


# an annotation somebody edited, an object that is gone


def test_an_edited_annotation_stops_steps_and_shows_this_machines_copy(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    (name,) = sites.api.objects[CONFIGMAP]["metadata"]["annotations"]
    sites.api.annotate(CONFIGMAP, {name: "edited"})
    changed = sites.conf
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    for machine in ("ann", "bob"):
        code, _, err = sites.on(machine, *sites.words(*(ASKED if machine == "bob" else ())))
        assert (code, "somebody edited it: it is not" in err) == (9, True), err
    assert sites.conf == changed
    sites.api.annotate(CONFIGMAP, {})
    sites.days(16)
    assert sites.rollout("ann")["ring"] == "all"
    assert sites.rings("bob")[-1] == ("ann", "all")


@pytest.mark.parametrize("trouble", ["edited", "no room"])
@pytest.mark.parametrize("output", ["json", "patch"])
def test_a_slow_canary_goes_back_whatever_became_of_the_annotation(sites: Sites, output: str, trouble: str) -> None:
    before = sites.conf
    sites.rollout("ann", *ASKED, *SHARE)
    (name,) = sites.api.objects[CONFIGMAP]["metadata"]["annotations"]
    sites.api.annotate(CONFIGMAP, {name: "edited"} if trouble == "edited" else {"theirs": "x" * ((256 << 10) - 500)})
    sites.days(16, slowdown=1.5)
    if output == "patch":
        looks = [sites.on("ann", *sites.words("--format", "patch")) for _ in range(2)]
        assert {code for code, _, _ in looks} == {0}, looks
        assert "the change is made" not in looks[0][2]
        assert looks[0][1] == looks[1][1]
        sites.api.objects[CONFIGMAP]["data"] |= json.loads(looks[0][1])["data"]
        sites.api.annotate(CONFIGMAP, {})
        found = sites.rollout("ann")
        why, _, by = found["why"].partition("; ")
        assert (why[:18], by[:22]) == ("slower: slower in ", "rolled back by hand: k"), found
        assert len([line for line in sites.lines("ann") if "left" in line]) == 1
    else:
        found = sites.rollout("ann")
    assert found["ring"] == "rolled_back"
    assert sites.conf == before
    assert sites.rings("ann")[-1] == ("ann", "rolled_back")


def test_a_canary_whose_step_forward_found_no_room_is_watched_on_and_goes_back_once_it_is_slow(sites: Sites) -> None:
    before = sites.conf
    sites.rollout("ann", *ASKED, *SHARE)
    annotations = sites.api.objects[CONFIGMAP]["metadata"]["annotations"]
    taken = sum(len(name) + len(text) for name, text in annotations.items())
    sites.api.annotate(CONFIGMAP, {**annotations, "theirs": "x" * ((256 << 10) - taken - 100)})
    sites.days(16)
    for _ in range(2):
        code, _, err = sites.on("ann", *sites.words())
        assert (code, "no longer fit into the annotation" in err, "interrupted" in err) == (8, True, False), err
        assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    sites.days(16, slowdown=9)
    found = sites.rollout("ann")
    assert (found["ring"], found["why"].partition(":")[0]) == ("rolled_back", "slower"), found
    assert sites.conf == before


def test_an_object_deleted_between_two_looks_is_an_error_and_goes_on_when_it_is_back(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    gone = sites.api.objects.pop(CONFIGMAP)
    code, _, err = sites.on("ann", *sites.words())
    assert (code, "kubernetes:spark/configmap/conf: not found on " in err) == (4, True), err
    assert (sites.folder("ann") / "rollouts.jsonl").read_bytes().count(b"\n") == 3
    sites.api.put(CONFIGMAP, data=gone["data"])
    sites.days(16)
    assert sites.rollout("ann")["ring"] == "all"
    assert sites.rings("bob")[-1] == ("ann", "all")


def test_a_rollout_of_an_object_that_came_back_from_a_backup_goes_on_anywhere(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.api.restore(CONFIGMAP, copy.deepcopy(sites.api.objects.pop(CONFIGMAP)))
    sites.days(16)
    assert sites.rings("bob") == [("ann", "observe"), ("ann", "canary")]
    assert sites.rollout("bob")["ring"] == "all"
    assert sites.rings("ann")[-1] == ("bob", "all")


def test_an_object_deleted_during_a_look_is_an_error_and_no_step(sites: Sites) -> None:
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(16)
    gone = copy.deepcopy(sites.api.objects[CONFIGMAP])
    sites.while_looking(lambda: sites.api.objects.pop(CONFIGMAP))
    assert sites.on("ann", *sites.words())[0] == 4
    sites.api.restore(CONFIGMAP, gone)
    assert sites.rings("ann") == [("ann", "observe"), ("ann", "canary")]
    assert sites.rollout("bob")["ring"] == "all"


# room


def test_a_hundred_rollouts_fit_and_one_of_many_pairs_beside_them(sites: Sites) -> None:
    """Pairs of rollouts that are over stay where they are, so each of these costs a few hundred bytes."""
    sites.rollout("ann", *ASKED, *SHARE)
    sites.days(16)
    sites.rollout("ann")
    sites.days(10)
    assert sites.rollout("ann")["ring"] in ("settled", "rolled_back")
    state = StateFolder(sites.folder("ann")).state("t")
    journal, rollouts = (state.logs[name].decode().splitlines() for name in LOGS)
    dice = random.Random(1)
    logs: dict[str, list[str]] = {name: [] for name in LOGS}
    for number in range(1, 101):
        for name, lines in zip(LOGS, (journal, rollouts), strict=True):
            digests = {old: dice.randbytes(32).hex() for old in re.findall("[0-9a-f]{64}", "".join(lines))}
            for old, new in digests.items():
                lines = [line.replace(old, new) for line in lines]
            for line in lines:
                text = line.replace('"number": 1', f'"number": {number}')
                text = re.sub(r'("atMillis": )(\d+)', lambda found: f"{found[1]}{dice.randrange(10**12)}", text)
                logs[name].append(re.sub(r'("at": ")[^"]*', lambda found: f"{found[1]}{dice.random()}", text))
    many = [
        Pair(PairSide(f"application_{dice.randrange(10**13)}_0001", dice.random() * 1e6), PairSide("b", 1.0), 3)
        for _ in range(400)
    ]
    line = json.dumps(encode(Look(4, 101, Ring.CANARY, 1, tuple(many))))
    logs["rollouts.jsonl"] += [rollouts[-1].replace('"number": 1', '"number": 101'), line]
    whole = SharedState("t", {name: "".join(f"{one}\n" for one in lines).encode() for name, lines in logs.items()})
    packed_whole = packed(whole, MOST_BYTES)
    assert packed_whole is not None
    assert len(packed_whole) < MOST_BYTES * 0.75
