"""Runs that choose a change, and runs without a part in the choice that confirm it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.tuning.groups import COEFFICIENTS, group_named
from aqe_plugin.tuning.recommend import Step, judge, recommend
from aqe_plugin.tuning.recommendation import Limits, best, violations
from aqe_plugin.tuning.runs import Run
from aqe_plugin.tuning.unseen import choosing, confirming
from fleet import DAY_MILLIS, DEFAULTS, Fleet, Noise, fleet_of
from tests.extent import cases

LIMITS = Limits(max_runs=8)


def run(application: str, at: int = 0) -> Run:
    return Run("c", application, at, 1000, ())


@given(st.lists(st.tuples(st.text(max_size=20), st.integers(0, 10**13)), max_size=30))
def test_no_run_that_chose_confirms(drawn: list[tuple[str, int]]) -> None:
    runs = [run(application, at) for application, at in drawn]
    chosen_at = max((one.at_millis for one in runs), default=0)
    assert not {*choosing(runs)} & {*confirming(runs, chosen_at)}
    assert {*choosing(runs)} | {*confirming(runs, chosen_at)} == {*runs}


def test_runs_after_the_choice_confirm_it_whichever_their_half() -> None:
    runs = [run(f"app-{number}", number) for number in range(100)]
    assert confirming(runs, 49)[-50:] == runs[50:]
    assert 30 < len(choosing(runs)) < 70


def test_an_applications_runs_of_a_day_are_on_one_side_and_its_days_on_both() -> None:
    week = [run("thriftserver", day * DAY_MILLIS + hour) for day in range(14) for hour in range(3)]
    chosen = choosing(week)
    days = {one.at_millis // DAY_MILLIS for one in chosen}
    assert len(chosen) == 3 * len(days)
    assert 0 < len(days) < 14


def chosen_and_judged(fleet: Fleet, history: Sequence[Run], thresholds: dict[str, float]) -> tuple[bool, bool, bool]:
    """Whether one half of ``history`` chooses a change at all, and whether the other half, and the same, confirm it."""
    found = recommend(choosing(history), thresholds, LIMITS, fleet.replay, COEFFICIENTS)
    made = best(found, LIMITS)
    if made is None:
        return False, False, False
    change = Step(group_named(made.group), {one.key.removeprefix(PREFIX): one.new for one in made.changes})

    def confirmed(runs: Sequence[Run]) -> bool:
        judged = judge(runs, thresholds, change, LIMITS, fleet.replay).recommendation
        return judged is not None and not violations(judged, LIMITS)

    return True, confirmed(confirming(history, max(one.at_millis for one in history))), confirmed(choosing(history))


@pytest.mark.simulation
def test_of_changes_that_chance_chose_hardly_one_is_confirmed() -> None:
    fleets, chosen, confirmed, by_the_same = cases(60, whole=300), 0, 0, 0
    for seed in range(fleets):
        fleet = fleet_of(seed, queries=5, noise=Noise(sigma=0.3))
        at_best = fleet.best_thresholds()
        history = fleet.week(None, 16) + fleet.week(at_best, 16)
        by_chance, found, again = chosen_and_judged(fleet, history, at_best)
        chosen += by_chance
        confirmed += found
        by_the_same += again
    assert chosen >= 0.05 * fleets
    assert confirmed <= 0.2 * chosen
    # The runs that chose would mostly confirm themselves, so the bound above can be missed.
    assert by_the_same >= 0.6 * chosen


@pytest.mark.simulation
def test_a_change_that_saves_time_is_confirmed() -> None:
    fleets, confirmed = cases(5, whole=40), 0
    for seed in range(fleets):
        fleet = fleet_of(seed, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=12)
        history = fleet.week(None, 16) + fleet.week(DEFAULTS, 16)
        confirmed += chosen_and_judged(fleet, history, DEFAULTS)[1]
    assert confirmed >= 0.8 * fleets
