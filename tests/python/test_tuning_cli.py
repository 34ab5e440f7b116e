"""``recommend`` and ``apply`` as a user meets them; the decision function is that of the simulated fleet."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from api_server import ApiServer
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.stores.file_store import Where
from aqe_plugin.conf.stores.locate import find_target, read_target
from aqe_plugin.errors import WriteError
from aqe_plugin.install.journal import Actor
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.history import Run
from aqe_plugin.tuning.rollout.ledger import locked
from commands import Answer
from fleet import DAY_MILLIS, DEFAULTS, Fleet, fleet_of, log_of
from samples import query_lines, write_log

pytestmark = pytest.mark.simulation

NO_SPACE = "Read 24 logs.\n288 runs of 12 fingerprints. Starting Spark to decide them again ...\nno space\n"
DEAR_BROADCASTS = (1.0, 1.0, 3.0, 1.0, 1.0, 1.0)


class Cluster:
    """A fleet, its conf files and its event logs, and a clock that goes with its days."""

    def __init__(self, folder: Path, truth: tuple[float, ...], seed: int = 0) -> None:
        self.fleet: Fleet = fleet_of(seed, truth, queries=12)
        self.target, self.canary = folder / "spark-defaults.conf", folder / "queue-a.conf"
        self.target.write_text("# ours\nspark.master yarn\n")
        self.canary.write_text("spark.master yarn\nspark.aqePlugin.mode apply\n")
        self.logs, self.canary_logs = folder / "events", folder / "canary-events"
        for made in (self.logs, self.canary_logs):
            made.mkdir()
        self.write(self.fleet.week(None))
        self.week()

    def thresholds(self, file: Where) -> dict[str, float]:
        return current(read_target(file).conf.items())

    def week(self) -> None:
        self.write(self.fleet.week(self.thresholds(self.target)))

    def week_with_canary(self, slowdown: float = 1.0, errors: int = 0, canary: Where | None = None) -> None:
        day = self.fleet.day
        self.week()
        self.fleet.day = day
        runs = self.fleet.week(self.thresholds(canary or self.canary))
        slowed = [replace(run, duration_millis=round(run.duration_millis * slowdown)) for run in runs]
        self.write(slowed, self.canary_logs, errors)

    def write(self, runs: list[Run], folder: Path | None = None, errors: int = 0) -> None:
        """An application each day; the last one with so many errors of the plugin."""
        days = sorted({run.at_millis for run in runs})
        for at in days:
            application = f"app-{at // DAY_MILLIS}"
            content = log_of([run for run in runs if run.at_millis == at], application, errors if at == days[-1] else 0)
            ((folder or self.logs) / application).write_bytes(content)

    def now(self) -> datetime:
        # Between the last day that was and the next.
        return datetime.fromtimestamp((self.fleet.day * DAY_MILLIS - DAY_MILLIS // 2) / 1000, timezone.utc)

    @contextmanager
    def replay(self) -> Iterator[Any]:
        yield self.fleet.replay


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path, DEAR_BROADCASTS)
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", made.replay)
    monkeypatch.setattr("aqe_plugin.cli.apply.actor", lambda why: Actor("ann@host", why, made.now))
    return made


def step(cluster: Cluster, answer: Answer, *words: str) -> dict[str, Any]:
    code, out, err = answer(
        "apply", str(cluster.logs), "--target", str(cluster.target), "--format", "json", "--yes", *words
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def with_canary(cluster: Cluster) -> tuple[str, ...]:
    return ("--canary", str(cluster.canary), "--canary-log", str(cluster.canary_logs))


# recommend


def test_recommend_shows_every_group_and_changes_nothing(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    code, out, err = answer("recommend", str(cluster.logs), "--target", str(cluster.target))
    assert code == 0
    assert err == ("Read 16 logs.\n192 runs of 12 fingerprints. Starting Spark to decide them again ...\n")
    for word in ("broadcast", "passes", "confidence", "no logged decision would change", "shuffle", "pass-rate"):
        assert word in out
    assert cluster.target.read_bytes() == before
    assert not (cluster.target.parent / ".aqe-plugin").exists()


def test_recommend_gives_a_json_line_for_each_group(cluster: Cluster, answer: Answer) -> None:
    _, out, _ = answer("recommend", str(cluster.logs), "--format", "json")
    findings = {one["group"]: one for one in map(json.loads, out.splitlines())}
    assert len(findings) == 8
    assert findings["broadcast"]["chosen"] is True
    assert findings["broadcast"]["passes"] is True
    assert findings["broadcast"]["recommendation"]["evidence"]["fingerprints"] == 12
    assert all(one["passes"] or one["reason"] or one["stoppedBy"] for one in findings.values())


def test_recommend_gives_lines_of_a_conf_and_a_diff_of_the_file(cluster: Cluster, answer: Answer) -> None:
    _, out, _ = answer("recommend", str(cluster.logs), "--format", "conf")
    lines = out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith(f"{PREFIX}cost.") for line in lines)
    _, diff, _ = answer("recommend", str(cluster.logs), "--target", str(cluster.target), "--format", "diff")
    assert [line[1:] for line in diff.splitlines() if line.startswith("+spark")] == lines
    code, _, err = answer("recommend", str(cluster.logs), "--format", "diff")
    assert (code, err) == (
        5,
        "--format diff needs the file to change: give --target FILE or --spark-home FOLDER.\n",
    )


def test_recommend_finds_nothing_to_change_when_prices_are_right(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Cluster(tmp_path, (1.0,) * 6, seed=3)
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", right.replay)
    code, out, err = answer("recommend", str(right.logs), "--format", "conf")
    assert (code, out) == (0, "")
    assert "Nothing to change: no group passes with at least 5 runs of a fingerprint, steps of at most x2" in err


def test_logs_without_a_finished_query_are_an_error(tmp_path: Path, answer: Answer) -> None:
    log = write_log(tmp_path / "app-1", query_lines()[:3])
    code, _, err = answer("recommend", str(log))
    assert (code, err.splitlines()) == (
        4,
        ["Read 1 log.", f"{log}: no finished query with a decision of aqe-plugin in it."],
    )
    assert answer("recommend", "/no/such/log")[0] == 4


# apply


def test_a_good_change_goes_through_every_ring(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    words = with_canary(cluster)
    assert step(cluster, answer, "--canary", str(cluster.canary))["ring"] == "observe"
    waiting = step(cluster, answer, "--canary", str(cluster.canary))
    assert (waiting["ring"], waiting["why"]) == ("observe", "too few newer runs to confirm the change")
    cluster.week()
    assert step(cluster, answer, "--canary", str(cluster.canary))["ring"] == "canary"
    assert cluster.target.read_bytes() == before
    assert cluster.thresholds(cluster.canary)["cost.hashBuildNanosPerRow"] > 80
    cluster.week_with_canary()
    assert step(cluster, answer, *words, "--why", "as agreed")["ring"] == "all"
    assert cluster.thresholds(cluster.target) == cluster.thresholds(cluster.canary)
    assert cluster.fleet.excess(cluster.thresholds(cluster.target)) < cluster.fleet.excess(DEFAULTS)
    cluster.week()
    assert step(cluster, answer, *words)["ring"] == "settled"

    _, table, _ = answer("history", "--target", str(cluster.target))
    assert re.search(r"^  evidence \d+ runs, \d+ fingerprints, .* confidence [01]\.\d+$", table, re.MULTILINE)
    for word in ("observe", "canary", "all", "settled", "ann@host", "(as agreed)", "tune"):
        assert word in table
    records = [
        json.loads(line)
        for line in answer("history", "--target", str(cluster.target), "--format", "json")[1].splitlines()
    ]
    (tuned,) = [record for record in records if record.get("action") == "tune"]
    assert "confidence" in tuned["changes"][0]["why"]
    assert [record["ring"] for record in records if "ring" in record] == ["observe", "canary", "all", "settled"]


@pytest.mark.parametrize(("slowdown", "errors", "why"), [(1.5, 0, "slower: slower in"), (0.5, 1, "1 errors")])
def test_a_slower_or_failing_canary_gets_its_old_bytes_back(
    cluster: Cluster, answer: Answer, slowdown: float, errors: int, why: str
) -> None:
    before = {file: file.read_bytes() for file in (cluster.target, cluster.canary)}
    step(cluster, answer, "--canary", str(cluster.canary))
    cluster.week()
    assert step(cluster, answer)["ring"] == "canary"
    assert cluster.canary.read_bytes() != before[cluster.canary]
    cluster.week_with_canary(slowdown, errors)
    found = step(cluster, answer, *with_canary(cluster))
    assert found["ring"] == "rolled_back"
    assert found["why"].startswith(why)
    assert {file: file.read_bytes() for file in before} == before


def test_one_application_is_one_pair_and_decides_nothing(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer, "--canary", str(cluster.canary))
    cluster.week()
    assert step(cluster, answer)["ring"] == "canary"
    cluster.week()
    slow = [replace(run, duration_millis=3 * run.duration_millis) for run in cluster.fleet.week(None)]
    # 96 runs of one application, which may be slow for reasons of its own.
    (cluster.canary_logs / "one").write_bytes(log_of(slow, "one"))
    found = step(cluster, answer, *with_canary(cluster))
    assert (found["ring"], found["why"][:42]) == ("canary", "undecided so far: slower in 1 of 1 pairs, ")


# apply --set

ASKED = "spark.aqePlugin.filter.buildTimeout=10"


def test_a_value_of_set_goes_to_the_canary_at_once(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    words = ("--canary", str(cluster.canary), "--set", ASKED, "--set", "spark.aqePlugin.mode=apply", "--why", "a test")
    begun = step(cluster, answer, *words)
    assert (begun["group"], begun["before"], begun["ring"]) == ("asked", "observe", "canary")
    assert [change["key"] for change in begun["canaryChanges"]] == [ASKED.split("=")[0]]
    assert (
        cluster.canary.read_text() == "spark.master yarn\nspark.aqePlugin.mode apply\n" + ASKED.replace("=", " ") + "\n"
    )
    assert cluster.target.read_bytes() == before
    cluster.week_with_canary(slowdown=0.8)
    assert step(cluster, answer, *with_canary(cluster))["ring"] == "all"
    assert cluster.target.read_text().endswith("spark.aqePlugin.filter.buildTimeout 10\nspark.aqePlugin.mode apply\n")


def test_set_begins_without_logs(cluster: Cluster, answer: Answer) -> None:
    code, _, err = answer("apply", "--target", str(cluster.target), "--set", ASKED, "--yes")
    assert (code, "Read " in err) == (0, False), err
    assert cluster.target.read_text().endswith("spark.aqePlugin.filter.buildTimeout 10\n")
    # From then on there is something to compare.
    code, _, err = answer("apply", "--target", str(cluster.target), "--yes")
    assert (code, err[:15]) == (5, "Give event logs")


def test_a_harmful_value_of_set_goes_back_byte_for_byte(cluster: Cluster, answer: Answer) -> None:
    before = {file: file.read_bytes() for file in (cluster.target, cluster.canary)}
    step(cluster, answer, "--canary", str(cluster.canary), "--set", ASKED)
    cluster.week_with_canary(slowdown=1.5)
    found = step(cluster, answer, *with_canary(cluster))
    assert (found["ring"], found["why"][:7]) == ("rolled_back", "slower:")
    assert {file: file.read_bytes() for file in before} == before


def test_a_value_of_set_goes_to_all_without_a_canary(cluster: Cluster, answer: Answer) -> None:
    assert step(cluster, answer, "--set", ASKED)["ring"] == "all"
    assert cluster.target.read_text().endswith("spark.aqePlugin.filter.buildTimeout 10\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--set", "spark.aqePlugin.filter.buildTimeout"], "write KEY=VALUE"),
        (["--set", "spark.master=local"], "spark.master = local: not a key of the plugin (spark.aqePlugin.*)."),
        (["--set", "spark.aqePlugin.filter.buildTimeout=0"], "buildTimeout = 0: "),
        (["--set", ASKED, "--set", ASKED], "given twice, as 10 and as 10."),
    ],
)
def test_a_value_that_the_plugin_refuses_begins_no_rollout(
    cluster: Cluster, answer: Answer, words: list[str], why: str
) -> None:
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target), "--yes", *words)
    assert (code, why in err) == (5, True), err
    assert answer("history", "--target", str(cluster.target), "--format", "json")[1] == ""


def test_set_is_refused_while_a_rollout_is_under_way(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer, "--canary", str(cluster.canary), "--set", ASKED)
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target), "--set", ASKED)
    assert (code, "rollout no. 1 (asked) is under way, in the ring canary. Let it end first" in err) == (5, True), err


def test_a_value_that_is_already_set_begins_no_rollout(cluster: Cluster, answer: Answer) -> None:
    cluster.target.write_text("spark.aqePlugin.filter.buildTimeout 10\n")
    code, _, err = answer("apply", str(cluster.logs), "--target", str(cluster.target), "--set", ASKED, "--yes")
    assert (code, "Nothing to change" in err) == (0, True), err


def test_without_a_canary_the_control_is_the_runs_before_the_change(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    step(cluster, answer)
    cluster.week()
    assert step(cluster, answer)["ring"] == "all"
    assert cluster.target.read_bytes() != before
    slow = cluster.fleet.week(cluster.thresholds(cluster.target))
    cluster.write([replace(run, duration_millis=3 * run.duration_millis) for run in slow])
    assert step(cluster, answer)["ring"] == "rolled_back"
    assert cluster.target.read_bytes() == before


def test_a_canary_on_an_api_server_goes_back(
    cluster: Cluster, answer: Answer, api: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, name = "/api/v1/namespaces/spark/configmaps/queue-a", "kubernetes:spark/configmap/queue-a"
    before = {"spark-defaults.conf": "spark.aqePlugin.mode apply\n"}
    api.put(path, data=before)
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
    step(cluster, answer, "--canary", "kubernetes:cm/queue-a")
    cluster.week()
    assert step(cluster, answer, "--canary", name)["ring"] == "canary"
    assert "hashBuildNanosPerRow" in api.objects[path]["data"]["spark-defaults.conf"]
    cluster.week_with_canary(slowdown=1.5, canary=find_target(Path(name), None, os.environ))
    assert step(cluster, answer, "--canary-log", str(cluster.canary_logs))["ring"] == "rolled_back"
    assert api.objects[path]["data"] == before


def test_without_yes_nothing_is_written(cluster: Cluster, answer: Answer) -> None:
    code, out, err = answer("apply", str(cluster.logs), "--target", str(cluster.target))
    assert code == 0
    assert "rollout no. 1 (broadcast): observe" in out
    assert err.endswith("Nothing was written; --yes makes the change.\n")
    assert not (cluster.target.parent / ".aqe-plugin").exists()


def test_the_next_rollout_starts_when_one_is_over(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer)
    cluster.week()
    step(cluster, answer)
    cluster.week()
    assert step(cluster, answer)["ring"] == "settled"
    following = step(cluster, answer)
    assert (following["number"], following["ring"]) == (2, "observe")


def test_rollback_to_a_number_undoes_all_later_changes(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    target = ("--target", str(cluster.target))
    for _ in range(2):
        step(cluster, answer)
        cluster.week()
        step(cluster, answer)
        cluster.week()
        step(cluster, answer)
    first = json.loads(answer("history", *target, "--format", "json")[1].splitlines()[0])["after"]
    assert answer("rollback", *target, "--to", "1", "--yes")[0] == 0
    newest = [json.loads(line) for line in answer("history", *target, "--format", "json")[1].splitlines()]
    back = next(one for one in reversed(newest) if "action" in one)
    assert (back["action"], back["undoes"], back["after"]) == ("rollback", 2, first)
    assert answer("rollback", *target, "--to", "2")[::2] == (
        4,
        f"{cluster.target}: change no. 2 is not in force; in force: 1. 0 goes back before the first.\n",
    )
    assert answer("rollback", *target, "--to", "1")[::2] == (
        4,
        f"{cluster.target}: change no. 1 is the last one in force; there is nothing to roll back.\n",
    )
    assert answer("rollback", *target, "--to", "0", "--yes")[0] == 0
    assert cluster.target.read_bytes() == before


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


def test_a_rollout_that_an_older_version_began_goes_on(cluster: Cluster, answer: Answer) -> None:
    begun = step(cluster, answer)
    (path,) = cluster.target.parent.glob(".aqe-plugin/*/rollouts.jsonl")
    older = path.read_text().replace('"schemaVersion": 2', '"schemaVersion": 1')
    path.write_text(older.replace('"fingerprints": ', '"cohorts": '))
    found = step(cluster, answer)
    assert (found["number"], found["why"]) == (1, "too few newer runs to confirm the change")
    assert found["evidence"] == begun["evidence"]
