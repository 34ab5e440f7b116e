"""``apply`` with wrong clocks, interruptions, concurrent commands and other versions."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from aqe_plugin.errors import WriteError
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.rollout.ledger import locked
from commands import Answer
from tuned_cluster import Cluster, step, with_canary

pytestmark = pytest.mark.simulation

NO_SPACE = "Read 24 logs.\n288 runs of 12 fingerprints. Starting Spark to decide them again ...\nno space\n"


def test_a_step_dated_in_the_future_is_reported(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("apply", str(cluster.logs), "--target", str(cluster.target), "--yes")
    with monkeypatch.context() as ahead:
        late = datetime(2190, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
        ahead.setattr("aqe_plugin.cli.apply.actor", lambda why: Actor("ann@host", why, lambda: late))
        assert "in the future" not in answer(*words)[2]
        assert "in the future" not in answer(*words)[2]
    code, out, err = answer(*words)
    (told,) = (line for line in err.splitlines() if "in the future" in line)
    assert (code, "too few newer runs to confirm the change" in out) == (0, True)
    assert told == (
        "rollout no. 1: its last step is dated 2190-05-06T07:08:09+00:00, in the future, and only runs after it count. "
        "If this machine's clock is behind, set it. If the clock was ahead when the step was made, begin again: "
        f"aqe-plugin rollback, then move rollouts.jsonl in {cluster.target.parent}/.aqe-plugin/spark-defaults.conf "
        "away."
    )
    for rollouts in cluster.target.parent.rglob("rollouts.jsonl"):
        rollouts.unlink()
    assert "in the future" not in answer(*words)[2]


def test_a_canary_must_not_be_the_target(cluster: Cluster, answer: Answer) -> None:
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target), "--canary", str(cluster.target))
    assert code == 5
    assert "is the file that every application reads: give one that a part of them reads." in err


def test_the_next_apply_finishes_an_interrupted_step(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.canary.read_bytes()
    step(cluster, answer, "--canary", str(cluster.canary))
    cluster.week()

    def full(*_: object) -> None:
        raise WriteError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.rollout.engine.carry_out", full)
        assert answer("apply", str(cluster.logs), "--target", str(cluster.target), "--yes")[::2] == (8, NO_SPACE)
    assert cluster.canary.read_bytes() == before
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target))
    assert (code, err.splitlines()) == (
        0,
        ["The step to canary was interrupted before.", "Nothing was written; --yes makes the change."],
    )
    assert step(cluster, answer)["ring"] == "canary"
    assert cluster.canary.read_bytes() != before
    cluster.week_with_canary(slowdown=1.5)
    assert step(cluster, answer, *with_canary(cluster))["ring"] == "rolled_back"
    assert cluster.canary.read_bytes() == before


def test_a_second_apply_on_the_same_file_is_refused(cluster: Cluster, answer: Answer) -> None:
    with locked(cluster.target):
        code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target), "--yes")
    assert (code, "another aqe-plugin is changing the same file" in err) == (7, True)


def test_a_running_rollout_needs_its_canarys_logs_and_no_other_canary(cluster: Cluster, answer: Answer) -> None:
    words = ("apply", str(cluster.logs), "--target", str(cluster.target))
    step(cluster, answer, "--canary", str(cluster.canary))
    assert answer(*words, "--canary", "/other.conf")[::2] == (
        5,
        (
            f"--canary /other.conf: rollout no. 1 is under way and has the canary {cluster.canary}. "
            "Leave the option out.\n"
        ),
    )
    cluster.week()
    step(cluster, answer)
    assert answer(*words)[::2] == (
        5,
        (
            f"Rollout no. 1 is in its canary {cluster.canary}: give --canary-log with the event logs of the "
            "applications that read it, or --canary-decisions with the tables made of them.\n"
        ),
    )


def test_rollouts_of_a_newer_version_are_an_error(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer)
    (path,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    path.write_text("not a step\n" + path.read_text())
    assert step(cluster, answer)["ring"] == "observe"
    path.write_text(path.read_text().replace('"schemaVersion": 2', '"schemaVersion": 3'))
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target))
    assert (code, "schemaVersion 3, this aqe-plugin reads up to 2: upgrade it" in err) == (4, True)


def test_a_rollout_that_an_older_version_began_continues(cluster: Cluster, answer: Answer) -> None:
    begun = step(cluster, answer)
    (path,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    older = path.read_text().replace('"schemaVersion": 2', '"schemaVersion": 1')
    path.write_text(older.replace('"fingerprints": ', '"cohorts": '))
    found = step(cluster, answer)
    assert (found["number"], found["why"]) == (1, "too few newer runs to confirm the change")
    assert found["evidence"] == begun["evidence"]
