"""Rounds of a calibration: every arm equally often, in no fixed order, and only what ran as asked."""

from __future__ import annotations

import math
import random
import time

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.tuning.calibration.experiments import (
    MEASURED,
    Arm,
    Experiment,
    Sizes,
    joins,
    measured,
    scans_and_shuffles,
    tables,
)
from aqe_plugin.tuning.calibration.samples import Effort, Sample, Timed, measure, samples_of
from fleet import DEFAULTS, fleet_of

ARMS = [Experiment(name, (Arm("one", f"{name} 1"), Arm("two", f"{name} 2"))) for name in ("a", "b", "c")]
NOT_OVER = math.inf


def test_every_arm_runs_once_a_round_in_an_order_that_changes() -> None:
    asked: list[str] = []

    def run(arm: Arm, _: bool) -> Timed:
        asked.append(arm.sql)
        return Timed(float(len(asked)), None)

    measured = measure(ARMS, run, Effort(2, 4, NOT_OVER), lambda *_: None)
    rounds = [tuple(asked[at : at + 6]) for at in range(0, len(asked), 6)]
    assert len(rounds) == 5
    assert {frozenset(one) for one in rounds} == {frozenset(arm.sql for one in ARMS for arm in one.arms)}
    assert len(set(rounds)) > 1
    # The round that warms up does not count.
    assert all(len(one.millis) == 4 and min(one.millis) > 6 for one in measured)


def test_the_least_rounds_are_made_when_the_time_is_over() -> None:
    turns: list[int] = []
    measure(ARMS, lambda *_: Timed(1.0, None), Effort(2, 9, time.monotonic() - 1), turns.append)
    assert sorted(set(turns)) == [0, 1, 2]


def test_an_arm_that_ran_as_another_option_is_no_sample() -> None:
    fleet = fleet_of(1)
    run = next(one for one in fleet.week(None) if len(one.joins) == 1 and one.options[0] is not None)
    option = run.options[0]
    assert option is not None
    other = JoinOption("broadcast" if option.strategy != "broadcast" else "plain_sort_merge", False)
    arms = (Arm("as asked", "", option.name), Arm("otherwise", "", other.name))
    ran = measure([Experiment("join", arms)], lambda *_: Timed(5.0, run), Effort(1, 1, NOT_OVER), lambda *_: None)
    samples, refused = samples_of(
        ran, measured(beside_engine=False), {**dict.fromkeys(MEASURED, 1.0), **DEFAULTS}, fleet.replay
    )
    assert [one.arm for one in samples] == ["as asked"]
    assert refused == [f"join: otherwise ran as {option.name}"]
    assert math.fsum(samples[0].predicted) > 0


def test_the_error_of_a_median_falls_with_the_rounds() -> None:
    few, many = (Sample("e", "a", tuple([90.0, 100.0, 110.0] * rounds), ()) for rounds in (1, 9))
    assert (few.median, many.median) == (100.0, 100.0)
    assert few.error > 2 * many.error > 2.0


def test_the_error_of_a_few_rounds_is_not_too_small() -> None:
    chance = random.Random(1)
    samples = [Sample("e", "a", tuple(chance.gauss(100, 10) for _ in range(3)), ()) for _ in range(4000)]
    # Of a median of three normal values, the standard deviation is 0.67 of theirs.
    assert 6.7 * 0.95 <= math.fsum(sample.error for sample in samples) / len(samples) <= 6.7 * 1.15


def test_queries_name_only_tables_that_are_made_and_work_that_is_measured() -> None:
    sizes = Sizes(1_000_000, 4, 8)
    names = {table.name for table in tables(sizes)}
    experiments = [*joins(sizes), *scans_and_shuffles(sizes, {"half": 10, "wide": 50})]
    for experiment in experiments:
        assert len({arm.name for arm in experiment.arms}) == len(experiment.arms) > 1
        for arm in experiment.arms:
            arm.sql.format(**{name: name for name in names})
            assert arm.work.keys() <= set(MEASURED)
    assert len({one.name for one in experiments}) == len(experiments)


def test_beside_an_engine_each_price_is_measured_once_by_itself_or_by_the_ratio_that_multiplies_it() -> None:
    keys = [key for group in measured(beside_engine=True) for key in group.keys]
    assert sorted(keys) == sorted(MEASURED)
