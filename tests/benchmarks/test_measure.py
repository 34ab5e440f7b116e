"""Contenders are timed in turn, compared row by row, and a failure of one is a result, not the end."""

import threading
from typing import Any
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError

from aqe_plugin.api.row_difference import Row
from benchmarks import measure as module
from benchmarks.configs import Contender, chosen_queries, contenders
from benchmarks.measure import Plan, QueryResult, Timing, attempt, measure
from workloads.tpcds.queries import Query

_QUERY = Query("q1", "select 1", "select 1")
_A, _B, _C = (Contender(name, "", {}) for name in "ABC")


def _living(*, stopped: bool = False) -> Any:
    """Stands for a session whose SparkContext answers."""
    spark = MagicMock()
    spark.sparkContext._jsc.sc.return_value.isStopped.return_value = stopped
    return spark


def _dead() -> Any:
    spark = MagicMock()
    spark.sparkContext._jsc.sc.side_effect = ConnectionRefusedError
    return spark


class _Runs:
    """Stands for Spark: answers each contender from a table and remembers who came when."""

    def __init__(self, answers: dict[str, list[Row] | Exception]) -> None:
        self.order: list[tuple[str, str]] = []
        self._answers = answers

    def __call__(
        self, spark: Any, query: Query, contender: Contender, limit: float, description: str
    ) -> tuple[float, float, list[Row]]:
        self.order.append((contender.name, description))
        answer = self._answers[contender.name]
        if isinstance(answer, Exception):
            raise answer
        return float(len(self.order)), 2.0 * len(self.order), answer


def _measure(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[Row] | Exception], plan: Plan
) -> tuple[QueryResult, _Runs]:
    runs = _Runs(answers)
    monkeypatch.setattr(module, "_run_once", runs)
    return measure(_living(), _QUERY, [_A, _B, _C], plan), runs


def test_no_contender_always_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _, runs = _measure(monkeypatch, {"A": [], "B": [], "C": []}, Plan(runs=3, warm_ups=0))
    assert "".join(name for name, _ in runs.order) == "ABCCBABCA"


def test_warm_ups_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    result, runs = _measure(monkeypatch, {"A": [], "B": [], "C": []}, Plan(runs=2, warm_ups=2))
    assert len(runs.order) == 12
    assert [len(timing.seconds) for timing in result.timings] == [2, 2, 2]
    assert [timing.processor_seconds for timing in result.timings] == [
        tuple(2 * seconds for seconds in timing.seconds) for timing in result.timings
    ]


def test_rows_that_differ_from_the_first_contenders_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, list[Row] | Exception] = {"A": [(1,), (2,)], "B": [(2,), (1,)], "C": [(1,), (3,)]}
    result, _ = _measure(monkeypatch, answers, Plan(runs=1, warm_ups=0))
    assert list(result.rows_differ) == ["C"]


def test_rows_that_differ_from_duckdbs_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_run_once", _Runs({"A": [(1,)], "B": [(1,)]}))
    spark = _living()
    plan = Plan(runs=1, warm_ups=0)
    agreeing = measure(spark, _QUERY, [_A, _B], plan, reference=lambda _: [(1,)])
    assert agreeing.rows_differ == {}
    differing = measure(spark, _QUERY, [_A, _B], plan, reference=lambda _: [(2,)])
    assert list(differing.rows_differ) == ["DuckDB"]


def test_a_failing_contender_is_recorded_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, list[Row] | Exception] = {"A": [], "B": ValueError("out of luck\nat line 3"), "C": []}
    result, runs = _measure(monkeypatch, answers, Plan(runs=3, warm_ups=1))
    assert [name for name, _ in runs.order].count("B") == 1
    assert result.timings[1] == Timing("B", (), 0, "out of luck")
    assert result.timing("B") is None
    assert result.ratio("A", "B") is None


@pytest.mark.parametrize("spark", [_living(stopped=True), _dead()])
def test_an_error_goes_on_when_spark_is_gone(monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    monkeypatch.setattr(module, "_run_once", _Runs({"A": [], "B": Py4JNetworkError("Answer from Java side is empty")}))
    with pytest.raises(Py4JNetworkError):
        measure(spark, _QUERY, [_A, _B], Plan(runs=1, warm_ups=0))


def test_an_error_without_a_message_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = _measure(monkeypatch, {"A": [], "B": ValueError(), "C": []}, Plan(runs=1, warm_ups=0))
    assert result.timings[1].failure == "ValueError"


def test_a_run_over_the_limit_is_cancelled_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CANCEL_AGAIN_SECONDS", 0.01)
    spark = _living()
    cancelled = threading.Semaphore(0)
    spark.sparkContext.cancelAllJobs.side_effect = cancelled.release

    def collect() -> list[Row]:
        # Its first job is cancelled, and the one that it starts then.
        assert cancelled.acquire(timeout=10)
        assert cancelled.acquire(timeout=10)
        raise RuntimeError("Job 1 cancelled as part of cancellation of all jobs")

    spark.sql.return_value.collect.side_effect = collect
    run = attempt(spark, _QUERY, _A, 0, limit_seconds=0.01, description="q1 A 1")
    assert (run.failure, run.over_limit) == ("took longer than 0.01 s", True)


def test_ratios_are_of_the_medians() -> None:
    result = QueryResult("q1", (Timing("A", (9.0, 8.0, 20.0), 1), Timing("B", (2.0, 4.0), 1)), {})
    assert result.ratio("A", "B") == 3.0
    assert result.fastest_run("A") == "q1 A 2"


def test_processor_times_are_compared_by_their_medians_where_both_are_known() -> None:
    slow = Timing("A", (9.0, 8.0, 7.0), 1, processor_seconds=(20.0, 12.0, 11.0))
    fast = Timing("B", (2.0, 4.0), 1, processor_seconds=(2.0, 4.0))
    unknown = Timing("C", (2.0, 4.0), 1, processor_seconds=(0.0, 0.0))
    result = QueryResult("q1", (slow, fast, unknown), {})
    assert result.processor_ratio("A", "B") == 4.0
    assert result.processor_ratio("A", "C") is None
    assert result.processor_ratio("A", "D") is None


def test_unknown_names_are_an_error_with_the_known_names() -> None:
    with pytest.raises(
        ValueError,
        match=r"unknown config turbo; there are: default, forced, oracle, .*open, comet, comet-forced, comet-plugin$",
    ):
        contenders(["default", "turbo"])
    with pytest.raises(ValueError, match=r"unknown query q100; there are: q1"):
        chosen_queries("q1, q100", {"q1": _QUERY})


def test_all_means_every_query() -> None:
    assert chosen_queries("all", {"q1": _QUERY}) == [_QUERY]
