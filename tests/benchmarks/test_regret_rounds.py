"""A query is measured in rounds that end, and what was not run as its arm says does not count."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.api.row_difference import Row
from aqe_plugin.events.model import JoinDecision, Strategy, WeighedOption
from aqe_plugin.events.queries import JoinStory
from benchmarks import regret_rounds as module
from benchmarks.arms import FORCE_KEY, Decided
from benchmarks.configs import Contender
from benchmarks.hindsight import join_regrets
from benchmarks.intervals import Precision
from benchmarks.measure import Run
from benchmarks.measured import Measured
from benchmarks.regret_file import RegretConditions, RegretRuns
from benchmarks.regret_rounds import Effort, measure_workload
from benchmarks.store import LineFile
from samples import CHEAPEST, DECISION, FACTS
from workloads.tpcds.queries import Query

_QUERY = Query("q1", "select 1", "select 1")
_CONDITIONS = RegretConditions("skew", 1, "tables", "local[2]", "3g", "4.1", "jar", "here")
_OPTIONS: dict[str, tuple[Strategy, bool]] = {
    "broadcast": ("broadcast", False),
    "broadcast+filter": ("broadcast", True),
    "filtered_sort_merge": ("filtered_sort_merge", True),
    "plain_sort_merge": ("plain_sort_merge", False),
    "leave_to_spark": ("leave_to_spark", False),
}
_ARMS = {"plugin", "off", "pinned", "j1=broadcast", "j1=broadcast+filter", "j1=plain_sort_merge"}
_TOO_MANY = 500
_WEIGHED = tuple(WeighedOption(*_OPTIONS[name], 1.0, CHEAPEST) for name in _OPTIONS if name != "leave_to_spark")


@dataclass
class _Spark:
    """Stands for Spark with the plugin.

    Attributes:
        fails: why a run fails, by arm and turn; empty when it does not.
        rows: of an arm.
        rows_of: of an arm in one turn, where they are not `rows`.
        taken: the option of the join in a run, from the forced one or the plugin's own.
    """

    fails: Callable[[str, int], str] = lambda *_: ""
    over_limit: bool = False
    rows: Mapping[str, list[Row]] = field(default_factory=dict)
    rows_of: Callable[[str, int], list[Row] | None] = lambda *_: None
    taken: Callable[[str, int, str], str] = lambda _arm, _turn, option: option
    strategy: Strategy = "plain_sort_merge"
    order: list[tuple[str, int]] = field(default_factory=list)
    decided: dict[str, JoinDecision] = field(default_factory=dict)

    def attempt(
        self, spark: Any, query: Query, contender: Contender, turn: int, *, limit_seconds: float, description: str
    ) -> Run:
        self.order.append((contender.name, turn))
        assert len(self.order) < _TOO_MANY, "the measurement does not end"
        assert description not in self.decided
        if why := self.fails(contender.name, turn):
            return Run(contender.name, turn, 0.0, [], why, over_limit=self.over_limit)
        forced = contender.confs.get(FORCE_KEY, "").rpartition("=")[2]
        self.decided[description] = self.decision(self.taken(contender.name, turn, forced or "filtered_sort_merge"))
        rows = self.rows_of(contender.name, turn) or self.rows.get(contender.name, [(1,)])
        return Run(contender.name, turn, 1.0, rows)

    def decision(self, option: str) -> JoinDecision:
        choice, with_filter = _OPTIONS[option]
        facts = replace(FACTS, spark_strategy=self.strategy, waiting=None)
        return replace(DECISION, choice=choice, build_filter=with_filter, facts=facts, options=_WEIGHED)

    def decided_joins(self, _: Any, description: str) -> dict[str, Decided]:
        return {"j1": Decided(JoinStory(self.decided[description], (), ()), "facts")}

    def turns(self, arm: str) -> list[int]:
        return [turn for name, turn in self.order if name == arm]


@pytest.fixture
def runs(tmp_path: Path) -> RegretRuns:
    return RegretRuns(LineFile(tmp_path / "runs.jsonl", _CONDITIONS), {"q1": "text"})


def _measure(
    monkeypatch: pytest.MonkeyPatch, spark: _Spark, runs: RegretRuns, limit: float = 300, rounds: int = 4
) -> Measured:
    monkeypatch.setattr(module, "attempt", spark.attempt)
    monkeypatch.setattr(module, "decided_joins", spark.decided_joins)
    monkeypatch.setattr(module, "priced", lambda *_: spark.decision("filtered_sort_merge"))
    effort = Effort(Precision(3, rounds, half_width=-1.0, slower=9.0), limit, deadline=None)
    session: Any = None
    (measured,) = measure_workload(session, [_QUERY], runs, effort, lambda _: None)
    return measured


# The end


@pytest.mark.parametrize("failing_turn", [-2, -1, 0, 2])
@pytest.mark.parametrize("arm", ["plugin", "off", "pinned"])
def test_a_query_ends_when_the_plugins_run_or_sparks_fails(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns, arm: str, failing_turn: int
) -> None:
    spark = _Spark(fails=lambda name, turn: "out of luck" if (name, turn) == (arm, failing_turn) else "")
    measured = _measure(monkeypatch, spark, runs)
    assert measured.failures == {arm: "out of luck"}
    assert spark.order[-1] == (arm, failing_turn)


def test_a_query_ends_when_the_choices_are_never_taken(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    spark = _Spark(taken=lambda arm, turn, option: "broadcast" if arm == "pinned" and turn >= 0 else option)
    measured = _measure(monkeypatch, spark, runs)
    assert spark.turns("off")[-1] == 3
    assert (measured.rounds, measured.rounds_dropped) == (4, 4)
    assert join_regrets(measured) == []


def test_an_arm_that_fails_is_not_tried_again_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    spark = _Spark(fails=lambda name, _: "out of luck" if name == "j1=broadcast" else "")
    measured = _measure(monkeypatch, spark, runs)
    assert spark.turns("j1=broadcast") == [-2]
    assert spark.turns("j1=broadcast+filter") == [-2, -1, 0, 1, 2, 3]
    assert measured.failed == ["q1, j1=broadcast: out of luck"]


# Spark is gone


def test_when_spark_is_gone_nothing_is_kept_of_the_run(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    spark, arm = _Spark(), "j1=broadcast+filter"

    def dies(name: str, turn: int) -> str:
        if (name, turn) == (arm, 1):
            raise ConnectionRefusedError
        return ""

    spark.fails = dies
    with pytest.raises(ConnectionRefusedError):
        _measure(monkeypatch, spark, runs)
    kept = runs.load()["q1"]
    assert not kept.failures
    assert 1 not in kept.seconds(arm)
    _measure(monkeypatch, _Spark(), runs)
    assert sorted(runs.load()["q1"].seconds(arm)) == [0, 2, 3, 4]


# Failures, tried again


def test_no_joins_are_kept_when_learning_failed_and_the_next_session_learns(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    _measure(monkeypatch, _Spark(fails=lambda name, _: "lost a file" if name == "plugin" else ""), runs)
    assert "joins" not in runs.file.path.read_text()
    assert runs.load()["q1"].failed == ["q1, plugin: lost a file"]
    again = _measure(monkeypatch, _Spark(), runs)
    assert [join.join_id for join in again.joins] == ["j1"]
    assert again.failed == runs.load()["q1"].failed == []


def test_a_failure_is_tried_again_once(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    def fails(name: str, _: int) -> str:
        return "out of luck" if name == "j1=broadcast" else ""

    tries = []
    for _ in range(3):
        spark = _Spark(fails=fails)
        _measure(monkeypatch, spark, runs)
        tries.append(len(spark.turns("j1=broadcast")))
    assert tries == [1, 1, 0]


def test_a_limit_that_was_exceeded_is_a_result_under_the_same_limit_only(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    def slow() -> _Spark:
        return _Spark(fails=lambda name, _: "took too long" if name == "off" else "", over_limit=True)

    ran = []
    for limit in (300, 300, 600, 600):
        spark = slow()
        _measure(monkeypatch, spark, runs, limit)
        ran.append(bool(spark.order))
    assert ran == [True, False, True, False]
    assert not _measure(monkeypatch, _Spark(), runs, 900).failures


# The order


def test_sparks_rows_come_first_and_every_arm_is_warmed_up_equally_often(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    for rounds in (3, 4):
        spark = _Spark()
        _measure(monkeypatch, spark, runs, rounds=rounds)
        is_new = rounds == 3
        assert spark.order[0] == ("off", -3 if is_new else -2)
        for arm in _ARMS:
            learning = [-3] if is_new and arm in ("off", "plugin") else []
            warm_ups = [*learning, -2, -1]
            assert spark.turns(arm)[: len(warm_ups) + 1] == [*warm_ups, 0 if is_new else 3], arm


def test_the_choices_run_first_and_in_the_middle_of_the_others(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    spark = _Spark()
    _measure(monkeypatch, spark, runs)
    for turn in range(4):
        names = [name for name, of in spark.order if of == turn]
        assert [place for place, name in enumerate(names) if name == "pinned"] == [0, 4]
        assert {*names} == _ARMS


@pytest.mark.parametrize("odd", [-3, -2, -1])
def test_of_several_runs_the_most_frequent_choices_are_learned(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns, odd: int
) -> None:
    spark = _Spark(taken=lambda arm, turn, option: "broadcast" if (arm, turn) == ("plugin", odd) else option)
    assert [join.chosen for join in _measure(monkeypatch, spark, runs).joins] == ["filtered_sort_merge"]


# Rows


def test_an_arm_with_other_rows_than_sparks_leaves_the_rounds(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    spark = _Spark(rows={"j1=broadcast": [(2,)]})
    measured = _measure(monkeypatch, spark, runs)
    assert spark.turns("j1=broadcast") == [-2]
    assert measured.wrong_rows == [
        "q1, j1=broadcast: 1 row(s) only in off: [('1',)]\n1 row(s) only in j1=broadcast: [('2',)]"
    ]


def test_a_query_ends_when_the_plugins_rows_are_wrong(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    spark = _Spark(rows={"plugin": [(2,)]})
    measured = _measure(monkeypatch, spark, runs)
    assert spark.order == [("off", -3), ("plugin", -3)]
    assert list(measured.differing) == ["plugin"]
    again = _Spark()
    _measure(monkeypatch, again, runs)
    assert again.order == []


def test_a_query_ends_when_spark_alone_has_other_rows_than_before(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    spark = _Spark(rows_of=lambda name, turn: [(2,)] if (name, turn) == ("off", 3) else None)
    measured = _measure(monkeypatch, spark, runs, rounds=9)
    assert spark.order[-1] == ("off", 3)
    assert list(measured.differing) == ["off"]
    assert join_regrets(measured) == []


# Choices


def test_a_run_whose_option_was_not_taken_does_not_count(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    arm = "j1=broadcast"
    spark = _Spark(taken=lambda name, turn, option: "plain_sort_merge" if (name, turn) == (arm, 1) else option)
    measured = _measure(monkeypatch, spark, runs)
    assert sorted(measured.seconds(arm)) == [0, 2, 3]
    assert (measured.forced_runs, measured.forced_runs_dropped) == (12, 1)
    assert (measured.rounds, measured.rounds_dropped) == (4, 0)


def test_a_round_in_which_the_choices_were_not_taken_does_not_count(
    monkeypatch: pytest.MonkeyPatch, runs: RegretRuns
) -> None:
    seen = itertools.count()

    def taken(name: str, turn: int, option: str) -> str:
        # In the second of its two runs.
        return "broadcast" if (name, turn) == ("pinned", 2) and next(seen) == 1 else option

    measured = _measure(monkeypatch, _Spark(taken=taken), runs)
    assert (measured.rounds, measured.rounds_dropped) == (4, 1)
    for arm in _ARMS:
        assert sorted(measured.ratios(arm)) == [0, 1, 3]


def test_an_option_that_was_never_taken_is_out(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    spark = _Spark(taken=lambda name, _, option: "plain_sort_merge" if name == "j1=broadcast" else option)
    measured = _measure(monkeypatch, spark, runs)
    assert measured.refused == {"j1=broadcast": "CHEAPEST"}
    assert spark.turns("j1=broadcast") == [-2, -1]


def test_options_of_the_same_plan_count_once(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    # Spark broadcasts by itself, so that leaving it to Spark is one of the options.
    spark = _Spark(strategy="broadcast")
    measured = _measure(monkeypatch, spark, runs)
    (arm,) = measured.refused
    assert arm in ("j1=broadcast", "j1=leave_to_spark")
    assert measured.refused[arm].startswith("same plan as ")
    assert len(spark.turns("j1=broadcast") + spark.turns("j1=leave_to_spark")) == 8


# The file


def test_runs_of_another_query_text_are_not_read(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    _measure(monkeypatch, _Spark(), runs)
    assert runs.load()["q1"].rounds == 4
    assert RegretRuns(runs.file, {"q1": "another text"}).load() == {}


def test_runs_over_other_tables_are_not_read(monkeypatch: pytest.MonkeyPatch, runs: RegretRuns) -> None:
    _measure(monkeypatch, _Spark(), runs)
    others = LineFile(runs.file.path, replace(_CONDITIONS, tables="other tables"))
    assert RegretRuns(others, runs.texts).load() == {}
