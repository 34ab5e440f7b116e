"""The way of a change through the rings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.tuning.rollout.rings import (
    Confirmation,
    Move,
    Observation,
    Ring,
    RingLimits,
    advance,
    after_observing,
    is_over,
)
from aqe_plugin.tuning.rollout.sequential import Excess, Outcome, PairComparison, excess

LIMITS = RingLimits(margin=0.05, alpha=0.05, max_pairs=100)
COMPARISONS = st.builds(
    PairComparison,
    outcome=st.sampled_from(list(Outcome)),
    pairs=st.integers(0, 150),
    slower=st.integers(0, 150),
    median_ratio=st.floats(0.1, 10),
)
EXCESSES = st.builds(
    Excess,
    is_shown=st.booleans(),
    differing=st.integers(0, 150),
    more=st.integers(0, 150),
    odds=st.floats(0, 1000),
)
SEEN = st.builds(
    Observation,
    pairs=st.integers(0, 150),
    comparison=COMPARISONS,
    allowed=st.floats(0, 1),
    failures=EXCESSES,
    cancellations=EXCESSES,
    errors=st.integers(0, 2),
    has_canary=st.booleans(),
    exhausted=st.booleans(),
)
NEXT = {
    Ring.CANARY: {Ring.CANARY, Ring.ALL, Ring.ROLLED_BACK},
    Ring.ALL: {Ring.ALL, Ring.SETTLED, Ring.ROLLED_BACK},
    Ring.SETTLED: {Ring.SETTLED},
    Ring.ROLLED_BACK: {Ring.ROLLED_BACK},
}
FORCES = (Ring.CANARY, Ring.ALL)
NO_EXCESS = Excess(False, 0, 0, 1.0)
NUMBERS = "slower in 12 of 20 pairs, median ratio 1.020"


def seen(
    outcome: Outcome = Outcome.UNDECIDED,
    pairs: int = 20,
    failures: Excess = NO_EXCESS,
    cancellations: Excess = NO_EXCESS,
    errors: int = 0,
) -> Observation:
    return Observation(
        pairs, PairComparison(outcome, 20, 12, 1.02), 0.05, failures, cancellations, errors, has_canary=True
    )


@given(ring=st.sampled_from(list(NEXT)), what=SEEN)
def test_no_ring_is_skipped_and_the_last_rings_are_final(ring: Ring, what: Observation) -> None:
    move = advance(ring, what, LIMITS)
    assert move.ring in NEXT[ring]
    assert move.why


@given(ring=st.sampled_from(FORCES), what=SEEN)
def test_an_error_of_the_plugin_or_any_alarm_is_always_rolled_back(ring: Ring, what: Observation) -> None:
    is_worse = what.comparison.outcome is Outcome.WORSE
    if what.errors or is_worse or what.failures.is_shown or what.cancellations.is_shown:
        assert advance(ring, what, LIMITS).ring is Ring.ROLLED_BACK


@given(ring=st.sampled_from(FORCES), what=SEEN)
def test_a_change_goes_on_only_with_evidence_and_without_doubt(ring: Ring, what: Observation) -> None:
    if advance(ring, what, LIMITS).ring in (Ring.ALL, Ring.SETTLED) and ring is not Ring.ALL:
        assert what.comparison.outcome is Outcome.NOT_WORSE
        assert what.errors == 0
        assert max(what.failures.odds, what.cancellations.odds) < 10


@pytest.mark.parametrize(
    ("holds", "has_canary", "ring"),
    [
        (None, True, Ring.OBSERVE),
        (False, True, Ring.ROLLED_BACK),
        (True, True, Ring.CANARY),
        (True, False, Ring.ALL),
    ],
)
def test_a_change_leaves_observation_when_other_runs_confirm_it(
    holds: bool | None, has_canary: bool, ring: Ring
) -> None:
    assert after_observing(Confirmation(holds, "so they say"), has_canary) == Move(ring, "so they say")


@pytest.mark.parametrize(("pairs", "waits"), [(4, False), (5, True)])
def test_five_pairs_that_all_speak_against_a_change_keep_it_from_going_on(pairs: int, waits: bool) -> None:
    against = excess([(1, 0)] * pairs, LIMITS.counts)
    move = advance(Ring.CANARY, seen(Outcome.NOT_WORSE, failures=against), LIMITS)
    assert move.ring is (Ring.CANARY if waits else Ring.ALL)
    # A control that failed before is no merit of the change.
    assert not excess([(0, 1)] * 9, LIMITS.counts).is_shown


@pytest.mark.parametrize(
    ("ring", "what", "move"),
    [
        (Ring.CANARY, seen(), Move(Ring.CANARY, f"undecided so far: {NUMBERS}")),
        (Ring.CANARY, seen(Outcome.NOT_WORSE), Move(Ring.ALL, f"not slower by 5%: {NUMBERS}")),
        (Ring.CANARY, seen(Outcome.WORSE), Move(Ring.ROLLED_BACK, f"slower: {NUMBERS}")),
        (Ring.CANARY, seen(pairs=100), Move(Ring.ROLLED_BACK, f"undecided after 100 pairs: {NUMBERS}")),
        (
            Ring.CANARY,
            seen(Outcome.NOT_WORSE, failures=Excess(False, 5, 5, 10.5)),
            Move(
                Ring.CANARY,
                f"undecided so far: {NUMBERS}; more queries failed so far: with the change in 5 of 5 pairs that differ",
            ),
        ),
        (
            Ring.CANARY,
            seen(Outcome.NOT_WORSE, failures=Excess(True, 12, 11, 200.0)),
            Move(Ring.ROLLED_BACK, "more queries failed: with the change in 11 of 12 pairs that differ"),
        ),
        (
            Ring.ALL,
            seen(cancellations=Excess(True, 9, 9, 102.3)),
            Move(Ring.ROLLED_BACK, "more queries were cancelled: with the change in 9 of 9 pairs that differ"),
        ),
        (
            Ring.ALL,
            seen(errors=1),
            Move(Ring.ROLLED_BACK, "1 errors of the plugin in queries that have none without the change"),
        ),
        (Ring.ALL, seen(Outcome.NOT_WORSE), Move(Ring.SETTLED, f"not slower by 5%: {NUMBERS}")),
    ],
)
def test_each_move_has_its_reason_and_numbers(ring: Ring, what: Observation, move: Move) -> None:
    assert advance(ring, what, LIMITS) == move


@pytest.mark.parametrize(
    ("has_canary", "failures", "ring"),
    [
        (True, NO_EXCESS, Ring.SETTLED),
        (True, Excess(False, 5, 5, 10.5), Ring.ROLLED_BACK),
        (False, NO_EXCESS, Ring.ROLLED_BACK),
    ],
)
def test_without_a_control_the_canarys_verdict_stands(has_canary: bool, failures: Excess, ring: Ring) -> None:
    what = replace(seen(failures=failures), has_canary=has_canary, exhausted=True)
    move = advance(Ring.ALL, what, LIMITS)
    assert (move.ring, move.why[:68]) == (
        ring,
        "no application from before the change is left to compare with: slower"[:68],
    )
    assert advance(Ring.CANARY, what, LIMITS).ring is Ring.CANARY


def test_settled_and_rolled_back_are_the_last_rings() -> None:
    assert [ring for ring in Ring if is_over(ring)] == [Ring.SETTLED, Ring.ROLLED_BACK]
