"""Recommendations: within limits, with evidence, one group at a time, and none where nothing speaks for one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.conf.keys import PREFIX, conf_keys, problem_of
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.groups import COEFFICIENTS, GATES, alone, current, moved, written
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Finding, Limits, Recommendation, best, guard_of
from aqe_plugin.tuning.replay import Replayed
from aqe_plugin.tuning.runs import Run
from fleet import DEFAULTS, Fleet, Noise, fleet_of

LIMITS = Limits()
GROUPS = {group.name: group for group in (*COEFFICIENTS, *GATES)}
# Broadcasts cost three times what the defaults say: too many joins are broadcast.
DEAR_BROADCASTS = (1.0, 1.0, 3.0, 1.0, 1.0, 1.0)


def seen_both_ways(fleet: Fleet) -> list[Run]:
    return fleet.week(None) + fleet.week(DEFAULTS)


def made(findings: Sequence[Finding]) -> list[Recommendation]:
    return [finding.recommendation for finding in findings if finding.recommendation is not None]


def test_a_price_that_outcomes_belie_is_moved_towards_what_they_show() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, cohorts=12)
    chosen = best(recommend(seen_both_ways(fleet), DEFAULTS, LIMITS, fleet.replay), guard_of(LIMITS))
    assert chosen is not None
    assert chosen.group == "broadcast"
    assert chosen.target == pytest.approx(3, rel=0.2)
    assert {change.key for change in chosen.changes} == {PREFIX + key for key in GROUPS["broadcast"].keys}
    assert all(1 < change.factor <= 2 for change in chosen.changes)
    assert "making and probing a broadcast relation took" in chosen.why
    evidence = chosen.evidence
    assert 0 < evidence.low < evidence.seconds < evidence.high
    assert 0 < evidence.changed <= evidence.queries
    assert evidence.cohorts == 12
    assert evidence.since_millis < evidence.until_millis


@pytest.mark.simulation
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), step=st.floats(1.1, 4))
def test_every_recommendation_is_within_its_limits_whatever_the_fleet(seed: int, step: float) -> None:
    fleet, limits = fleet_of(seed, cohorts=5), Limits(max_step=step)
    for one in made(recommend(seen_both_ways(fleet), DEFAULTS, limits, fleet.replay)):
        assert {change.key for change in one.changes} <= {PREFIX + key for key in GROUPS[one.group].keys}
        for change in one.changes:
            assert problem_of(change.key, written(change.key, change.new)) == ""
            assert change.old == DEFAULTS[change.key.removeprefix(PREFIX)]
            assert max(change.factor, 1 / change.factor) <= step * (1 + 1e-9)
        assert 0 <= one.confidence <= 1
        assert one.evidence.low <= one.evidence.seconds <= one.evidence.high
        assert one.evidence.seconds >= limits.min_saving * sum(run.duration_millis for run in fleet_runs(seed)) / 2000
        assert one.step.runs >= limits.min_runs


def fleet_runs(seed: int) -> list[Run]:
    return seen_both_ways(fleet_of(seed, cohorts=5))


def test_the_same_history_gives_the_same_findings_in_any_order() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS)
    history = seen_both_ways(fleet)
    assert recommend(history[::-1], DEFAULTS, LIMITS, fleet.replay) == recommend(
        history, DEFAULTS, LIMITS, fleet.replay
    )


def test_without_enough_runs_of_any_shape_nothing_is_recommended() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS)
    for history in ([], fleet.week(None, runs=4)):
        findings = recommend(history, DEFAULTS, LIMITS, fleet.replay)
        assert {finding.group for finding in findings} == set(GROUPS)
        assert {finding.reason for finding in findings} == {"no query shape with 5 runs, outliers not counted"}


def test_what_was_never_seen_both_ways_is_said_not_to_be_identified() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, noise=Noise(0.01, 0.0, None, 0.0))
    reasons = {one.group: one.reason for one in recommend(fleet.week(None), DEFAULTS, LIMITS, fleet.replay)}
    assert "not identified" in reasons["broadcast"]
    assert "not identified" in reasons["filter"]


def test_prices_that_are_right_are_left_alone() -> None:
    fleet = fleet_of(10, (1.0,) * 6, noise=Noise(0.01, 0.0, None, 0.0))
    assert best(recommend(seen_both_ways(fleet), DEFAULTS, LIMITS, fleet.replay), guard_of(LIMITS)) is None


def test_a_failing_filter_estimate_takes_the_confidence_from_a_gate() -> None:
    fleet = fleet_of(8, (0.55, 2.76, 0.44, 1.57, 0.4, 0.57))
    history = seen_both_ways(fleet)
    unfaithful = [
        replace(run, joins=tuple(replace(join, pass_rates=join.pass_rates and (0.01, 0.9)) for join in run.joins))
        for run in history
    ]
    faithful_gate, gate = (
        next(one for one in made(recommend(runs, DEFAULTS, LIMITS, fleet.replay, GATES)) if one.group == GATES[0].name)
        for runs in (history, unfaithful)
    )
    assert faithful_gate.confidence > 0.9
    assert gate.confidence == 0


def test_errors_in_the_history_are_told_to_the_guard() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, cohorts=12)
    history = [replace(run, errors=1) for run in seen_both_ways(fleet)]
    assert all(one.step.errors > 0 for one in made(recommend(history, DEFAULTS, LIMITS, fleet.replay)))


def test_of_more_joins_than_may_be_decided_again_the_costliest_shapes_are_taken() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, cohorts=12)
    history = seen_both_ways(fleet)
    asked: list[set[str]] = []

    def replay(facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]) -> list[list[Replayed]]:
        asked.append({one.join_id for one in facts})
        return fleet.replay(facts, thresholds)

    recommend(history, DEFAULTS, Limits(max_joins=40), replay)
    kept = set.union(*asked)
    millis = {name: sum(run.duration_millis for run in history if run.cohort == name) for name in fleet_names(fleet)}
    assert 1 <= len(kept) < 12
    assert max(millis, key=millis.__getitem__) in kept


def fleet_names(fleet: Fleet) -> list[str]:
    return [cohort.name for cohort in fleet.cohorts]


# Groups


def test_no_parameter_of_a_filter_no_memory_limit_and_no_wait_is_tuned() -> None:
    tuned = {key for group in GROUPS.values() for key in group.keys}
    assert not tuned & {
        "filter.falsePositiveRate",
        "filter.maxBytes",
        "filter.exactMaxKeys",
        "filter.inListMaxKeys",
        "broadcast.maxMemoryBytes",
        "broadcast.maxRows",
        "wait.savingShare",
        "cost.tieRatio",
    }
    assert {PREFIX + key for key in tuned} <= set(conf_keys())
    priced = {key.removeprefix(PREFIX) for key in conf_keys() if key.startswith(f"{PREFIX}cost.")}
    # Every coefficient of the price is in one group: parts of a price must add up to it.
    assert sorted(key for group in COEFFICIENTS for key in group.keys) == sorted(
        priced - {"cost.tieRatio", "cost.scanNanosPerByte"}
    )


def test_present_values_are_the_confs_else_the_defaults() -> None:
    found = current({f"{PREFIX}cost.shuffleNanosPerRow": "125", f"{PREFIX}filter.maxPassRate": "much"})
    assert found["cost.shuffleNanosPerRow"] == 125
    assert found["filter.maxPassRate"] == 0.7
    assert found["cost.jobLaunchNanos"] == 25_000_000


@given(factor=st.floats(1e-6, 1e6))
def test_a_moved_value_is_one_that_the_plugin_takes(factor: float) -> None:
    for known in GROUPS.values():
        for key, value in moved(DEFAULTS, known, factor).items():
            assert problem_of(PREFIX + key, written(PREFIX + key, value)) == ""
            low, high = conf_keys()[PREFIX + key].limits
            if low < DEFAULTS[key] * factor < high and conf_keys()[PREFIX + key].type == "number":
                assert value == pytest.approx(DEFAULTS[key] * factor, rel=0.005)


def test_alone_leaves_one_groups_coefficients() -> None:
    for group in COEFFICIENTS:
        kept = {key for key, value in alone(DEFAULTS, group).items() if key.startswith("cost.") and value}
        assert kept == set(group.keys)
    assert math.isclose(alone(DEFAULTS, COEFFICIENTS[0])["filter.maxPassRate"], 1.0)
