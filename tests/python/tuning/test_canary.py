"""Who is drawn for a canary, which keys ask for one, and how its applications are paired."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY_REPLACES, CANARY_SET, CANARY_SHARE, PREFIX, conf_keys, problem_of
from aqe_plugin.events.model import TrialArm
from aqe_plugin.tuning.history import DAY_MILLIS, Application, Failure, QueryHistory, in_arm
from aqe_plugin.tuning.rollout.application_pairs import Pair, application_pairs
from aqe_plugin.tuning.rollout.file_changes import canary_keys
from aqe_plugin.tuning.rollout.sequential import ErrorRates, Outcome, compare
from aqe_plugin.tuning.runs import Run
from drawing import draws, position
from histories import history

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


READ_ONCE = "it is read once, when an application starts, so a share of the applications cannot try it"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (CANARY_SHARE, "1.5", "not allowed: expected a number from 0 to 1"),
        (f"{CANARY_SET}{PASS_RATE}", "2", "not allowed: expected a number from 0 to 1"),
        (f"{CANARY_REPLACES}{PASS_RATE}", "x", "not allowed: expected a number from 0 to 1"),
        (f"{CANARY_SET}mode", "on", "not allowed: expected one of off, observe, apply"),
        (
            f"{CANARY_SET}{PASS_RATE}s",
            "0.5",
            f"unknown key, and nothing is tried; did you mean {CANARY_SET}{PASS_RATE}?",
        ),
        (f"{CANARY_SET}canary.share", "1", READ_ONCE),
        (f"{CANARY_SET}decisions.keptQueries", "1", READ_ONCE),
        (f"{PREFIX}canary.shares", "1", f"unknown key, and nothing is tried; did you mean {CANARY_SHARE}?"),
    ],
)
def test_a_canary_key_that_is_not_allowed_is_reported(key: str, value: str, problem: str) -> None:
    assert problem_of(key, value) == problem


def test_every_key_that_a_session_may_set_may_be_tried_and_no_other() -> None:
    for key, known in conf_keys().items():
        problem = problem_of(f"{CANARY_SET}{key.removeprefix(PREFIX)}", known.default)
        assert (not problem) == known.per_session, key
    assert sum(not known.per_session for known in conf_keys().values()) == 3


# Pairs


def run(application: str, at: int, millis: int, fingerprint: str = "c", arm: TrialArm | None = None) -> Run:
    return Run(fingerprint, application, at, millis, (), arm)


def test_the_events_report_the_arm() -> None:
    every = QueryHistory(
        tuple(run("a", 1, 10, arm=arm) for arm in (*get_args(TrialArm), None)), (Failure("c", "b", 2, "canary"),)
    )
    assert in_arm(every, "canary") == QueryHistory((every.runs[0],), every.failures)
    assert in_arm(every, "control") == QueryHistory((every.runs[1],), ())
    assert in_arm(every, None) == QueryHistory((every.runs[3],), ())


def failure(application: str, at: int, fingerprint: str = "c", cancelled: bool = False) -> Failure:
    return Failure(fingerprint, application, at, cancelled=cancelled)


def durations(pairs: list[Pair]) -> list[tuple[float, float]]:
    return [(pair.changed.millis or 0.0, pair.unchanged.millis or 0.0) for pair in pairs]


def test_an_application_is_one_pair_however_often_it_runs() -> None:
    canary = history(*(run("a", at, 200 + at) for at in range(1, 50)))
    control = history(*(run("x", at, 100 + at) for at in range(50)))
    assert durations(application_pairs(canary, control, 200)) == [(201, 100)]


def names(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.changed.application, pair.unchanged.application) for pair in pairs]


def test_the_control_is_of_the_same_kind_decided_the_same_join_first_and_started_nearest() -> None:
    canary = history(run("a", 100, 400, "p"), run("a", 101, 900, "q"), run("a", 102, 5, "only here"))
    others = {
        "another job": Application("another job", "hourly", "a = b", 100),
        "another join": Application("another join", "nightly", "b = c", 100),
        "far": Application("far", "nightly", "a = b", 9),
        "nearer": Application("nearer", "nightly", "a = b", 90),
    }
    queries = [run(name, 150, 200, "p") for name in others] + [run("nearer", 160, 100, "q")]
    control = history(*queries, applications=others)
    pairs = application_pairs(canary, control, 200)
    assert names(pairs) == [("a", "nearer")]
    assert durations(pairs) == [(400 + 900, 200 + 100)]
    assert [pair.fingerprints for pair in pairs] == [2]
    assert application_pairs(canary, control, 0) == []
    unlike = history(run("another job", 100, 1), applications={"another job": others["another job"]})
    assert application_pairs(canary, unlike, 200) == []


def test_of_many_with_the_change_those_that_started_nearest_to_the_few_without_it_are_taken() -> None:
    canary = history(*(run(f"a{at}", at, 10) for at in range(0, 100, 10)))
    pairs = application_pairs(canary, history(run("x", 42, 10), run("y", 88, 10)), 200)
    assert names(pairs) == [("a40", "x"), ("a90", "y")]


def test_an_application_waits_for_those_of_its_kind_that_started_before_it_and_still_run() -> None:
    begun = {"slow": Application("slow", "nightly", "a = b", 20, has_ended=False)}
    canary = history(run("a", 10, 1), run("b", 30, 1), applications=begun)
    control = history(run("x", 11, 1), run("y", 31, 1), run("late", 12, 1))
    assert names(application_pairs(canary, control, 200)) == [("a", "x")]
    later = history(*canary.runs, run("slow", 99, 79), applications={"slow": replace(begun["slow"], has_ended=True)})
    assert names(application_pairs(later, control, 200)) == [("a", "x"), ("slow", "late"), ("b", "y")]


def test_a_long_query_weighs_more_than_many_short_ones() -> None:
    canary = history(run("a", 1, 10_000, "long"), *(run("a", 1, 60, f"c{number}") for number in range(9)))
    control = history(run("x", 1, 5_000, "long"), *(run("x", 1, 66, f"c{number}") for number in range(9)))
    assert durations(application_pairs(canary, control, 200)) == [(10_000 + 9 * 60, 5_000 + 9 * 66)]


def test_failed_and_cancelled_queries_are_counted_and_not_timed() -> None:
    canary = history(
        run("a", 1, 400, "p"), failure("a", 2, "q"), failure("a", 3, "r", cancelled=True), run("a", 4, 9, "s")
    )
    control = history(run("x", 1, 200, "p"), run("x", 2, 5, "q"), run("x", 3, 5, "r"), failure("x", 4, "s"))
    (pair,) = application_pairs(canary, control, 200)
    assert durations([pair]) == [(400, 200)]
    assert [(side.failed, side.cancelled) for side in (pair.changed, pair.unchanged)] == [(1, 1), (1, 0)]
    (nothing_timed,) = application_pairs(history(failure("a", 1)), history(run("x", 1, 5)), 200)
    assert (nothing_timed.changed.millis, nothing_timed.changed.failed, nothing_timed.unchanged.millis) == (
        None,
        1,
        None,
    )


def test_a_failure_counts_also_where_the_other_side_never_ran_that_query_or_a_retry_succeeded() -> None:
    # Fewer joins are decided before a query fails, so its fingerprint is another one.
    canary = history(failure("a", 1, "a part of p"), failure("a", 2, "q"), run("a", 3, 10, "q"))
    (pair,) = application_pairs(canary, history(run("x", 1, 10, "p"), run("x", 3, 10, "q")), 200)
    assert (pair.changed.failed, pair.unchanged.failed, pair.fingerprints) == (2, 0, 1)


def test_of_applications_that_live_for_days_the_first_day_counts() -> None:
    first, later = run("server", 1, 10), run("server", DAY_MILLIS + 2, 10, "q")
    control = history(first, later, failure("server", 2 * DAY_MILLIS))
    (pair,) = application_pairs(history(run("a", 2, 10), run("a", 3, 10, "q")), control, 200)
    assert (pair.fingerprints, pair.unchanged.failed) == (1, 0)


def test_a_pair_that_was_seen_is_not_made_anew() -> None:
    canary, control = history(run("a", 10, 100), run("b", 20, 100)), history(run("x", 11, 100), run("y", 21, 100))
    first = application_pairs(history(*canary.runs[:1]), control, 200)
    # A better partner of a, whose log came late, stays free for others.
    late = history(*control.runs, run("late", 10, 100))
    second = application_pairs(canary, late, 200, first)
    assert names([*first, *second]) == [("a", "x"), ("b", "y")]
    assert application_pairs(canary, late, 200, (*first, *second)) == []


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("pq"), st.booleans(), st.booleans()), max_size=30),
    st.randoms(use_true_random=False),
)
def test_pairs_ignore_order_and_use_an_application_once(
    drawn: list[tuple[str, str, bool, bool]], dice: random.Random
) -> None:
    queries: list[tuple[Run | Failure, bool]] = []
    for at, (name, shape, fails, tried) in enumerate(drawn):
        application = ("canary " if tried else "") + name
        queries.append((failure(application, at, shape) if fails else run(application, at, 10 + at, shape), tried))
    shuffled = dice.sample(queries, len(queries))

    def pairs(found: list[tuple[Run | Failure, bool]]) -> list[Pair]:
        sides = [history(*(one for one, tried in found if tried is side)) for side in (True, False)]
        return application_pairs(sides[0], sides[1], 200)

    assert pairs(queries) == pairs(shuffled)
    sides = [{one.application for one, tried in queries if tried is side} for side in (True, False)]
    assert len(pairs(queries)) <= min(len(side) for side in sides)


QUERIES = st.lists(st.tuples(st.integers(1, 10**6), st.booleans(), st.booleans()), min_size=1, max_size=4)
STARTED = st.tuples(st.booleans(), st.integers(0, 50), st.sampled_from(["nightly", "hourly"]), st.sampled_from("pq"))


@given(st.lists(st.tuples(STARTED, QUERIES), max_size=12), st.randoms(use_true_random=False))
def test_pairs_are_the_same_whatever_the_durations_and_failures_and_however_many_queries_were_run(
    drawn: list[tuple[tuple[bool, int, str, str], list[tuple[int, bool, bool]]]], dice: random.Random
) -> None:
    def pairs(outcomes: list[list[tuple[int, bool, bool]]]) -> list[tuple[str, str]]:
        sides: dict[bool, list[Run | Failure]] = {True: [], False: []}
        about = {}
        for number, ((tried, start, kind, join), _) in enumerate(drawn):
            name, at = f"a{number}", start
            about[name] = Application(name, kind, join, start)
            for place, (millis, fails, cancelled) in enumerate(outcomes[number]):
                at += millis
                shape = f"c{place}"
                one = failure(name, at, shape, cancelled) if fails else run(name, at, millis, shape)
                sides[tried].append(one)
        found = {
            side: history(*sides[side], applications={one.application: about[one.application] for one in sides[side]})
            for side in sides
        }
        return names(application_pairs(found[True], found[False], 200))

    outcomes = [queries for _, queries in drawn]
    assert pairs(outcomes) == pairs(dice.sample(outcomes, len(outcomes)))


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
    pairs = application_pairs(history(*sides[True]), history(*sides[False]), 200)
    return compare(durations(pairs), 0.05, ErrorRates(0.05, 0.05)).outcome


@pytest.mark.simulation
def test_differing_applications_cause_no_false_alarm_and_hide_no_harm() -> None:
    equal = [outcome_of(seed, 1.0) for seed in range(20)]
    assert equal.count(Outcome.WORSE) <= 2  # 5 % of 20 is 1
    slower = [outcome_of(seed, 1.5) for seed in range(10)]
    assert slower.count(Outcome.WORSE) >= 9
    assert slower.count(Outcome.NOT_WORSE) == 0
