"""``rollout --canary-share`` over a simulated fleet: applications of one conf, a share of which tries what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from aqe_plugin.conf.keys import CANARY, CANARY_SET, CANARY_SHARE, PREFIX
from aqe_plugin.errors import WriteError
from aqe_plugin.tuning.groups import current
from canary_fleet import BUILD_NANOS, Applications, applications
from commands import Answer
from drawing import draws
from fleet import DEFAULTS, log_of

__all__ = ["applications"]

pytestmark = pytest.mark.simulation

SHARE = 0.3


def words(applications: Applications, *more: str) -> tuple[str, ...]:
    return ("rollout", str(applications.logs), "--target", str(applications.target), "--format", "json", *more)


def step(applications: Applications, answer: Answer, *more: str) -> dict[str, Any]:
    code, out, err = answer(*words(applications, "--yes", *more))
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def in_canary(applications: Applications, answer: Answer) -> dict[str, Any]:
    """A recommendation that runs since have confirmed."""
    assert step(applications, answer, "--canary-share", str(SHARE))["ring"] == "observe"
    applications.days(5)
    found = step(applications, answer)
    assert found["ring"] == "canary"
    return found


def test_a_good_change_goes_to_a_share_then_to_all_without_canary_keys(
    applications: Applications, answer: Answer
) -> None:
    before = applications.target.read_text()
    in_canary(applications, answer)
    conf = applications.conf()
    assert conf[CANARY_SHARE] == "0.3"
    assert conf[f"{CANARY}replaces.cost.hashBuildNanosPerRow"] == conf[BUILD_NANOS] == "81"
    assert float(conf[f"{CANARY_SET}cost.hashBuildNanosPerRow"]) > 81
    kept = [line for line in applications.target.read_text().splitlines() if CANARY not in line]
    assert kept == before.splitlines()

    target = ("--target", str(applications.target))
    assert "queries by arm" not in answer("check", "--event-log", str(applications.logs))[1]

    applications.days(16)
    doctor = answer("check", "--event-log", str(applications.logs))[1]
    assert "queries by arm: " in " ".join(doctor.split())
    explained = answer("explain", str(applications.logs))[1]
    assert "[apply, canary]" in explained
    assert "[apply, control]" in explained
    moved = step(applications, answer)
    assert (moved["ring"], moved["why"].startswith("not slower by 5%")) == ("all", True)
    after = applications.conf()
    assert not any(key.startswith(CANARY) for key in after)
    assert after[BUILD_NANOS] == conf[f"{CANARY_SET}cost.hashBuildNanosPerRow"]
    assert applications.fleet.excess(current(after)) < applications.fleet.excess(DEFAULTS)

    applications.days(10)
    assert step(applications, answer)["ring"] == "settled"
    _, table, _ = answer("history", *target)
    for word in ("observe", "canary (0.3)", "all", "settled"):
        assert word in " ".join(table.split())
    records = [json.loads(line) for line in answer("history", *target, "--format", "json")[1].splitlines()]
    assert [one["canaryShare"] for one in records if "ring" in one] == [SHARE] * 4
    assert answer("rollback", *target, "--to", "0", "--yes")[0] == 0
    assert applications.target.read_text() == before


def test_a_slower_share_is_rolled_back_byte_for_byte(applications: Applications, answer: Answer) -> None:
    before = applications.target.read_bytes()
    in_canary(applications, answer)
    assert applications.target.read_bytes() != before
    applications.days(14, slowdown=2)
    found = step(applications, answer)
    assert (found["ring"], found["why"].startswith("slower: slower in ")) == ("rolled_back", True), found["why"]
    assert applications.target.read_bytes() == before


def test_one_error_in_the_canary_arm_rolls_back_byte_for_byte(applications: Applications, answer: Answer) -> None:
    before = applications.target.read_bytes()
    in_canary(applications, answer)
    first = applications.started + 1
    applications.days(3, slowdown=0.5, errors={"canary": 1})
    drawn = sum(draws(f"application_1763712000000_{one:04d}", SHARE) for one in range(first, applications.started + 1))
    assert drawn > 0
    found = step(applications, answer)
    assert (found["ring"], found["why"]) == (
        "rolled_back",
        f"{drawn} errors of the plugin in queries that have none without the change",
    )
    assert applications.target.read_bytes() == before


def test_errors_of_the_control_and_users_own_values_do_not_count(applications: Applications, answer: Answer) -> None:
    in_canary(applications, answer)
    applications.days(2, errors={"control": 3, "own": 3}, own=0.4)
    found = step(applications, answer)
    assert (found["ring"], found["why"].startswith("undecided so far: slower in ")) == ("canary", True), found["why"]


def test_an_error_that_the_control_has_as_well_is_no_error_of_the_change(
    applications: Applications, answer: Answer
) -> None:
    in_canary(applications, answer)
    applications.days(3, errors={"canary": 1, "control": 1})
    assert step(applications, answer)["ring"] == "canary"


def test_pairs_that_were_seen_decide_also_when_their_logs_are_gone(applications: Applications, answer: Answer) -> None:
    in_canary(applications, answer)
    counts = []
    for _ in range(8):
        applications.days(2, slowdown=1.5)
        found = step(applications, answer)
        for log in applications.logs.iterdir():
            log.unlink()
        counts.append(found["why"])
        if found["ring"] == "rolled_back":
            break
    assert found["why"].startswith("slower: slower in "), counts
    assert len(counts) > 1


def test_a_look_without_yes_keeps_no_pairs(applications: Applications, answer: Answer) -> None:
    in_canary(applications, answer)
    applications.days(4)
    (ledger,) = applications.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    before = ledger.read_bytes()
    shown = json.loads(answer(*words(applications))[1])["why"]
    assert ledger.read_bytes() == before
    assert step(applications, answer)["why"] == shown
    (seen,) = (json.loads(line) for line in ledger.read_bytes()[len(before) :].splitlines())
    assert (seen["number"], seen["ring"], len(seen["pairs"]) > 2) == (1, "canary", True)
    assert step(applications, answer)["why"] == shown
    assert len(ledger.read_bytes().splitlines()) == len(before.splitlines()) + 1


def test_runs_from_before_the_canary_keys_do_not_count(applications: Applications, answer: Answer) -> None:
    in_canary(applications, answer)
    assert step(applications, answer)["why"] == "undecided so far: no pair of applications yet"


def test_a_harmful_change_in_the_ring_all_is_rolled_back_byte_for_byte(
    applications: Applications, answer: Answer
) -> None:
    before = applications.target.read_bytes()
    in_canary(applications, answer)
    applications.days(16)
    assert step(applications, answer)["ring"] == "all"
    for number in range(20):
        runs = applications.fleet.week(current(applications.conf()), runs=1)
        slow = [replace(run, duration_millis=3 * run.duration_millis) for run in runs]
        (applications.logs / f"slow-{number}").write_bytes(log_of(slow, f"slow-{number}"))
    assert step(applications, answer)["ring"] == "rolled_back"
    assert applications.target.read_bytes() == before


def test_a_value_of_set_goes_to_the_share_at_once(applications: Applications, answer: Answer) -> None:
    before = applications.target.read_text()
    asked = f"{PREFIX}filter.buildTimeout=10"
    begun = step(applications, answer, "--canary-share", "0.25", "--set", asked)
    assert (begun["group"], begun["before"], begun["ring"]) == ("asked", "observe", "canary")
    keys = f"{CANARY_SHARE} 0.25\n{CANARY_SET}filter.buildTimeout 10\n"
    assert applications.target.read_text() == before + keys
    # A larger share by hand: whoever is drawn stays drawn, and the way back is the same.
    applications.target.write_text(applications.target.read_text().replace("share 0.25", "share 0.5"))
    applications.days(6, slowdown=1.5)
    assert step(applications, answer)["ring"] == "rolled_back"
    assert applications.target.read_text() == before


def test_the_next_apply_finishes_an_interrupted_step(
    applications: Applications, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = applications.target.read_bytes()
    step(applications, answer, "--canary-share", str(SHARE))
    applications.days(5)

    def full(*_: object) -> None:
        raise WriteError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.rollout.next_steps.carry_out_held", full)
        assert answer(*words(applications, "--yes"))[0] == 8
    assert applications.target.read_bytes() == before
    assert step(applications, answer)["ring"] == "canary"
    # The same when the file had been written and only the record of it was cut off.
    (rollouts,) = applications.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    rollouts.write_text("".join(rollouts.read_text().splitlines(keepends=True)[:-1]))
    assert step(applications, answer)["ring"] == "canary"
    applications.days(14, slowdown=2)
    assert step(applications, answer)["ring"] == "rolled_back"
    assert applications.target.read_bytes() == before


def test_without_yes_nothing_is_written(applications: Applications, answer: Answer) -> None:
    before = applications.target.read_bytes()
    asked = ("--set", f"{PREFIX}filter.buildTimeout=10")
    code, out, err = answer(
        "rollout", str(applications.logs), "--target", str(applications.target), "--canary-share", "0.25", *asked
    )
    assert (code, "canary: 0.25 of the applications" in out, "Nothing was written" in err) == (0, True, True), err
    assert applications.target.read_bytes() == before


@pytest.mark.parametrize("share", ["0", "1"])
def test_a_share_lies_between_0_and_1(applications: Applications, answer: Answer, share: str) -> None:
    code, _, err = answer(*words(applications, "--canary-share", share))
    assert (code, "--canary-share" in err) == (2, True), err


def test_another_canarys_keys_are_an_error(applications: Applications, answer: Answer) -> None:
    key = f"{CANARY_SET}filter.maxPerScan"
    applications.target.write_text(applications.target.read_text() + f"{key} 3\n")
    before = applications.target.read_bytes()
    asked = ("--canary-share", "0.25", "--set", f"{PREFIX}filter.buildTimeout=10", "--yes")
    code, _, err = answer(*words(applications, *asked))
    assert (code, f"{key} = 3 belongs to another canary" in err) == (7, True), err
    assert applications.target.read_bytes() == before


def test_the_share_of_a_running_rollout_cannot_change(applications: Applications, answer: Answer) -> None:
    step(applications, answer, "--canary-share", str(SHARE))
    code, _, err = answer(*words(applications, "--canary-share", "0.5"))
    assert (code, err) == (
        7,
        "--canary-share 0.5: rollout no. 1 is under way and has the share 0.3. Leave the option out.\n",
    )
