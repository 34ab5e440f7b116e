"""When a step came into force: which applications read the values from before it, and which those after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from aqe_plugin.tuning.history import DAY_MILLIS
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring

# How far the clocks of this machine and of the cluster may be apart where no log shows it.
_CLOCKS_APART_MILLIS = DAY_MILLIS // 24


def between(step: RolloutStep, seen_until_millis: int | None) -> RolloutStep:
    """``step``, taken when the newest time in the logs, by the clocks of the cluster, was ``seen_until_millis``.

    Args:
        seen_until_millis: ``None`` when no log was read.
    """
    if seen_until_millis is None:
        # In the canary events name the arm.
        margin = 0 if step.ring is Ring.CANARY else _CLOCKS_APART_MILLIS
        at = step.at_millis
        return replace(step, before_until_millis=at - margin, after_since_millis=at + margin)
    # One application with a clock far off must not keep all others from counting.
    believed = min(seen_until_millis, step.at_millis + DAY_MILLIS)
    return replace(
        step,
        before_until_millis=min(step.at_millis, believed),
        after_since_millis=max(step.at_millis, believed),
    )


def since_others(earlier: Sequence[RolloutStep]) -> int:
    """Since when no values of ``earlier`` rollouts came into force everywhere, or went out of it."""
    into = [step for step in earlier if step.ring is Ring.ALL]
    in_force = (Ring.ALL, Ring.SETTLED)
    out = [step for before, step in pairwise(earlier) if before.ring in in_force and step.ring is Ring.ROLLED_BACK]
    return max((step.after_since_millis for step in (*into, *out)), default=0)
