"""A workload is measured in a real session: every option of every join is forced once, and a stopped run goes on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from benchmarks.arms import PINNED, arm_name
from benchmarks.hindsight import join_regrets
from benchmarks.intervals import Precision
from benchmarks.measured import Measured
from benchmarks.regret_file import RegretConditions, RegretRuns
from benchmarks.regret_page import regret_page
from benchmarks.regret_rounds import Effort, measure_workload
from benchmarks.session import SessionSettings, spark_session
from benchmarks.store import LineFile
from tests.extent import only_in_test_all
from workloads.skew import ensure_skew, skew_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_ROUNDS = 3
_QUERIES = [skew_queries()[name] for name in ("zipf_tail", "kept_rows")]
_CONDITIONS = RegretConditions("skew", 0.01, "tables", "local[2]", "3g", "4.1", "abc", "here")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    folder = tmp_path_factory.mktemp("regret")
    settings = SessionSettings("regret", folder / "events", shuffle_partitions=2)
    with spark_session(settings, with_plugin=True) as session:
        # Shuffled, and small enough to be broadcast.
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", "1")
        ensure_skew(0.01, folder / "skew").register(session)
        yield session


def _measured(spark: "SparkSession", runs: RegretRuns, rounds: int) -> list[Measured]:
    effort = Effort(Precision(least_runs=rounds, most_runs=rounds), limit_seconds=120, deadline=None)
    return list(measure_workload(spark, _QUERIES, runs, effort, lambda _: None))


@pytest.fixture(scope="module")
def runs(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> RegretRuns:
    made = RegretRuns(
        LineFile(tmp_path_factory.mktemp("runs") / "skew.jsonl", _CONDITIONS), dict.fromkeys(skew_queries(), "text")
    )
    _measured(spark, made, _ROUNDS)
    return made


def test_every_option_of_a_join_is_measured_and_gives_the_same_rows(runs: RegretRuns) -> None:
    measured = runs.load()["zipf_tail"]
    (join,) = measured.joins
    assert join.join_id == "inner:user_id=user_id"
    assert {join.chosen, *join.alternatives} == {
        "broadcast",
        "broadcast+filter",
        "shuffled_hash",
        "shuffled_hash+filter",
        "plain_sort_merge",
        "filtered_sort_merge",
    }
    assert not measured.refused
    assert not measured.failures
    assert not measured.differing
    assert (measured.rounds_dropped, measured.forced_runs_dropped) == (0, 0)
    for option in join.alternatives:
        assert sorted(measured.seconds(arm_name(join, option))) == list(range(_ROUNDS))
    assert {found.query for found in join_regrets(measured)} == {"zipf_tail"}


def test_the_real_pass_rate_is_that_of_a_forced_filter(runs: RegretRuns) -> None:
    measured = runs.load()["zipf_tail"]
    (passed,) = measured.passed.values()
    assert 0 < passed.rows_out < passed.rows_in


def test_a_join_that_keeps_its_left_rows_filters_only_the_other_side(runs: RegretRuns) -> None:
    (join,) = runs.load()["kept_rows"].joins
    assert not {"broadcast", "broadcast+filter"} & {join.chosen, *join.alternatives}


@only_in_test_all
def test_a_stopped_measurement_goes_on_with_missing_rounds(spark: "SparkSession", runs: RegretRuns) -> None:
    before = runs.load()["zipf_tail"]
    again = {one.query: one for one in _measured(spark, runs, _ROUNDS + 1)}["zipf_tail"]
    assert again.joins == before.joins
    assert sorted(again.seconds(PINNED)) == list(range(_ROUNDS + 1))
    lines = runs.file.path.read_text()
    _measured(spark, runs, _ROUNDS + 1)
    assert runs.file.path.read_text() == lines, "nothing is measured again"


def test_the_report_names_every_measured_join(runs: RegretRuns) -> None:
    assert "`inner:user_id=user_id`" in regret_page(list(runs.load().values()), "skew")
