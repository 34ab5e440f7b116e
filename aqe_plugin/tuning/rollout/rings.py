"""How far a change has been carried, and what comes next: a pure state machine.

::

    observe --confirmed by newer runs--> canary --shown to be not worse--> all --shown to be not worse--> settled
       |                                   |                                |
       +---------- not confirmed, worse, undecided for too long, or any error ----------> rolled back

In ``observe`` no file changes: the change is only remembered, and must be recommended again with newer runs. In
``canary`` a part of the applications has it, in ``all`` every one. A change that is not shown to be harmless within
``max_pairs`` pairs goes back, because it is not shown to help either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome


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
        alpha: probability of a false alarm, and of a false all-clear, in one ring.
        max_pairs: pairs of applications after which an undecided change goes back.
    """

    margin: float = 0.05
    alpha: float = 0.05
    max_pairs: int = 200


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed since the change came into its ring.

    Attributes:
        confirmed: whether the same group is recommended again in the same direction, within the limits; ``None`` while
            there are too few newer runs.
        comparison: runs with the change against runs without it.
        errors: errors of the plugin and failed queries, of runs with the change.
        has_canary: whether a part of the applications tries the change first.
    """

    confirmed: bool | None
    comparison: Comparison
    errors: int
    has_canary: bool


@dataclass(frozen=True, slots=True)
class Move:
    """The next ring, which may be the present one, and why."""

    ring: Ring
    why: str


def is_over(ring: Ring) -> bool:
    """Whether no ring comes after ``ring``."""
    return ring in (Ring.SETTLED, Ring.ROLLED_BACK)


def advance(ring: Ring, seen: Observation, limits: RingLimits) -> Move:
    """The move that follows from ``seen``; the last rings have none."""
    if is_over(ring):
        return Move(ring, "the rollout is over")
    if ring is Ring.OBSERVE:
        return _from_observe(seen)
    if seen.errors > 0:
        return Move(Ring.ROLLED_BACK, f"{seen.errors} errors with the change in force, 0 are allowed")
    numbers = (
        f"slower in {seen.comparison.slower} of {seen.comparison.pairs} pairs, "
        f"median ratio {seen.comparison.median_ratio:.3f}"
    )
    if seen.comparison.outcome is Outcome.WORSE:
        return Move(Ring.ROLLED_BACK, f"slower: {numbers}")
    if seen.comparison.outcome is Outcome.NOT_WORSE:
        return Move(Ring.ALL if ring is Ring.CANARY else Ring.SETTLED, f"not slower by {limits.margin:.0%}: {numbers}")
    if seen.comparison.pairs >= limits.max_pairs:
        return Move(Ring.ROLLED_BACK, f"undecided after {limits.max_pairs} pairs: {numbers}")
    return Move(ring, f"undecided so far: {numbers}")


def _from_observe(seen: Observation) -> Move:
    if seen.confirmed is None:
        return Move(Ring.OBSERVE, "too few newer runs to confirm the change")
    if not seen.confirmed:
        return Move(Ring.ROLLED_BACK, "newer runs do not confirm the change")
    return Move(Ring.CANARY if seen.has_canary else Ring.ALL, "newer runs confirm the change")
