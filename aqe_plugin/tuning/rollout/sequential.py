"""Is the canary slower than the control? A test whose result may be read, and acted on, after any pair.

Each application of the canary is paired with one of the control (``application_pairs``). If the canary is not slower,
the chance that it is the slower one of a pair is at most one half, whatever the durations' distribution. Of *n* such
pairs with *k* in which it is slower, the likelihood ratio of "more than one half" (every such chance equally likely) to
"one half" is::

    sum of (n+1 over i) for i = 0..k, divided by (n+1) (n over k)

which is the mixture sequential probability ratio of Robbins ("Statistical Methods Related to the Law of the Iterated
Logarithm", Annals of Mathematical Statistics 1970) for a coin. It is a supermartingale from 1 as long as the chance is
at most one half, so by Ville's inequality it reaches 1/alpha at *any* time with a probability of at most alpha: an
always-valid test in the sense of Johari, Koomen, Pekelis and Walsh ("Always Valid Inference: Continuous Monitoring of
A/B Tests", Operations Research 2022). The same test of "is faster than the control slowed down by a margin" shows that
the canary is *not* slower by that margin.

The test counts signs and not durations: a bad hour or a straggler weighs as much as any other pair, and no variance
has to be known. The price is power: a difference that is small against the noise takes many pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from statistics import median


class Outcome(str, Enum):
    """What the pairs show."""

    WORSE = "worse"
    NOT_WORSE = "not_worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the pairs show, and their counts.

    Attributes:
        pairs: pairs up to the decision.
        slower: those in which the canary took longer than the control.
        within: those in which it took less than the control and the margin together.
        median_ratio: canary ÷ control, 1 without a pair.
    """

    outcome: Outcome
    pairs: int
    slower: int
    within: int
    median_ratio: float


def compare(pairs: Sequence[tuple[float, float]], margin: float, alpha: float) -> Comparison:
    """Takes pairs (canary, control) of durations above 0, in their order, until "worse" or "not worse" is shown.

    Args:
        margin: share of the control's time; a canary that is slower by less does no harm.
        alpha: largest probability of "worse" when the canary is not slower, and of "not worse" when it is slower by the
            margin at least.
    """
    needed = -math.log(alpha)
    slower, within = 0, 0
    ratios: list[float] = []
    for canary, control in pairs:
        ratios.append(canary / control)
        slower += ratios[-1] > 1
        within += ratios[-1] < 1 + margin
        if log_evidence(slower, len(ratios)) >= needed and median(ratios) > 1 + margin:
            return Comparison(Outcome.WORSE, len(ratios), slower, within, median(ratios))
        if log_evidence(within, len(ratios)) >= needed:
            return Comparison(Outcome.NOT_WORSE, len(ratios), slower, within, median(ratios))
    return Comparison(Outcome.UNDECIDED, len(ratios), slower, within, median(ratios) if ratios else 1.0)


@lru_cache(maxsize=1 << 16)
def log_evidence(successes: int, trials: int) -> float:
    """Natural logarithm of the module's likelihood ratio, of ``successes`` in ``trials``; 0 without a trial."""
    below = sum(math.comb(trials + 1, index) for index in range(successes + 1))
    return math.log(below) - math.log((trials + 1) * math.comb(trials, successes))
