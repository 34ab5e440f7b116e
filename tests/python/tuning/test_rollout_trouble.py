"""``rollout`` with wrong clocks, interruptions, concurrent commands and other versions."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from aqe_plugin.conf.keys import MODE_KEY
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import WriteError
from aqe_plugin.install.journal import Actor, journal_of
from aqe_plugin.tuning.rollout.ledger import locked, rollouts_of
from commands import Answer
from fleet import log_of
from samples import over
from tuned_cluster import Cluster, step

pytestmark = pytest.mark.simulation

NO_SPACE = "Read 24 logs.\n288 runs of 12 fingerprints.\nStarting Spark to decide them again ...\nno space\n"


def test_a_step_dated_in_the_future_is_reported(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes")
    with monkeypatch.context() as ahead:
        late = datetime(2190, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
        ahead.setattr("aqe_plugin.cli.rollout.actor", lambda why: Actor("ann@host", why, lambda: late))
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


def test_the_next_apply_finishes_an_interrupted_step(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.target.read_bytes()
    step(cluster, answer)
    cluster.week()

    def full(*_: object) -> None:
        raise WriteError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("aqe_plugin.tuning.rollout.next_steps.carry_out_held", full)
        assert answer("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes")[::2] == (8, NO_SPACE)
    assert cluster.target.read_bytes() == before
    code, _, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target))
    assert (code, err.splitlines()[0], err.splitlines()[-1]) == (
        0,
        "The step to all was interrupted before.",
        "Nothing was written; --yes makes the change.",
    )
    assert step(cluster, answer)["ring"] == "all"
    assert cluster.target.read_bytes() != before


def test_damaged_lines_of_the_ledger_are_warned_of(cluster: Cluster, answer: Answer) -> None:
    words = ("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes")
    assert answer(*words, "--set", "spark.aqePlugin.filter.buildTimeout=10")[0] == 0
    (ledger,) = journal_of(FileStore(cluster.target)).folder.glob("rollouts.jsonl")
    first, *others = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join([first[:40] + b"\n", *others]))
    _, _, err = answer(*words)
    assert f"{ledger}: left out, because they are cut off or damaged: lines 1. " in " ".join(err.split())


def test_a_second_apply_on_the_same_file_is_refused(cluster: Cluster, answer: Answer) -> None:
    with locked(FileStore(cluster.target)):
        code, _, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes")
    assert (code, "another aqe-plugin is changing the same file" in err) == (7, True)


@pytest.mark.parametrize(
    ("version", "cure"), [(5, "upgrade it"), (2, "then move this file away; the next rollout begins anew")]
)
def test_rollouts_of_another_version_are_an_error(cluster: Cluster, answer: Answer, version: int, cure: str) -> None:
    step(cluster, answer)
    (path,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    path.write_text("not a step\n" + path.read_text())
    assert step(cluster, answer)["ring"] == "observe"
    path.write_text(path.read_text().replace('"schemaVersion": 4', f'"schemaVersion": {version}'))
    code, _, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target))
    assert code == 9
    assert f"schemaVersion {version}, this aqe-plugin reads 4: " in err
    assert err.rstrip().endswith(f"{cure}.")


def test_a_change_of_a_key_that_is_gone_is_not_confirmed(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer)
    (path,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    path.write_text(path.read_text().replace("cost.hashBuildNanosPerRow", "cost.goneNanosPerRow"))
    cluster.week()
    found = step(cluster, answer)
    assert (found["ring"], found["why"]) == (
        "rolled_back",
        "this version of aqe-plugin does not take the keys or values of the change",
    )


@pytest.mark.parametrize("stop", [("rollout", "--set", f"{MODE_KEY}=off"), ("edit", "OFF")])
def test_a_stop_is_not_taken_back_by_a_later_apply_whatever_the_logs_show(
    cluster: Cluster, answer: Answer, stop: tuple[str, ...]
) -> None:
    if stop[0] == "edit":
        # A rollout is under way.
        step(cluster, answer, "--set", "spark.aqePlugin.filter.buildTimeout=10")
        cluster.target.write_text(f"{cluster.target.read_text()}{MODE_KEY} {stop[1]}\n")
    else:
        step(cluster, answer, *stop[1:])
    stopped, taken = cluster.target.read_bytes(), rollouts_of(FileStore(cluster.target))
    for old in cluster.logs.iterdir():
        old.unlink()
    log = log_of(cluster.fleet.week(None)[-1:], "app-new", errors=2)
    (cluster.logs / "app-new").write_bytes(log.replace(over(1), over(1, error="out of disk")))
    for words in ([], stop[1:] if stop[0] == "rollout" else []):
        code, out, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target), "--yes", *words)
        assert (code, out) == (0, "")
        assert f"{cluster.target}: {MODE_KEY} is off, so no step is taken" in err
    assert (cluster.target.read_bytes(), rollouts_of(FileStore(cluster.target))) == (stopped, taken)
    if stop[0] == "rollout":
        assert answer("rollback", "--target", str(cluster.target), "--yes")[0] == 0
        assert "off" not in cluster.target.read_text()


def test_errors_of_the_plugin_take_a_change_back_also_where_every_query_failed(
    cluster: Cluster, answer: Answer
) -> None:
    before = cluster.target.read_bytes()
    step(cluster, answer, "--set", "spark.aqePlugin.filter.buildTimeout=10")
    for old in cluster.logs.iterdir():
        old.unlink()
    log = log_of(cluster.fleet.week(None)[-1:], "app-new", errors=2)
    (cluster.logs / "app-new").write_bytes(log.replace(over(1), over(1, error="out of disk")))
    found = step(cluster, answer)
    assert (found["ring"], "2 errors of the plugin" in found["why"]) == ("rolled_back", True)
    assert cluster.target.read_bytes() == before
    # There is nothing to learn a threshold from.
    code, _, err = answer("recommend", str(cluster.logs))
    assert (code, err.splitlines()[-1]) == (
        4,
        f"{cluster.logs}: no finished query with a decision of aqe-plugin in it.",
    )
