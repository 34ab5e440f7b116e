"""Whole rollouts on simulated fleets, looked at once a day, with late logs, failures and logs that are deleted.

Seeds are fixed. ``make bench-rollouts`` has more trials and cases;
its figures are in ``docs/results.md``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from aqe_plugin.tuning.history import DAY_MILLIS
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits
from benchmarks.rollout_fleet import Effect, Fleet, rollout
from tests.extent import cases

pytestmark = pytest.mark.simulation

USUAL = Fleet()
HARSH = replace(USUAL, kept_days=2, late=0.5)
NIGHTLY = replace(USUAL, starts_within_millis=5_000)
# In the fourth of the four minutes that an application takes.
WHILE_RUNNING = replace(NIGHTLY, looked_at_millis=220_000)
TRIALS = cases(40, whole=200)


def endings(fleet: Fleet, effect: Effect) -> Counter[Ring]:
    return Counter(rollout(fleet, effect, 0.3, RingLimits(), seed).ring for seed in range(TRIALS))


WITHOUT_HARM = {
    "usual": USUAL,
    "late": HARSH,
    "failing": replace(USUAL, fails=0.01),
    "aborting": replace(USUAL, fails=0.02, aborts=True),
    "nightly": NIGHTLY,
    "nightly, looked at while it runs": WHILE_RUNNING,
    "days that differ": replace(USUAL, daily=0.2),
}
SLOWER = {
    "usual": USUAL,
    "late": HARSH,
    "nightly": NIGHTLY,
    "nightly, one query": replace(NIGHTLY, fingerprints=1),
    "nightly, looked at while it runs": WHILE_RUNNING,
    "days that differ": replace(USUAL, daily=0.2),
}


@pytest.mark.parametrize("fleet", WITHOUT_HARM.values(), ids=WITHOUT_HARM)
def test_a_change_without_effect_goes_back_in_at_most_5_percent(fleet: Fleet) -> None:
    found = endings(fleet, Effect())
    assert found[Ring.ROLLED_BACK] <= 0.05 * TRIALS
    assert found[Ring.SETTLED] >= 0.95 * TRIALS


@pytest.mark.parametrize("fleet", SLOWER.values(), ids=SLOWER)
def test_a_slowdown_of_10_percent_goes_back_in_at_least_90_percent(fleet: Fleet) -> None:
    assert endings(fleet, Effect(slowdown=1.1))[Ring.ROLLED_BACK] >= 0.9 * TRIALS


def test_a_change_that_makes_queries_fail_goes_back() -> None:
    assert endings(USUAL, Effect(fails=0.1))[Ring.ROLLED_BACK] == TRIALS
    (soon,) = {rollout(USUAL, Effect(fails=1.0), 0.3, RingLimits(), seed).days <= 4 for seed in range(10)}
    assert soon


def test_a_change_that_ends_drivers_goes_back() -> None:
    # Such a log never ends, and nobody ever says that the query failed.
    assert endings(USUAL, Effect(kills=0.1))[Ring.ROLLED_BACK] >= 0.95 * TRIALS
    assert endings(NIGHTLY, Effect(kills=0.1))[Ring.ROLLED_BACK] >= 0.95 * TRIALS


def test_a_change_that_ends_the_drivers_of_long_jobs_late_goes_back() -> None:
    # At the second look they are 26 hours old, and most that died have been silent for less than a day.
    long = replace(NIGHTLY, long=1.0, looked_at_millis=DAY_MILLIS // 12)
    assert endings(long, Effect(kills=0.07))[Ring.ROLLED_BACK] >= 0.9 * TRIALS
    assert endings(long, Effect())[Ring.ROLLED_BACK] <= 0.05 * TRIALS


def test_a_change_that_saves_time_settles() -> None:
    assert endings(USUAL, Effect(slowdown=0.8))[Ring.SETTLED] >= 0.95 * TRIALS
