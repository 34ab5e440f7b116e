"""``rollout`` after somebody took the file of a rollout in hand: it says so, ends the rollout and writes no value."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.keys import CANARY_SET, CANARY_SHARE, PLUGIN_CLASS, PLUGINS_KEY, PREFIX
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import WriteError
from aqe_plugin.events.model import TrialArm
from aqe_plugin.install.controller import Proposal
from aqe_plugin.install.journal import Actor, journal_of
from aqe_plugin.tuning.rollout.rings import Observation, RingLimits
from aqe_plugin.tuning.rollout.trial import New, Trial, observed
from commands import Answer
from fleet import DAY_MILLIS, fleet_of, log_of

RATE, TIMEOUT = f"{PREFIX}filter.maxPassRate", f"{PREFIX}filter.buildTimeout"
ASKED = ("--set", f"{RATE}=0.5", "--set", f"{TIMEOUT}=10")


class Cluster:
    """A conf, the logs of the applications that read it, and a clock that goes with their days."""

    def __init__(self, folder: Path) -> None:
        self.fleet = fleet_of(0, queries=4)
        self.target, self.logs = folder / "spark-defaults.conf", folder / "events"
        self.target.write_text(f"# ours\n{PLUGINS_KEY} {PLUGIN_CLASS}\n{RATE} 0.7\n")
        self.logs.mkdir()
        self.days(8)

    def days(self, count: int, slowdown: float = 0.5, everywhere: int = 1) -> None:
        """Each day an application in each arm; each takes so many times as long as at first."""
        for _ in range(count):
            runs = self.fleet.week(None, runs=1)
            factors: dict[TrialArm, float] = {"canary": slowdown, "control": everywhere}
            for arm, factor in factors.items():
                took = [replace(run, arm=arm, duration_millis=round(run.duration_millis * factor)) for run in runs]
                name = f"{arm}-{self.fleet.day}"
                (self.logs / name).write_bytes(log_of(took, name))

    def days_of_all(self, count: int, factor: float) -> None:
        """Each day an application outside any trial, which takes so many times as long as at first."""
        for _ in range(count):
            runs = self.fleet.week(None, runs=1)
            took = [replace(run, duration_millis=round(run.duration_millis * factor)) for run in runs]
            (self.logs / f"all-{self.fleet.day}").write_bytes(log_of(took, f"all-{self.fleet.day}"))

    def now(self) -> datetime:
        return datetime.fromtimestamp((self.fleet.day * DAY_MILLIS - DAY_MILLIS // 2) / 1000, timezone.utc)

    def held(self) -> bytes:
        return self.target.read_bytes()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path)
    monkeypatch.setattr("aqe_plugin.cli.rollout.actor", lambda why: Actor("ann@host", why, made.now))
    return made


def words(cluster: Cluster, *more: str) -> tuple[str, ...]:
    return ("rollout", str(cluster.logs), "--target", str(cluster.target), *more)


def step(cluster: Cluster, answer: Answer, *more: str) -> dict[str, Any]:
    code, out, err = answer(*words(cluster, "--format", "json", "--yes", *more))
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def begun(cluster: Cluster, answer: Answer, *more: str) -> None:
    assert step(cluster, answer, *ASKED, *more)["ring"] == ("canary" if more else "all")


def rolled_back(file: Path, answer: Answer) -> None:
    code, _, err = answer("rollback", "--target", str(file), "--yes")
    assert code == 0, err


def edited(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def ended(cluster: Cluster, answer: Answer, before: str) -> str:
    """Why the rollout is over; checks that apply does not change the file, with --yes or without."""
    held = cluster.held()
    code, out, err = answer(*words(cluster))
    assert (code, f"{before} -> rolled back" in out) == (0, True), err
    assert err == "Nothing was written; --yes makes the change.\n"
    found = step(cluster, answer)
    assert (found["before"], found["ring"], found["applied"]) == (before, "rolled_back", True)
    assert cluster.held() == held
    lines = answer("history", "--target", str(cluster.target), "--format", "json")[1].splitlines()
    assert [json.loads(line)["why"] for line in lines if '"ring"' in line][-1] == found["why"]
    why: str = found["why"]
    return why


@pytest.mark.parametrize("earlier_rollout", [False, True])
def test_an_interrupted_step_without_the_one_before_names_the_ledger(
    cluster: Cluster, answer: Answer, earlier_rollout: bool
) -> None:
    begun(cluster, answer)
    ledger = journal_of(FileStore(cluster.target)).folder / "rollouts.jsonl"
    observed, interrupted, _ = (json.loads(line) for line in ledger.read_text().splitlines())
    assert (observed["phase"], interrupted["phase"]) == ("done", "begun")
    earlier = json.dumps({**observed, "ring": "rolled_back"}) if earlier_rollout else "{"
    ledger.write_text(f"{earlier}\n{json.dumps({**interrupted, 'number': 2})}\n")
    held = cluster.held()
    code, _, err = answer(*words(cluster, "--yes"))
    error = err.splitlines()[-1]
    assert (code, error.startswith(f"{ledger}: a line is missing or damaged: rollout no. 2 ")) == (9, True), err
    assert "move this file away" in err
    assert cluster.held() == held


# A share


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (f"{CANARY_SET}filter.maxPassRate 0.5", f"{CANARY_SET}filter.maxPassRate 0.4", "changed"),
        (f"{CANARY_SET}filter.maxPassRate 0.5\n", "", "rolled back"),
        (f"{CANARY_SHARE} 0.25", f"{CANARY_SHARE} 0", "changed"),
        (f"{RATE} 0.7", f"{RATE} 0.6", "changed"),
    ],
)
def test_an_edited_or_removed_key_of_a_share_ends_the_rollout(
    cluster: Cluster, answer: Answer, old: str, new: str, why: str
) -> None:
    begun(cluster, answer, "--canary-share", "0.25")
    edited(cluster.target, old, new)
    key, expected = old.split()
    _, _, found = new.rpartition(" ")
    assert ended(cluster, answer, "canary").startswith(
        f"{why} by hand: {cluster.target}: {key}: expected {expected}, found {found or '(not set)'}; left unchanged: "
    )


def test_a_rollback_of_the_target_ends_a_shares_rollout(cluster: Cluster, answer: Answer) -> None:
    before = cluster.held()
    begun(cluster, answer, "--canary-share", "0.25")
    rolled_back(cluster.target, answer)
    why = ended(cluster, answer, "canary")
    assert why.startswith(
        f"rolled back by aqe-plugin rollback: {cluster.target}: {CANARY_SHARE}: expected 0.25, found (not set); "
    )
    assert "left unchanged" not in why
    assert cluster.held() == before


@pytest.mark.parametrize("share", ["0.1", "0.5"])
def test_another_share_does_not_end_the_rollout(cluster: Cluster, answer: Answer, share: str) -> None:
    begun(cluster, answer, "--canary-share", "0.25")
    edited(cluster.target, f"{CANARY_SHARE} 0.25", f"{CANARY_SHARE} {share}")
    held = cluster.held()
    assert step(cluster, answer)["ring"] == "canary"
    assert cluster.held() == held


def test_other_keys_and_another_notation_of_a_number_are_no_manual_edits(cluster: Cluster, answer: Answer) -> None:
    begun(cluster, answer, "--canary-share", "0.25")
    tried = f"{CANARY_SET}filter.maxPassRate"
    edited(cluster.target, "# ours\n", f"spark.master local\n{PREFIX}filter.minProbeRows 5\n")
    edited(cluster.target, f"{tried} 0.5", f"# half\n{tried}=0.50")
    cluster.days(9)
    assert step(cluster, answer)["ring"] == "all"


def test_a_step_that_a_repository_took_is_recorded_and_goes_on(cluster: Cluster, answer: Answer) -> None:
    begun(cluster, answer, "--canary-share", "0.25")
    # What `rollout --format patch` of the next step would hold.
    text = "".join(line for line in cluster.target.read_text().splitlines(True) if "canary" not in line)
    cluster.target.write_text(text.replace(f"{RATE} 0.7", f"{RATE} 0.5") + f"{TIMEOUT} 10\n")
    held = cluster.held()
    found = step(cluster, answer)
    assert (found["before"], found["ring"], found["why"]) == (
        "canary",
        "all",
        f"{cluster.target} has the values of the ring all, by a repository or by hand",
    )
    assert cluster.held() == held
    assert step(cluster, answer)["why"].startswith("undecided so far")


def test_what_ran_between_a_repositorys_step_and_the_look_that_found_it_is_no_control(
    cluster: Cluster, answer: Answer
) -> None:
    cluster.days(6)
    begun(cluster, answer, "--canary-share", "0.25")
    cluster.days(3, slowdown=1.0)
    assert step(cluster, answer)["ring"] == "canary"
    text = "".join(line for line in cluster.target.read_text().splitlines(True) if "canary" not in line)
    cluster.target.write_text(text.replace(f"{RATE} 0.7", f"{RATE} 0.5") + f"{TIMEOUT} 10\n")
    cluster.days_of_all(6, factor=3)
    assert step(cluster, answer)["ring"] == "all"
    cluster.days_of_all(12, factor=3)
    found = step(cluster, answer)
    assert (found["ring"], found["why"].startswith("slower: slower in ")) == ("rolled_back", True), found["why"]


def test_a_patch_of_a_file_is_refused_with_what_shows_it(cluster: Cluster, answer: Answer) -> None:
    code, out, err = answer(*words(cluster, *ASKED, "--format", "patch"))
    assert (code, out) == (5, "")
    assert "the table shows what changes in a file" in err


# All


@pytest.mark.parametrize(("new", "found"), [(f"{RATE} 0.3", "0.3"), ("", "(not set)")])
def test_in_the_ring_all_an_edit_ends_the_rollout(cluster: Cluster, answer: Answer, new: str, found: str) -> None:
    begun(cluster, answer)
    edited(cluster.target, f"{RATE} 0.5", new)
    # Slow enough to go back, were the rollout not over.
    cluster.days(9, everywhere=3)
    assert ended(cluster, answer, "all") == (
        f"changed by hand: {cluster.target}: {RATE}: expected 0.5, found {found}; "
        f"left unchanged: {cluster.target}: {TIMEOUT} = 10"
    )


def test_a_rollback_ends_a_rollout_without_a_canary(cluster: Cluster, answer: Answer) -> None:
    begun(cluster, answer)
    rolled_back(cluster.target, answer)
    assert ended(cluster, answer, "all").startswith("rolled back by aqe-plugin rollback: ")


def settled(cluster: Cluster, answer: Answer) -> None:
    cluster.days_of_all(20, factor=1)
    begun(cluster, answer)
    cluster.days_of_all(20, factor=0.5)
    assert step(cluster, answer)["ring"] == "settled"


def test_a_settled_rollout_that_is_taken_back_ends_as_rolled_back(cluster: Cluster, answer: Answer) -> None:
    before = cluster.held()
    settled(cluster, answer)
    rolled_back(cluster.target, answer)
    assert ended(cluster, answer, "settled").startswith("rolled back by aqe-plugin rollback: ")
    assert cluster.held() == before
    assert step(cluster, answer, *ASKED)["number"] == 2


def test_an_edit_after_a_rollout_settled_is_none_of_it(cluster: Cluster, answer: Answer) -> None:
    settled(cluster, answer)
    edited(cluster.target, f"{RATE} 0.5", f"{RATE} 0.4")
    assert step(cluster, answer, "--set", f"{TIMEOUT}=20")["number"] == 2


# Edits meanwhile, and interrupted steps


def test_an_edit_while_logs_are_read_is_noticed_before_anything_is_written(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(cluster, answer, "--canary-share", "0.25")
    cluster.days(9)

    def meanwhile(trial: Trial, rings: RingLimits) -> tuple[Observation, New]:
        edited(cluster.target, f"{RATE} 0.7", f"{RATE} 0.4")
        return observed(trial, rings)

    monkeypatch.setattr("aqe_plugin.tuning.rollout.next_steps.observed", meanwhile)
    found = step(cluster, answer)
    assert (found["before"], found["ring"], found["why"][:15]) == ("canary", "rolled_back", "changed by hand")
    assert f"{RATE} 0.4\n" in cluster.target.read_text()


def interrupted(cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """An apply that is killed before it changes the file."""

    def killed(_: Proposal, __: Actor) -> list[str]:
        raise WriteError("killed")

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.rollout.next_steps.carry_out_held", killed)
        assert answer(*words(cluster, "--yes", *more))[0] == 8


@pytest.mark.parametrize("share", [(), ("--canary-share", "0.25")])
def test_a_step_that_was_interrupted_before_it_changed_the_file_is_finished(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch, share: tuple[str, ...]
) -> None:
    interrupted(cluster, answer, monkeypatch, *ASKED, *share)
    assert step(cluster, answer)["ring"] == ("canary" if share else "all")
    assert f"{TIMEOUT} 10\n" in cluster.target.read_text() or share


def test_a_file_edited_after_an_interrupted_step_is_left_alone(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(cluster, answer, monkeypatch, *ASKED)
    edited(cluster.target, f"{RATE} 0.7", f"{RATE} 0.9")
    assert ended(cluster, answer, "observe").startswith(f"changed by hand: {cluster.target}: {RATE}: expected")


def test_a_step_rolled_back_before_it_was_recorded_is_not_repeated(cluster: Cluster, answer: Answer) -> None:
    before = cluster.held()
    begun(cluster, answer)
    (rollouts,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    rollouts.write_text("".join(rollouts.read_text().splitlines(keepends=True)[:-1]))
    rolled_back(cluster.target, answer)
    assert ended(cluster, answer, "observe").startswith(
        f"rolled back by aqe-plugin rollback: {cluster.target}: {RATE}: expected 0.5"
    )
    assert cluster.held() == before
