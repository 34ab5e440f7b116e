"""Recommendations: within limits, with evidence, one group at a time, and none where nothing speaks for one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.conf.keys import PREFIX, conf_keys, problem_of
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.groups import COEFFICIENTS, GATES, alone, current, moved, written
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import (
    Evidence,
    Finding,
    KeyChange,
    Limits,
    Recommendation,
    Risk,
    best,
    violations,
)
from aqe_plugin.tuning.replay import Replayed
from aqe_plugin.tuning.runs import Run
from fleet import DEFAULTS, Fleet, Noise, fleet_of

LIMITS = Limits()
NO_EVIDENCE = Evidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0)
GROUPS = {group.name: group for group in (*COEFFICIENTS, *GATES)}
# Broadcasts cost three times what the defaults say: too many joins are broadcast.
DEAR_BROADCASTS = (1.0, 1.0, 3.0, 1.0, 1.0, 1.0)


def seen_both_ways(fleet: Fleet) -> list[Run]:
    return fleet.week(None) + fleet.week(DEFAULTS)


def made(findings: Sequence[Finding]) -> list[Recommendation]:
    return [finding.recommendation for finding in findings if finding.recommendation is not None]


def test_a_price_moves_towards_the_measured_outcomes() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, queries=12)
    chosen = best(recommend(seen_both_ways(fleet), DEFAULTS, LIMITS, fleet.replay), LIMITS)
    assert chosen is not None
    assert chosen.group == "broadcast"
    assert chosen.target == pytest.approx(3, rel=0.2)
    assert {change.key for change in chosen.changes} == {PREFIX + key for key in GROUPS["broadcast"].keys}
    assert all(1 < change.factor <= 2 for change in chosen.changes)
    assert "making and probing a hash table took" in chosen.why
    evidence = chosen.evidence
    assert 0 < evidence.low < evidence.seconds < evidence.high
    assert 0 < evidence.changed <= evidence.queries
    assert evidence.fingerprints == 12
    assert evidence.since_millis < evidence.until_millis


@pytest.mark.simulation
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), step=st.floats(1.1, 4))
def test_every_recommendation_of_any_fleet_is_within_its_limits(seed: int, step: float) -> None:
    fleet, limits = fleet_of(seed, queries=5), Limits(max_step=step)
    for one in made(recommend(seen_both_ways(fleet), DEFAULTS, limits, fleet.replay)):
        assert {change.key for change in one.changes} <= {PREFIX + key for key in GROUPS[one.group].keys}
        for change in one.changes:
            assert problem_of(change.key, written(change.key, change.new)) == ""
            assert change.old == DEFAULTS[change.key.removeprefix(PREFIX)]
            assert max(change.factor, 1 / change.factor) <= step * (1 + 1e-9)
        assert 0 <= one.risk.confidence <= 1
        assert one.evidence.low <= one.evidence.seconds <= one.evidence.high
        assert one.evidence.seconds >= limits.min_saving * sum(run.duration_millis for run in fleet_runs(seed)) / 2000
        assert one.risk.runs >= limits.min_runs


def fleet_runs(seed: int) -> list[Run]:
    return seen_both_ways(fleet_of(seed, queries=5))


def test_the_same_history_gives_the_same_findings_in_any_order() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS)
    history = seen_both_ways(fleet)
    assert recommend(history[::-1], DEFAULTS, LIMITS, fleet.replay) == recommend(
        history, DEFAULTS, LIMITS, fleet.replay
    )


def test_without_enough_runs_of_any_fingerprint_nothing_is_recommended() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS)
    for history in ([], fleet.week(None, runs=4)):
        findings = recommend(history, DEFAULTS, LIMITS, fleet.replay)
        assert {finding.group for finding in findings} == set(GROUPS)
        assert {finding.reason for finding in findings} == {"no fingerprint with 5 runs, outliers not counted"}


def test_a_group_that_never_ran_both_ways_is_not_identified() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, noise=Noise(0.01, 0.0, None, 0.0))
    reasons = {one.group: one.reason for one in recommend(fleet.week(None), DEFAULTS, LIMITS, fleet.replay)}
    assert reasons["broadcast"].startswith("not identified (")
    assert reasons["filter"].startswith("not identified (0% of 25%): no fingerprint was seen both with and without ")


def test_a_group_whose_effect_is_lost_in_noise_is_not_said_to_have_run_one_way() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, noise=Noise(3.0, 0.0, None, 0.0))
    reasons = {one.group: one.reason for one in recommend(seen_both_ways(fleet), DEFAULTS, LIMITS, fleet.replay)}
    lost = [reason for reason in reasons.values() if reason.startswith("not identified")]
    assert any("runs of one fingerprint differ by at most " in reason for reason in lost), reasons


def test_right_prices_are_not_changed() -> None:
    fleet = fleet_of(10, (1.0,) * 6, noise=Noise(0.01, 0.0, None, 0.0))
    assert best(recommend(seen_both_ways(fleet), DEFAULTS, LIMITS, fleet.replay), LIMITS) is None


def test_estimates_far_below_measured_pass_rates_cost_a_gate_its_confidence() -> None:
    fleet = fleet_of(8, (0.55, 2.76, 0.44, 1.57, 0.4, 0.57))
    history = seen_both_ways(fleet)
    too_low = [
        replace(run, joins=tuple(replace(join, pass_rates=join.pass_rates and (0.01, 0.9)) for join in run.joins))
        for run in history
    ]
    faithful_gate, gate = (
        next(one for one in made(recommend(runs, DEFAULTS, LIMITS, fleet.replay, GATES)) if one.group == GATES[0].name)
        for runs in (history, too_low)
    )
    assert faithful_gate.risk.confidence > 0.9
    assert gate.risk.confidence == 0


def recommendation(factor: float = 1.5, runs: float = 7, regression: float = 0.01, confidence: float = 0.99) -> Any:
    changes = (KeyChange("a", 1.0, 1.0), KeyChange("b", 1.0, factor))
    return Recommendation("g", changes, "", 1.0, NO_EVIDENCE, Risk(int(runs), regression, confidence))


def test_a_recommendation_within_every_limit_may_be_applied() -> None:
    assert violations(recommendation(), LIMITS) == ()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (recommendation(factor=2.1), "the largest step is x2.1, the limit x2"),
        (recommendation(factor=0.4), "the largest step is x2.5, the limit x2"),
        (recommendation(factor=0.0), "the largest step is xinf, the limit x2"),
        (recommendation(factor=math.inf), "the largest step is xinf, the limit x2"),
        (recommendation(runs=4), "a fingerprint has 4 runs, 5 are needed"),
        (recommendation(regression=0.07), "a fingerprint may lose 7.0% of its time, the limit is 5.0%"),
        (recommendation(confidence=0.9), "confidence is 0.900, 0.950 is needed"),
    ],
)
def test_a_limit_that_is_exceeded_is_named_with_the_numbers(made: Recommendation, why: str) -> None:
    assert violations(made, LIMITS) == (why,)


def test_every_limit_that_is_exceeded_is_named() -> None:
    assert len(violations(recommendation(9.0, 1, 0.9, 0.1), LIMITS)) == 4


@pytest.mark.parametrize("member", ["factor", "regression", "confidence"])
def test_a_nan_exceeds_its_limit(member: str) -> None:
    assert len(violations(recommendation(**{member: math.nan}), LIMITS)) == 1


def test_beyond_the_limit_of_joins_the_costliest_fingerprints_count() -> None:
    fleet = fleet_of(0, DEAR_BROADCASTS, queries=12)
    history = seen_both_ways(fleet)
    asked: list[set[str]] = []

    def replay(facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]) -> list[list[Replayed]]:
        asked.append({one.join_id for one in facts})
        return fleet.replay(facts, thresholds)

    recommend(history, DEFAULTS, Limits(max_joins=40), replay)
    kept = set.union(*asked)
    millis = {
        name: sum(run.duration_millis for run in history if run.fingerprint == name) for name in fleet_names(fleet)
    }
    assert 1 <= len(kept) < 12
    assert max(millis, key=millis.__getitem__) in kept


def fleet_names(fleet: Fleet) -> list[str]:
    return [query.name for query in fleet.queries]


# Groups


def test_parameters_of_filters_memory_limits_and_waits_are_not_tuned() -> None:
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
        priced
        - {
            "cost.tieRatio",
            "cost.scanNanosPerByte",
            "cost.fileOpenNanos",
            "cost.engineRatio",
            "cost.engineFilterRatio",
            "cost.lookNanosPerJoin",
        }
    )


def test_present_values_are_those_of_the_conf_else_the_defaults() -> None:
    found = current({f"{PREFIX}cost.shuffleNanosPerRow": "125", f"{PREFIX}filter.maxPassRate": "much"})
    assert found["cost.shuffleNanosPerRow"] == 125
    assert found["filter.maxPassRate"] == 0.7
    assert found["cost.jobLaunchNanos"] == 25_000_000


@given(factor=st.floats(1e-6, 1e6))
def test_the_plugin_accepts_every_moved_value(factor: float) -> None:
    for known in GROUPS.values():
        for key, value in moved(DEFAULTS, known, factor).items():
            assert problem_of(PREFIX + key, written(PREFIX + key, value)) == ""
            low, high = conf_keys()[PREFIX + key].limits
            if low < DEFAULTS[key] * factor < high and conf_keys()[PREFIX + key].type == "number":
                assert value == pytest.approx(DEFAULTS[key] * factor, rel=0.005)


def test_alone_sets_the_coefficients_of_other_groups_to_zero() -> None:
    for group in COEFFICIENTS:
        kept = {key for key, value in alone(DEFAULTS, group).items() if key.startswith("cost.") and value}
        assert kept == set(group.keys)
    assert math.isclose(alone(DEFAULTS, COEFFICIENTS[0])["filter.maxPassRate"], 1.0)
