"""Tuning of a simulated fleet whose best thresholds are known: where it ends, and what it never does.

Seeds are fixed: a failure here is a change of behaviour, not of luck. Numbers over more seeds are in
``docs/results.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.tuning.groups import COEFFICIENTS
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Finding, Limits, Recommendation, best, violations
from aqe_plugin.tuning.runs import Run
from fleet import DEFAULTS, Fleet, fleet_of
from tests.extent import cases

pytestmark = pytest.mark.simulation

LIMITS = Limits(max_runs=8)
ROUNDS = 10


def findings_of(fleet: Fleet, history: Sequence[Run], thresholds: dict[str, float]) -> tuple[Finding, ...]:
    return recommend(history, thresholds, LIMITS, fleet.replay, COEFFICIENTS)


def applied(thresholds: dict[str, float], chosen: Recommendation | None) -> dict[str, float]:
    changes = () if chosen is None else chosen.changes
    return {**thresholds, **{change.key.removeprefix(PREFIX): change.new for change in changes}}


def tuned(fleet: Fleet, start: dict[str, float], rounds: int, runs: int = 8) -> tuple[dict[str, float], int]:
    """The thresholds after so many rounds, each with a week of runs before it, and the number of changes."""
    thresholds, changes = dict(start), 0
    history = fleet.week(None, runs) + fleet.week(thresholds, runs)
    for _ in range(rounds):
        chosen = best(findings_of(fleet, history, thresholds), LIMITS)
        changes += chosen is not None
        thresholds = applied(thresholds, chosen)
        history += fleet.week(thresholds, runs)
    return thresholds, changes


def test_a_fleet_with_one_wrong_price_ends_within_5_percent_of_the_best() -> None:
    wrong = 0
    for at in range(cases(3, whole=5)):
        for factor in (1 / 3, 3.0):
            truth = tuple(factor if other == at else 1.0 for other in range(6))
            fleet = fleet_of(at, truth)
            wrong += fleet.excess(DEFAULTS) > 1.05
            thresholds, _ = tuned(fleet, DEFAULTS, ROUNDS)
            assert fleet.excess(thresholds) < 1.05, truth
    assert wrong >= 2


def test_a_fleet_with_every_price_wrong_ends_within_5_percent_of_the_best() -> None:
    starts, ends = [], []
    # The fleet whose defaults are the worst comes first.
    for seed in (2, 0, 1, 3, 4, 5)[: cases(1, whole=6)]:
        fleet = fleet_of(seed, queries=24)
        starts.append(fleet.excess(DEFAULTS))
        thresholds, _ = tuned(fleet, DEFAULTS, ROUNDS)
        ends.append(fleet.excess(thresholds))
    assert max(starts) > 1.1
    assert max(ends) < 1.05


def test_over_many_fleets_nothing_beyond_a_limit_is_applied() -> None:
    fleets = cases(150, whole=1000)
    made, stopped, harmful, over = 0, 0, 0, 0
    for seed in range(fleets):
        fleet = fleet_of(seed, queries=4)
        history = fleet.week(None, 6) + fleet.week(DEFAULTS, 6)
        findings = findings_of(fleet, history, DEFAULTS)
        offered = [one.recommendation for one in findings if one.recommendation is not None]
        stopped += sum(bool(violations(one, LIMITS)) for one in offered)
        chosen = best(findings, LIMITS)
        if chosen is None:
            continue
        made += 1
        assert chosen.risk.confidence >= 0.95, seed
        assert chosen.risk.regression <= 0.05, seed
        after = applied(DEFAULTS, chosen)
        assert all(max(one.factor, 1 / one.factor) <= 2 + 1e-9 for one in chosen.changes), seed
        assert chosen.risk.runs >= 5, seed
        assert len({one.key for one in chosen.changes} - {PREFIX + key for key in keys_of(chosen.group)}) == 0, seed
        # The true loss, which the evidence of these few runs may miss by a little.
        assert fleet.excess(after) <= 1.05 * fleet.excess(DEFAULTS), seed
        harmful += fleet.excess(after) > fleet.excess(DEFAULTS)
        over += max(fleet.losses(DEFAULTS, after).values()) > 0.05
    assert made > fleets / 5
    # Without the limits these would have been applied as well.
    assert stopped > fleets / 10
    assert harmful <= 0.05 * made
    # Regressions are judged at their 99 % quantile: hardly a fingerprint loses more than 5 %.
    assert over <= 0.01 * made


def keys_of(name: str) -> tuple[str, ...]:
    return next(group.keys for group in COEFFICIENTS if group.name == name)


def test_too_few_runs_or_too_little_confidence_stop_a_recommendation() -> None:
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=12)
    history = fleet.week(None) + fleet.week(DEFAULTS)
    chosen = best(findings_of(fleet, history, DEFAULTS), LIMITS)
    assert chosen is not None
    for worse in (
        replace(chosen.risk, runs=4),
        replace(chosen.risk, confidence=0.9),
        replace(chosen.risk, regression=0.06),
    ):
        stopped = [Finding(chosen.group, replace(chosen, risk=worse), "")]
        assert best(stopped, LIMITS) is None


def test_a_fleet_at_its_best_thresholds_stays_there() -> None:
    fleets = cases(20, whole=60)
    changes, worst = 0, 1.0
    for seed in range(fleets):
        fleet = fleet_of(seed, queries=5)
        thresholds, changed = tuned(fleet, fleet.best_thresholds(), 3, runs=6)
        changes += changed
        worst = max(worst, fleet.excess(thresholds))
    assert changes <= 0.03 * fleets * 3
    assert worst < 1.05


def test_a_bad_day_alone_changes_nothing() -> None:
    for seed in range(20):
        fleet = fleet_of(seed, queries=5)
        best_thresholds = fleet.best_thresholds()
        history = fleet.week(None, 6) + fleet.week(best_thresholds, 6)
        newest_day = max(run.at_millis for run in history)
        bad = [
            replace(run, duration_millis=4 * run.duration_millis) if run.at_millis == newest_day else run
            for run in history
        ]
        assert best(findings_of(fleet, bad, best_thresholds), LIMITS) is None, seed
