"""Guards as the algebra that they are, and the numbers that they give."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.tuning.guards import (
    Guard,
    Step,
    max_step,
    min_confidence,
    min_runs,
    no_errors,
    no_regression,
)

STEPS = st.builds(
    Step,
    factors=st.lists(st.floats(0, 1e6), max_size=4).map(tuple),
    runs=st.integers(0, 20),
    regression=st.floats(-1, 1),
    confidence=st.floats(0, 1),
    errors=st.integers(0, 3),
)
GUARDS = st.one_of(
    st.floats(1, 8).map(max_step),
    st.integers(0, 10).map(min_runs),
    st.floats(0, 0.5).map(no_regression),
    st.floats(0, 1).map(min_confidence),
    st.just(no_errors()),
)
GOOD = Step(factors=(1.9, 0.6), runs=7, regression=0.01, confidence=0.99, errors=0)
USUAL = max_step(2.0) & min_runs(5) & no_regression(0.05)


@given(step=STEPS, one=GUARDS, other=GUARDS)
def test_guards_compose_as_the_words_and_or_and_not_do(step: Step, one: Guard, other: Guard) -> None:
    first, second = one(step).passes, other(step).passes
    assert (one & other)(step).passes == (first and second)
    assert (one | other)(step).passes == (first or second)
    assert (~one)(step).passes == (not first)
    assert (~(one & other))(step).passes == (~one | ~other)(step).passes


@given(step=STEPS, one=GUARDS, other=GUARDS)
def test_every_part_is_heard_whatever_the_others_say(step: Step, one: Guard, other: Guard) -> None:
    for combined in (one & other, one | other):
        verdict = combined(step)
        assert verdict.parts == (one(step), other(step))
        assert one(step).why in verdict.why
        assert other(step).why in verdict.why


@given(step=STEPS, one=GUARDS, other=GUARDS)
def test_what_stopped_a_step_is_named_and_nothing_else(step: Step, one: Guard, other: Guard) -> None:
    verdict = (one & other)(step)
    assert bool(verdict.stopped_by) == (not verdict.passes)
    assert set(verdict.stopped_by) == {part.why for part in verdict.parts if not part.passes}


def test_a_step_within_every_limit_passes() -> None:
    assert USUAL(GOOD).passes


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Step((2.1,), 7, 0.0, 1.0, 0), "the largest step is x2.1, at most x2 is allowed"),
        (Step((0.4,), 7, 0.0, 1.0, 0), "the largest step is x2.5, at most x2 is allowed"),
        (Step((0.0,), 7, 0.0, 1.0, 0), "the largest step is xinf, at most x2 is allowed"),
        (Step((math.inf,), 7, 0.0, 1.0, 0), "the largest step is xinf, at most x2 is allowed"),
        (Step((1.5,), 4, 0.0, 1.0, 0), "4 runs of a cohort, at least 5 are needed"),
        (Step((1.5,), 7, 0.07, 1.0, 0), "the worst-hit cohort loses 7.0%, at most 5.0% may be lost"),
    ],
)
def test_a_step_beyond_a_limit_is_stopped_with_the_numbers(step: Step, why: str) -> None:
    assert USUAL(step).stopped_by == (why,)


def test_a_step_that_is_not_a_number_never_passes() -> None:
    assert not USUAL(Step((math.nan,), 7, 0.0, 1.0, 0)).passes
    assert not USUAL(Step((1.5,), 7, math.nan, 1.0, 0)).passes


def test_confidence_and_errors_are_conditions_too() -> None:
    assert (min_confidence(0.9) & no_errors())(GOOD).passes
    assert (min_confidence(0.995) & no_errors())(GOOD).stopped_by == ("confidence 0.990, at least 0.995 is needed",)
    assert no_errors()(Step((1.5,), 7, 0.0, 1.0, 2)).stopped_by == ("2 errors, none is accepted",)


def test_a_step_below_one_is_no_limit() -> None:
    with pytest.raises(ValueError, match=r"at least a factor of 1, not 0\.5"):
        max_step(0.5)
