"""A recommendation as a value: what to change, on what evidence, how sure; and the limits that it must keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What evidence is enough and how far a step may go.

    Attributes:
        min_runs: runs that a fingerprint must have, outliers not counted.
        max_runs: newest runs that are considered of each fingerprint and each way it ran.
        max_joins: joins of all these runs that are decided again; fingerprints that take most time come first.
        max_step: largest factor between a key's old and new value.
        max_regression: largest share of its time that a fingerprint may be expected to lose; of several steps towards
            the target the largest one within this limit is taken.
        min_saving: share of all elapsed time that a recommendation must be expected to save.
        min_confidence: probability of saving time that a change must have.
        min_identified: share of a coefficient's uncertainty that outcomes must have removed.
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
        queries: runs that were considered.
        fingerprints: how many different ones these have.
        changed: runs in which the target changes the decision about at least one join.
        seconds: elapsed time of all runs that the target would have saved.
        low: 5 % quantile of ``seconds``, from the uncertainty of the scales; ``high`` the 95 % one.
        seconds_now: as ``seconds``, for this one step.
        since_millis: when the oldest run ended, milliseconds since 1970; ``until_millis`` the newest.
    """

    queries: int
    fingerprints: int
    changed: int
    seconds: float
    low: float
    high: float
    seconds_now: float
    since_millis: int
    until_millis: int


@dataclass(frozen=True, slots=True)
class Risk:
    """What is held against the limits before a change is made.

    Attributes:
        runs: of the fingerprint with the fewest.
        regression: share of its elapsed time that the worst-hit fingerprint is expected to lose.
        confidence: probability, from 0 to 1, that the change saves time.
    """

    runs: int
    regression: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One group's step.

    Attributes:
        target: factor from the old values to where evidence points; the step may be shorter.
    """

    group: str
    changes: tuple[KeyChange, ...]
    why: str
    target: float
    evidence: Evidence
    risk: Risk


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one group: a recommendation, or in ``reason`` why there is none.

    Attributes:
        held_back: whether the reason is that a rollout of it went back lately.
    """

    group: str
    recommendation: Recommendation | None
    reason: str
    held_back: bool = False


def violations(recommendation: Recommendation, limits: Limits) -> tuple[str, ...]:
    """The limits that the recommendation exceeds, each with the number found; none when it may be applied.

    A number that is not one (NaN) exceeds its limit.
    """
    risk = recommendation.risk
    step = max((_size(change.factor) for change in recommendation.changes), default=1.0)
    checks = (
        # A factor that was rounded to the digits of a conf may be slightly above.
        (step <= limits.max_step * (1 + 1e-9), f"the largest step is x{step:.4g}, the limit x{limits.max_step:.4g}"),
        (risk.runs >= limits.min_runs, f"a fingerprint has {risk.runs} runs, {limits.min_runs} are needed"),
        (
            risk.regression <= limits.max_regression,
            f"a fingerprint may lose {risk.regression:.1%} of its time, the limit is {limits.max_regression:.1%}",
        ),
        (
            risk.confidence >= limits.min_confidence,
            f"confidence is {risk.confidence:.3f}, {limits.min_confidence:.3f} is needed",
        ),
    )
    return tuple(text for holds, text in checks if not holds)


def best(findings: Sequence[Finding], limits: Limits) -> Recommendation | None:
    """Of the recommendations within ``limits`` the one whose saving has the highest 5 % quantile."""
    made = (finding.recommendation for finding in findings if finding.recommendation is not None)
    return max((one for one in made if not violations(one, limits)), key=lambda one: one.evidence.low, default=None)


def _size(factor: float) -> float:
    return max(factor, 1 / factor) if factor > 0 and math.isfinite(factor) else math.inf
