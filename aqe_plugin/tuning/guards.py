"""What a change must satisfy before it is made: small conditions that compose.

``max_step(2.0) & min_runs(5) & no_regression(0.05)`` is a guard like each of its parts; ``|`` asks for one of two, and
``~`` for the opposite. A guard is a pure function from a :class:`Step` to a :class:`Verdict`, which always has the
numbers of every part, also of those that would have been spared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Guard", "Step", "Verdict", "max_step", "min_confidence", "min_runs", "no_errors", "no_regression"]


@dataclass(frozen=True, slots=True)
class Step:
    """What a guard looks at.

    Attributes:
        factors: new value ÷ old value of each key that changes; 0 or infinity where one of the two is 0.
        runs: runs of the least often seen cohort that the evidence rests on.
        regression: elapsed time that the worst-hit cohort is expected, or was measured, to lose, as a share of it.
        confidence: probability, from 0 to 1, that the change saves time.
        errors: errors of the plugin, and failed queries, with the change in force.
    """

    factors: tuple[float, ...]
    runs: int
    regression: float
    confidence: float
    errors: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a guard lets a step pass, and why.

    Attributes:
        passes: the answer.
        why: a sentence with the number found and the limit.
        parts: the verdicts that this one is made of; none for a single condition.
    """

    passes: bool
    why: str
    parts: tuple[Verdict, ...] = ()

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """The single conditions that are to blame; none when the step passes."""
        if self.passes:
            return ()
        blamed = tuple(why for part in self.parts for why in part.stopped_by)
        return blamed or (self.why,)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on a step; combine guards with ``&``, ``|`` and ``~``."""

    judge: Callable[[Step], Verdict]

    def __call__(self, step: Step) -> Verdict:
        return self.judge(step)

    def __and__(self, other: Guard) -> Guard:
        return Guard(lambda step: _combined(all, " and ", self(step), other(step)))

    def __or__(self, other: Guard) -> Guard:
        return Guard(lambda step: _combined(any, " or ", self(step), other(step)))

    def __invert__(self) -> Guard:
        return Guard(lambda step: _opposite(self(step)))


def max_step(factor: float) -> Guard:
    """No key becomes more than ``factor`` times as large or as small; a key never comes from, or goes to, 0.

    Raises:
        ValueError: ``factor`` is below 1.
    """
    if not factor >= 1:
        raise ValueError(f"a step is at least a factor of 1, not {factor}")
    return Guard(lambda step: _max_step(step, factor))


def min_runs(count: int) -> Guard:
    """The evidence has at least ``count`` runs of every cohort that it rests on."""
    return Guard(lambda step: Verdict(step.runs >= count, f"{step.runs} runs of a cohort, at least {count} are needed"))


def no_regression(share: float) -> Guard:
    """No cohort loses more than ``share`` of its elapsed time."""
    return Guard(
        lambda step: Verdict(
            step.regression <= share,
            f"the worst-hit cohort loses {step.regression:.1%}, at most {share:.1%} may be lost",
        )
    )


def min_confidence(probability: float) -> Guard:
    """The change saves time with at least this probability."""
    return Guard(
        lambda step: Verdict(
            step.confidence >= probability, f"confidence {step.confidence:.3f}, at least {probability:.3f} is needed"
        )
    )


def no_errors() -> Guard:
    """Not one error."""
    return Guard(lambda step: Verdict(step.errors == 0, f"{step.errors} errors, none is accepted"))


def _max_step(step: Step, factor: float) -> Verdict:
    largest = max((_size(one) for one in step.factors), default=1.0)
    # A factor that was rounded to the digits of a conf may be a hair above.
    return Verdict(
        largest <= factor * (1 + 1e-9), f"the largest step is x{largest:.4g}, at most x{factor:.4g} is allowed"
    )


def _size(factor: float) -> float:
    return max(factor, 1 / factor) if factor > 0 and math.isfinite(factor) else math.inf


def _combined(rule: Callable[[tuple[bool, ...]], bool], word: str, *parts: Verdict) -> Verdict:
    return Verdict(
        rule(tuple(part.passes for part in parts)), word.join(f"({part.why})" for part in parts), tuple(parts)
    )


def _opposite(verdict: Verdict) -> Verdict:
    return Verdict(not verdict.passes, f"not ({verdict.why})", ())
