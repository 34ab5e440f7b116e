"""A recommendation as a value: what to change, on what evidence, how sure; and the limits within which it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aqe_plugin.tuning.guards import Guard, Step, max_step, min_confidence, min_runs, no_regression

__all__ = ["Evidence", "Finding", "KeyChange", "Limits", "Recommendation", "best", "guard_of"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What evidence is enough and how far a step may go.

    Attributes:
        min_runs: runs a cohort must have, outliers not counted, to be looked at.
        max_runs: runs that are looked at of a cohort that ran one way, the newest ones.
        max_joins: joins of all these runs that are decided again; query shapes that take most time come first.
        max_step: largest factor between the old and the new value of a key.
        max_regression: largest share of its time that a cohort may be expected to lose; of several steps to the target
            the largest one within it is taken.
        min_saving: share of all elapsed time that a recommendation must be expected to save.
        min_confidence: probability that a change must have of saving time, to be made.
        min_identified: share of a coefficient's uncertainty that outcomes must have taken away.
    """

    min_runs: int = 5
    max_runs: int = 20
    max_joins: int = 4000
    max_step: float = 2.0
    max_regression: float = 0.05
    min_saving: float = 0.005
    min_confidence: float = 0.95
    min_identified: float = 0.25


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key's change; ``factor`` is new ÷ old, infinite or 0 where one of them is 0."""

    key: str
    old: float
    new: float

    @property
    def factor(self) -> float:
        return self.new / self.old if self.old else math.inf


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a recommendation rests on.

    Attributes:
        queries: runs that were looked at.
        cohorts: their query shapes.
        changed: runs in which at least one join would be decided otherwise at the target.
        seconds: elapsed time of all runs that would have been saved at the target.
        low: 5 % quantile of ``seconds``, from what is not known of the scales; ``high`` the 95 % one.
        seconds_now: the same as ``seconds`` for this one step.
        since_millis: when the oldest run ended, milliseconds since 1970; ``until_millis`` the newest.
    """

    queries: int
    cohorts: int
    changed: int
    seconds: float
    low: float
    high: float
    seconds_now: float
    since_millis: int
    until_millis: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One group's step.

    Attributes:
        target: factor from the old values to where evidence points; the step may be shorter.
        confidence: probability, from 0 to 1, that the target saves time.
        step: what guards look at.
    """

    group: str
    changes: tuple[KeyChange, ...]
    why: str
    target: float
    evidence: Evidence
    confidence: float
    step: Step


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of one group: a recommendation, or in ``reason`` why there is none."""

    group: str
    recommendation: Recommendation | None
    reason: str


def guard_of(limits: Limits) -> Guard:
    """What a recommendation must pass to be applied."""
    return (
        max_step(limits.max_step)
        & min_runs(limits.min_runs)
        & no_regression(limits.max_regression)
        & min_confidence(limits.min_confidence)
    )


def best(findings: Sequence[Finding], guard: Guard) -> Recommendation | None:
    """Of the recommendations that pass ``guard`` the one that surely saves most, by the low end of its interval."""
    made = (finding.recommendation for finding in findings if finding.recommendation is not None)
    return max((one for one in made if guard(one.step).passes), key=lambda one: one.evidence.low, default=None)
