"""``recommend`` on the command line; the decision function is that of the simulated fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aqe_plugin.conf.keys import PREFIX
from commands import Answer
from samples import query_lines, write_log
from tuned_cluster import Cluster

pytestmark = pytest.mark.simulation


def test_recommend_shows_every_group_and_changes_nothing(cluster: Cluster, answer: Answer) -> None:
    before = cluster.target.read_bytes()
    code, out, err = answer("recommend", str(cluster.logs), "--target", str(cluster.target))
    assert code == 0
    assert err == ("Read 16 logs.\n192 runs of 12 fingerprints.\nStarting Spark to decide them again ...\n")
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


def test_recommend_gives_lines_of_a_conf(cluster: Cluster, answer: Answer) -> None:
    _, out, _ = answer("recommend", str(cluster.logs), "--format", "conf")
    lines = out.splitlines()
    assert len(lines) == 5
    assert all(line.startswith(f"{PREFIX}cost.") for line in lines)


def test_recommend_finds_nothing_to_change_when_prices_are_right(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Cluster(tmp_path, (1.0,) * 6, seed=3)
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", right.replay)
    code, out, err = answer("recommend", str(right.logs), "--format", "conf")
    assert (code, out) == (0, "")
    assert "Nothing to change: no group passes with at least 5 runs of a fingerprint, steps of at most x2" in err


def test_of_too_few_runs_nothing_is_decided_again_and_no_spark_starts(
    cluster: Cluster, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", lambda: pytest.fail("Spark starts"))
    code, out, err = answer("recommend", str(cluster.logs), "--min-runs", "1000", "--format", "json")
    assert code == 0
    assert all("no fingerprint with 1000 runs" in json.loads(line)["reason"] for line in out.splitlines())
    assert err.startswith("Read 16 logs.\n192 runs of 12 fingerprints.\nNothing to change: ")


def test_a_target_that_is_not_there_is_refused_before_anything_is_read_or_started(
    cluster: Cluster, answer: Answer
) -> None:
    mistyped = cluster.target.with_name("spark-default.conf")
    code, out, err = answer("recommend", str(cluster.logs), "--target", str(mistyped))
    said = f"--target {mistyped}: no such file. Without --target, steps start from the defaults.\n"
    assert (code, out, err) == (4, "", said)
    code, out, err = answer("recommend", str(cluster.logs), "--target", "/no/such/spark-defaults.conf")
    assert (code, out, err.startswith("/no/such: no such folder. ")) == (4, "", True), err


def test_logs_without_a_finished_query_are_an_error(tmp_path: Path, answer: Answer) -> None:
    log = write_log(tmp_path / "app-1", query_lines()[:3])
    code, _, err = answer("recommend", str(log))
    assert (code, err.splitlines()) == (
        4,
        ["Read 1 log.", f"{log}: no finished query with a decision of aqe-plugin in it."],
    )
    assert answer("recommend", "/no/such/log")[0] == 4
