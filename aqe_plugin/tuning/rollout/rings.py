"""How far a change has been carried, and what comes next: a pure state machine.

::

    observe --confirmed by newer runs--> canary --shown to be not worse--> all --shown to be not worse--> settled
       |                                   |                                |
       +---------- not confirmed, worse, undecided for too long, or any error ----------> rolled back

In ``observe`` nothing is changed: the change is only remembered, and must be recommended again with newer runs.
In ``canary`` a part of the applications reads it, in ``all`` every one. A change that cannot be shown to do no harm
within ``max_pairs`` pairs goes back: nobody would notice that it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome

__all__ = ["Move", "Observation", "Ring", "RingLimits", "advance", "is_over"]


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
        margin: share of elapsed time by which a change may be slower unnoticed.
        alpha: probability of a false alarm, and of a false all-clear, in one ring.
        max_pairs: pairs of runs after which what is still undecided goes back.
    """

    margin: float = 0.05
    alpha: float = 0.05
    max_pairs: int = 200


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known since the change came into its ring.

    Attributes:
        confirmed: whether newer runs alone recommend the same group in the same direction, and the guard agrees;
            ``None`` while they are too few.
        comparison: runs with the change against runs without it.
        errors: errors of the plugin and failed queries, of runs with the change.
        has_canary: whether there is a part of the applications to try it on first.
    """

    confirmed: bool | None
    comparison: Comparison
    errors: int
    has_canary: bool


@dataclass(frozen=True, slots=True)
class Move:
    """The ring to be in now, and why; it may be the present one."""

    ring: Ring
    why: str


def is_over(ring: Ring) -> bool:
    """Whether nothing comes after it."""
    return ring in (Ring.SETTLED, Ring.ROLLED_BACK)


def advance(ring: Ring, seen: Observation, limits: RingLimits) -> Move:
    """The move that ``seen`` asks for; a ring that is over stays."""
    if is_over(ring):
        return Move(ring, "it is over")
    if ring is Ring.OBSERVE:
        return _from_observe(seen)
    if seen.errors > 0:
        return Move(Ring.ROLLED_BACK, f"{seen.errors} errors with the change in force, none is accepted")
    told = (
        f"slower in {seen.comparison.slower} of {seen.comparison.pairs} pairs, "
        f"median ratio {seen.comparison.median_ratio:.3f}"
    )
    if seen.comparison.outcome is Outcome.WORSE:
        return Move(Ring.ROLLED_BACK, f"it is slower: {told}")
    if seen.comparison.outcome is Outcome.NOT_WORSE:
        return Move(
            Ring.ALL if ring is Ring.CANARY else Ring.SETTLED, f"it is not slower by {limits.margin:.0%}: {told}"
        )
    if seen.comparison.pairs >= limits.max_pairs:
        return Move(Ring.ROLLED_BACK, f"undecided after {limits.max_pairs} pairs: {told}")
    return Move(ring, f"undecided so far: {told}")


def _from_observe(seen: Observation) -> Move:
    if seen.confirmed is None:
        return Move(Ring.OBSERVE, "too few runs since to confirm it")
    if not seen.confirmed:
        return Move(Ring.ROLLED_BACK, "runs since do not recommend it again")
    return Move(Ring.CANARY if seen.has_canary else Ring.ALL, "runs since recommend it again")
