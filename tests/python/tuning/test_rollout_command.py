"""``rollout`` carries a change through the rings; the decision function is that of the simulated fleet."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from api_server import ApiServer
from aqe_plugin.conf.stores.file_store import FileStore
from commands import Answer
from fleet import DEFAULTS, log_of
from tuned_cluster import Cluster, step

pytestmark = pytest.mark.simulation


def test_a_good_change_goes_through_every_ring(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    assert step(cluster, answer)["ring"] == "observe"
    waiting = step(cluster, answer)
    assert (waiting["ring"], waiting["why"]) == ("observe", "too few newer runs to confirm the change")
    cluster.week()
    assert cluster.target.read_bytes() == before
    assert step(cluster, answer, "--why", "as agreed")["ring"] == "all"
    assert cluster.thresholds(FileStore(cluster.target))["cost.hashBuildNanosPerRow"] > 80
    assert cluster.fleet.excess(cluster.thresholds(FileStore(cluster.target))) < cluster.fleet.excess(DEFAULTS)
    cluster.week()
    cluster.week()
    assert step(cluster, answer)["ring"] == "settled"

    _, table, _ = answer("history", "--target", str(cluster.target))
    assert re.search(r"^  evidence \d+ runs, \d+ fingerprints, .* confidence [01]\.\d+$", table, re.MULTILINE)
    for word in ("observe", "all", "settled", "ann@host", "(as agreed)", "rollout, done"):
        assert word in table
    records = [
        json.loads(line)
        for line in answer("history", "--target", str(cluster.target), "--format", "json")[1].splitlines()
    ]
    (tuned,) = [record for record in records if record.get("action") == "rollout"]
    assert "confidence" in tuned["changes"][0]["why"]
    assert [record["ring"] for record in records if "ring" in record] == ["observe", "all", "settled"]


def test_one_application_is_one_pair_and_decides_nothing(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer)
    cluster.week()
    assert step(cluster, answer)["ring"] == "all"
    slow = [replace(run, duration_millis=3 * run.duration_millis) for run in cluster.fleet.week(None)]
    # 96 runs of one application, which may be slow for reasons of its own.
    (cluster.logs / "one").write_bytes(log_of(slow, "one"))
    found = step(cluster, answer)
    assert (found["ring"], found["why"][:42]) == ("all", "undecided so far: slower in 1 of 1 pairs, ")


def test_without_a_canary_the_control_is_the_runs_before_the_change(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    step(cluster, answer)
    cluster.week()
    assert step(cluster, answer)["ring"] == "all"
    assert cluster.target.read_bytes() != before
    slow = cluster.fleet.week(cluster.thresholds(FileStore(cluster.target)), 16)
    cluster.write([replace(run, duration_millis=3 * run.duration_millis) for run in slow])
    assert step(cluster, answer)["ring"] == "rolled_back"
    assert cluster.target.read_bytes() == before


def test_a_rollout_of_a_configmap_on_an_api_server_goes_back(
    cluster: Cluster, answer: Answer, api: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = "/api/v1/namespaces/spark/configmaps/conf"
    before = {"spark-defaults.conf": "spark.aqePlugin.mode apply\n"}
    api.put(path, data=before)
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
    words = ("rollout", str(cluster.logs), "--target", "kubernetes:cm/conf", "--yes", "--format", "json")
    assert json.loads(answer(*words, "--set", "spark.aqePlugin.filter.buildTimeout=10")[1])["ring"] == "all"
    assert "buildTimeout 10" in api.objects[path]["data"]["spark-defaults.conf"]
    slow = cluster.fleet.week(None, 16)
    cluster.write([replace(run, duration_millis=3 * run.duration_millis) for run in slow])
    assert json.loads(answer(*words)[1])["ring"] == "rolled_back"
    assert api.objects[path]["data"] == before


def test_without_yes_nothing_is_written(cluster: Cluster, answer: Answer) -> None:
    code, out, err = answer("rollout", str(cluster.logs), "--target", str(cluster.target))
    assert code == 0
    assert "rollout no. 1 (broadcast): observe" in out
    assert err.endswith("Nothing was written; --yes makes the change.\n")
    assert not (cluster.target.parent / ".aqe-plugin").exists()


def test_the_next_rollout_starts_when_one_is_over(cluster: Cluster, answer: Answer) -> None:
    step(cluster, answer)
    cluster.week()
    step(cluster, answer)
    cluster.week()
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
        cluster.week()
        step(cluster, answer)
    first = json.loads(answer("history", *target, "--format", "json")[1].splitlines()[0])["after"]
    assert answer("rollback", *target, "--to", "1", "--yes")[0] == 0
    newest = [json.loads(line) for line in answer("history", *target, "--format", "json")[1].splitlines()]
    back = next(one for one in reversed(newest) if "action" in one)
    assert (back["action"], back["undoes"], back["after"]) == ("rollback", 2, first)
    assert answer("rollback", *target, "--to", "2")[::2] == (
        9,
        f"{cluster.target}: change no. 2 is not in force; in force: 1. 0 goes back before the first.\n",
    )
    assert answer("rollback", *target, "--to", "1")[::2] == (
        9,
        f"{cluster.target}: change no. 1 is the last one in force; there is nothing to roll back.\n",
    )
    assert answer("rollback", *target, "--to", "0", "--yes")[0] == 0
    assert cluster.target.read_bytes() == before
