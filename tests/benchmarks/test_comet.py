"""Comet's contenders are held against Comet alone, and where Comet differs from Spark is no fault of theirs."""

from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.api.row_difference import Row
from benchmarks import comet
from benchmarks import measure as module
from benchmarks.comet import comet_session
from benchmarks.configs import COMET_KEY, Contender, contenders
from benchmarks.measure import Plan, QueryResult, measure
from workloads.tpcds.queries import Query

_NAMES = ("default", "comet", "comet-forced", "plugin", "comet-plugin")


def _measured(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[Row]], **more: Any) -> QueryResult:
    def run(spark: Any, query: Query, contender: Contender, *_: object) -> tuple[float, float, list[Row]]:
        return 1.0, 1.0, answers[contender.name]

    monkeypatch.setattr(module, "_run_once", run)
    # With a warm-up the last contender runs first.
    return measure(None, Query("q1", "", ""), contenders(answers), Plan(runs=1, warm_ups=1), **more)  # type: ignore[arg-type]


def test_rows_are_compared_within_an_engine_and_between_engines_by_their_first_contenders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark, of_comet = [(1.0,)], [(1.5,)]
    alike = _measured(monkeypatch, dict(zip(_NAMES, (spark, of_comet, of_comet, spark, of_comet), strict=True)))
    assert (alike.rows_differ, list(alike.engines_differ)) == ({}, ["comet"])
    wrong = _measured(monkeypatch, dict(zip(_NAMES, (spark, of_comet, of_comet, spark, spark), strict=True)))
    assert (list(wrong.rows_differ), list(wrong.engines_differ)) == (["comet-plugin"], ["comet"])


def test_the_answer_of_duckdb_is_held_against_sparks(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, list[Row]] = {"default": [(1,)], "comet": [(2,)]}
    assert _measured(monkeypatch, answers, reference=lambda _: [(1,)]).rows_differ == {}
    assert list(_measured(monkeypatch, answers, reference=lambda _: [(2,)]).rows_differ) == ["DuckDB"]


def test_the_others_switch_comet_off_beside_it() -> None:
    switched = {one.name: one.confs.get(COMET_KEY) for one in contenders(_NAMES)}
    assert switched == {name: str("comet" in name).lower() for name in _NAMES}
    assert all(COMET_KEY not in one.confs for one in contenders(["default", "plugin"]))


def test_a_session_without_its_jar_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comet, "_JARS", tmp_path)
    with pytest.raises(FileNotFoundError, match="make neighbour-jars"):
        comet_session("5g")
    (tmp_path / "comet-spark-spark4.1_2.13-1.2.0.jar").touch()
    assert comet_session("5g")["spark.memory.offHeap.size"] == "5g"
