"""Who is drawn for a canary, which keys ask for one, and how its applications are paired."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY_REPLACES, CANARY_SET, CANARY_SHARE, PREFIX, conf_keys, problem_of
from aqe_plugin.events.model import TrialArm
from aqe_plugin.tuning.history import Failure, QueryHistory, Run, in_arm
from aqe_plugin.tuning.rollout.application_pairs import application_pairs
from aqe_plugin.tuning.rollout.file_changes import canary_keys
from aqe_plugin.tuning.rollout.sequential import Outcome, compare
from drawing import draws, position

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "canary" / "positions.json").read_text(encoding="utf-8"))
IDS = [f"application_1763712000000_{number:04d}" for number in range(10_000)]
PASS_RATE = "filter.maxPassRate"
SHARES = st.floats(0, 1)


# Who is drawn


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: str(vector["name"]))
def test_an_applications_draw_is_the_one_of_the_vectors(vector: dict[str, Any]) -> None:
    assert position(vector["application"]) == vector["position"]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_the_share_holds_for_consecutive_application_ids(share: float) -> None:
    drawn = sum(draws(one, share) for one in IDS)
    assert abs(drawn - share * len(IDS)) <= 5 * math.sqrt(share * (1 - share) * len(IDS))


def test_neighbours_are_drawn_independently() -> None:
    both = sum(draws(a, 0.5) and draws(b, 0.5) for a, b in pairwise(IDS))
    assert abs(both - 0.25 * len(IDS)) <= 5 * math.sqrt(0.25 * 0.75 * len(IDS))


@given(st.text(), SHARES, SHARES)
def test_a_drawn_application_stays_drawn_with_a_larger_share(application: str, one: float, other: float) -> None:
    assert draws(application, max(one, other)) or not draws(application, min(one, other))
    assert draws(application, 1.0)
    assert not draws(application, 0.0)


# Keys


def test_the_keys_of_a_canary_hold_the_tried_values_and_those_they_replace() -> None:
    changes = (
        Change(f"{PREFIX}{PASS_RATE}", "0.7", "0.5", "why"),
        Change(f"{PREFIX}wait.maxIdle", None, "10", "why"),
    )
    keys = canary_keys(changes, 0.1)
    assert keys == {
        CANARY_SHARE: "0.1",
        f"{CANARY_SET}{PASS_RATE}": "0.5",
        f"{CANARY_REPLACES}{PASS_RATE}": "0.7",
        f"{CANARY_SET}wait.maxIdle": "10",
    }
    assert not any(problem_of(key, value) for key, value in keys.items())
    assert canary_keys(changes, None) == {}


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (CANARY_SHARE, "1.5", "not allowed: expected 0 to 1 ratio"),
        (f"{CANARY_SET}{PASS_RATE}", "2", "not allowed: expected 0 to 1 ratio"),
        (f"{CANARY_REPLACES}{PASS_RATE}", "x", "not allowed: expected 0 to 1 ratio"),
        (f"{CANARY_SET}mode", "on", "not allowed: expected one of off, observe, apply"),
        (
            f"{CANARY_SET}{PASS_RATE}s",
            "0.5",
            f"unknown key, and nothing is tried; did you mean {CANARY_SET}{PASS_RATE}?",
        ),
        (f"{CANARY_SET}canary.share", "1", None),
        (f"{CANARY_SET}decisions.keptQueries", "1", None),
        (f"{PREFIX}canary.shares", "1", f"unknown key, and nothing is tried; did you mean {CANARY_SHARE}?"),
    ],
)
def test_a_canary_key_that_is_not_allowed_is_reported(key: str, value: str, problem: str | None) -> None:
    found = problem_of(key, value)
    assert found.startswith("unknown key, and nothing is tried") if problem is None else found == problem


def test_every_key_that_a_session_may_set_may_be_tried_and_no_other() -> None:
    for key, known in conf_keys().items():
        problem = problem_of(f"{CANARY_SET}{key.removeprefix(PREFIX)}", known.default)
        assert (not problem) == known.per_session, key
    assert sum(not known.per_session for known in conf_keys().values()) == 3


# Pairs


def run(application: str, at: int, millis: int, fingerprint: str = "c", arm: TrialArm | None = None) -> Run:
    return Run(fingerprint, application, at, millis, 0, (), arm)


def test_the_events_report_the_arm() -> None:
    history = QueryHistory(
        tuple(run("a", 1, 10, arm=arm) for arm in (*TrialArm, None)), (Failure("c", "b", 2, TrialArm.CANARY),)
    )
    assert in_arm(history, TrialArm.CANARY) == QueryHistory((history.runs[0],), history.failures)
    assert in_arm(history, TrialArm.CONTROL) == QueryHistory((history.runs[1],), ())
    assert in_arm(history, None) == QueryHistory((history.runs[3],), ())


def test_an_application_is_one_pair_however_often_it_runs() -> None:
    canary = [run("a", at, 200 + at) for at in range(1, 50)]
    control = [run("x", at, 100 + at) for at in range(50)]
    (pair,) = application_pairs(canary, control, 200)
    assert pair == pytest.approx((201, 100))


def test_the_control_shares_most_fingerprints_and_is_nearest_in_time() -> None:
    canary = [run("a", 100, 400, "p"), run("a", 101, 900, "q"), run("a", 102, 5, "only here")]
    control = [
        *(run("near, one shape", 100, 1, "p"), run("far", 9, 100, "p"), run("far", 10, 100, "q")),
        *(run("nearer", 90, 200, "p"), run("nearer", 95, 100, "q"), run("nothing alike", 100, 1, "z")),
    ]
    (pair,) = application_pairs(canary, control, 200)
    assert pair == pytest.approx((math.sqrt(400 * 900), math.sqrt(200 * 100)))
    assert application_pairs(canary, control[-1:], 200) == []
    assert application_pairs(canary, control, 0) == []


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("pq"), st.integers(1, 9), st.booleans()), max_size=30),
    st.randoms(use_true_random=False),
)
def test_pairs_ignore_order_and_use_an_application_once(
    drawn: list[tuple[str, str, int, bool]], dice: random.Random
) -> None:
    runs = [
        (run(("canary " if tried else "") + name, at, 10 + at, shape), tried)
        for at, (name, shape, _, tried) in enumerate(drawn)
    ]
    shuffled = dice.sample(runs, len(runs))

    def pairs(of: list[tuple[Run, bool]]) -> list[tuple[float, float]]:
        return application_pairs([one for one, tried in of if tried], [one for one, tried in of if not tried], 200)

    assert pairs(runs) == pairs(shuffled)
    sides = [{one.application for one, tried in runs if tried is side} for side in (True, False)]
    assert len(pairs(runs)) <= min(len(side) for side in sides)


def outcome_of(seed: int, slowdown: float) -> Outcome:
    """Of 600 applications that differ by 30 % and run each of 4 shapes 3 times, a fifth tries something."""
    dice = random.Random(seed)
    sides: dict[bool, list[Run]] = {True: [], False: []}
    for number in range(600):
        application = f"application_{seed}_{number:04d}"
        tries, size = draws(application, 0.2), math.exp(dice.gauss(0, 0.3))
        for place in range(12):
            millis = 1e5 * size * math.exp(dice.gauss(0, 0.1)) * (slowdown if tries else 1)
            sides[tries].append(run(application, number * 100 + place, round(millis), f"c{place % 4}"))
    return compare(application_pairs(sides[True], sides[False], 200), 0.05, 0.05).outcome


@pytest.mark.simulation
def test_differing_applications_cause_no_false_alarm_and_hide_no_harm() -> None:
    equal = [outcome_of(seed, 1.0) for seed in range(20)]
    assert equal.count(Outcome.WORSE) <= 2  # 5 % of 20 is 1
    slower = [outcome_of(seed, 1.5) for seed in range(10)]
    assert slower.count(Outcome.WORSE) >= 9
    assert slower.count(Outcome.NOT_WORSE) == 0
