"""How far a change has been carried, and what comes next: a pure state machine.

::

    observe --confirmed by unseen runs--> canary --shown to be not worse--> all --shown to be not worse--> settled
       |                                    |                                |
       +------ not confirmed, slower, more failures, an error of the plugin, or undecided for too long ---> rolled back

In ``observe`` no file changes: the change is only remembered, and must do good in runs that had no part in its choice.
In ``canary`` a part of the applications has it, in ``all`` every one. A change that is not shown to be harmless within
``max_pairs`` pairs goes back, because it is not shown to help either. In ``all`` the control is the applications from
before the change, and other days differ too: after a canary, only what is slower by more than ``drift`` speaks against
the change. When no control is left, the canary's verdict stands, and without a canary the change goes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aqe_plugin.tuning.rollout.sequential import ErrorRates, Excess, Outcome, PairComparison

# A change that is not slower still waits while its failures are ten times likelier to be its own than chance: from five
# pairs on that all speak against it.
_DOUBTFUL_ODDS = 10.0


class Ring(str, Enum):
    """How far a change has been carried."""

    OBSERVE = "observe"
    CANARY = "canary"
    ALL = "all"
    SETTLED = "settled"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class RingLimits:
    """When a ring is left.

    Attributes:
        margin: share of elapsed time that a change may cost.
        drift: share of elapsed time by which days may differ, in the ring ``all`` after a canary.
        alpha: probability of a false alarm in a rollout, and of a false all-clear in one ring.
        max_pairs: pairs of applications after which an undecided change goes back.
    """

    margin: float = 0.05
    drift: float = 0.5
    alpha: float = 0.05
    max_pairs: int = 400

    @property
    def durations(self) -> ErrorRates:
        """Three tests may raise an alarm in each of two rings; those of durations have most of ``alpha``."""
        return ErrorRates(false_alarm=0.3 * self.alpha, false_clear=self.alpha)

    @property
    def counts(self) -> float:
        """The false alarms of failures in one ring, and those of cancellations."""
        return 0.1 * self.alpha


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed since the change came into its ring.

    Attributes:
        pairs: pairs of applications with and without the change.
        comparison: the durations of these pairs.
        allowed: share of elapsed time that it let the change cost.
        failures: their failed queries.
        cancellations: their cancelled queries: people cancel what takes too long.
        errors: errors of the plugin with the change, in queries that have none without it.
        has_canary: whether a part of the applications tries the change first.
        exhausted: whether applications with the change are left for which no application without it is left, nor will
            come.
    """

    pairs: int
    comparison: PairComparison
    allowed: float
    failures: Excess
    cancellations: Excess
    errors: int
    has_canary: bool
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Whether runs that had no part in the choice of a change confirm it, and why.

    Attributes:
        holds: ``None`` while there are too few of them.
    """

    holds: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """The next ring, which may be the present one, and why."""

    ring: Ring
    why: str


def is_over(ring: Ring) -> bool:
    """Whether no ring comes after ``ring``."""
    return ring in (Ring.SETTLED, Ring.ROLLED_BACK)


def after_observing(found: Confirmation, has_canary: bool) -> Move:
    """The move from the ring ``observe``."""
    if found.holds is None:
        return Move(Ring.OBSERVE, found.why)
    if not found.holds:
        return Move(Ring.ROLLED_BACK, found.why)
    return Move(Ring.CANARY if has_canary else Ring.ALL, found.why)


def advance(ring: Ring, seen: Observation, limits: RingLimits) -> Move:
    """The move that follows from ``seen`` in a ring in which the change is in force; the last rings have none."""
    if is_over(ring):
        return Move(ring, "the rollout is over")
    if seen.errors > 0:
        return Move(
            Ring.ROLLED_BACK, f"{seen.errors} errors of the plugin in queries that have none without the change"
        )
    for what, found in (("failed", seen.failures), ("were cancelled", seen.cancellations)):
        if found.is_shown:
            return Move(Ring.ROLLED_BACK, f"more queries {what}: {_in_words(found)}")
    compared = seen.comparison
    numbers = (
        f"slower in {compared.slower} of {compared.pairs} pairs, median ratio {compared.median_ratio:.3f}"
        if compared.pairs
        else "no pair of applications yet"
    )
    if compared.outcome is Outcome.WORSE:
        return Move(Ring.ROLLED_BACK, f"slower: {numbers}")
    doubt = _doubt(seen)
    if compared.outcome is Outcome.NOT_WORSE and not doubt:
        return Move(Ring.ALL if ring is Ring.CANARY else Ring.SETTLED, f"not slower by {seen.allowed:.0%}: {numbers}")
    if seen.pairs >= limits.max_pairs:
        return Move(Ring.ROLLED_BACK, f"undecided after {limits.max_pairs} pairs: {numbers}{doubt}")
    if ring is Ring.ALL and seen.exhausted:
        none_left = f"no application from before the change is left to compare with: {numbers}{doubt}"
        return Move(Ring.SETTLED if seen.has_canary and not doubt else Ring.ROLLED_BACK, none_left)
    return Move(ring, f"undecided so far: {numbers}{doubt}")


def _doubt(seen: Observation) -> str:
    """What speaks against the change, though not enough for an alarm; empty when nothing does."""
    counts = (("failed", seen.failures), ("were cancelled", seen.cancellations))
    return "".join(
        f"; more queries {what} so far: {_in_words(found)}" for what, found in counts if found.odds >= _DOUBTFUL_ODDS
    )


def _in_words(found: Excess) -> str:
    return f"with the change in {found.more} of {found.differing} pairs that differ"
