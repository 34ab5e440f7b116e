"""The way of a change through the rings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.tuning.rollout.rings import Move, Observation, Ring, RingLimits, advance, is_over
from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome

LIMITS = RingLimits(margin=0.05, alpha=0.05, max_pairs=100)
COMPARISONS = st.builds(
    Comparison,
    outcome=st.sampled_from(list(Outcome)),
    pairs=st.integers(0, 150),
    slower=st.integers(0, 150),
    within=st.integers(0, 150),
    median_ratio=st.floats(0.1, 10),
)
SEEN = st.builds(
    Observation,
    confirmed=st.sampled_from([None, True, False]),
    comparison=COMPARISONS,
    errors=st.integers(0, 2),
    has_canary=st.booleans(),
)
NEXT = {
    Ring.OBSERVE: {Ring.OBSERVE, Ring.CANARY, Ring.ALL, Ring.ROLLED_BACK},
    Ring.CANARY: {Ring.CANARY, Ring.ALL, Ring.ROLLED_BACK},
    Ring.ALL: {Ring.ALL, Ring.SETTLED, Ring.ROLLED_BACK},
    Ring.SETTLED: {Ring.SETTLED},
    Ring.ROLLED_BACK: {Ring.ROLLED_BACK},
}


def seen(
    outcome: Outcome = Outcome.UNDECIDED, pairs: int = 20, errors: int = 0, confirmed: bool | None = True
) -> Observation:
    return Observation(confirmed, Comparison(outcome, pairs, 12, 9, 1.02), errors, has_canary=True)


@given(ring=st.sampled_from(list(Ring)), what=SEEN)
def test_no_ring_is_skipped_and_the_last_rings_are_final(ring: Ring, what: Observation) -> None:
    move = advance(ring, what, LIMITS)
    assert move.ring in NEXT[ring]
    assert move.why
    if what.has_canary:
        assert (ring, move.ring) != (Ring.OBSERVE, Ring.ALL)


@given(ring=st.sampled_from([Ring.CANARY, Ring.ALL]), what=SEEN)
def test_an_error_or_a_slower_canary_is_always_rolled_back(ring: Ring, what: Observation) -> None:
    if what.errors or what.comparison.outcome is Outcome.WORSE:
        assert advance(ring, what, LIMITS).ring is Ring.ROLLED_BACK


@given(st.lists(SEEN, max_size=30))
def test_a_change_reaches_all_only_with_evidence(stream: list[Observation]) -> None:
    ring = Ring.OBSERVE
    for what in stream:
        after = advance(ring, what, LIMITS).ring
        if after is Ring.ALL and ring is Ring.CANARY:
            assert what.comparison.outcome is Outcome.NOT_WORSE
            assert what.errors == 0
        if after is Ring.SETTLED and ring is not Ring.SETTLED:
            assert what.comparison.outcome is Outcome.NOT_WORSE
        ring = after


@pytest.mark.parametrize(
    ("ring", "what", "move"),
    [
        (
            Ring.OBSERVE,
            seen(confirmed=None),
            Move(Ring.OBSERVE, "too few newer runs to confirm the change"),
        ),
        (Ring.OBSERVE, seen(confirmed=False), Move(Ring.ROLLED_BACK, "newer runs do not confirm the change")),
        (Ring.OBSERVE, seen(), Move(Ring.CANARY, "newer runs confirm the change")),
        (
            Ring.CANARY,
            seen(),
            Move(Ring.CANARY, "undecided so far: slower in 12 of 20 pairs, median ratio 1.020"),
        ),
        (
            Ring.CANARY,
            seen(Outcome.NOT_WORSE),
            Move(Ring.ALL, "not slower by 5%: slower in 12 of 20 pairs, median ratio 1.020"),
        ),
        (
            Ring.CANARY,
            seen(Outcome.WORSE),
            Move(Ring.ROLLED_BACK, "slower: slower in 12 of 20 pairs, median ratio 1.020"),
        ),
        (
            Ring.CANARY,
            seen(pairs=100),
            Move(Ring.ROLLED_BACK, "undecided after 100 pairs: slower in 12 of 100 pairs, median ratio 1.020"),
        ),
        (Ring.ALL, seen(errors=1), Move(Ring.ROLLED_BACK, "1 errors with the change in force, 0 are allowed")),
        (
            Ring.ALL,
            seen(Outcome.NOT_WORSE),
            Move(Ring.SETTLED, "not slower by 5%: slower in 12 of 20 pairs, median ratio 1.020"),
        ),
    ],
)
def test_each_move_has_its_reason_and_numbers(ring: Ring, what: Observation, move: Move) -> None:
    assert advance(ring, what, LIMITS) == move


def test_settled_and_rolled_back_are_the_last_rings() -> None:
    assert [ring for ring in Ring if is_over(ring)] == [Ring.SETTLED, Ring.ROLLED_BACK]
