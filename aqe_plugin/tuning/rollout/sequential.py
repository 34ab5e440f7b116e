"""Is the canary slower than the control, or does it fail more? Tests whose results may be acted on after any pair.

**Durations.** Each application of the canary is paired with one of the control (``application_pairs``). If the change
does nothing, the logarithm *d* of canary ÷ control is as likely to be positive as negative *given its size*, whatever
the durations' distribution. A bet on the sign of each pair, the higher the larger |d|, therefore gains nothing on
average. For a normal *d* with mean θs and deviation *s*, the stake that grows fastest multiplies the evidence by::

    2 / (1 + exp(-2 θ z)),    z = d / s, at most 3 in size

where *s* is estimated from the pairs before. The evidence is the mean over several θ. It is a supermartingale from 1 as
long as the canary is not slower, so by Ville's inequality it reaches 1/alpha at *any* time with a probability of at
most alpha: an always-valid test in the sense of Johari, Koomen, Pekelis and Walsh ("Always Valid Inference: Continuous
Monitoring of A/B Tests", Operations Research 2022), by an e-test of symmetry (Vovk and Wang, "Nonparametric E-tests of
Symmetry", New England Journal of Statistics in Data Science 2024). The same test of "is faster than the control slowed
down by a margin" shows that the canary is *not* slower by that margin. Neither a distribution nor a variance has to be
known, and because of the bound on *z* a straggler or a bad hour weighs little more than any other pair.

**Failures.** Of the pairs in which one side has more failed queries than the other, it is the canary in one half as
long as the change does not matter, however often queries fail anyway. Of *n* such pairs with *k* in which it is the
canary, the likelihood ratio of "more than one half" (every such chance equally likely) to "one half" is::

    sum of (n+1 over i) for i = 0..k, divided by (n+1) (n over k)

which is the mixture sequential probability ratio of Robbins ("Statistical Methods Related to the Law of the Iterated
Logarithm", Annals of Mathematical Statistics 1970) for a coin, and a supermartingale in the same way.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from statistics import median

from aqe_plugin.tuning.runs import MAD_TO_SIGMA

# Differences between canary and control that are looked for, in standard deviations of a pair.
_EFFECTS = (0.1, 0.2, 0.4, 0.8, 1.6, 4.0)
_MOST_DEVIATIONS = 3.0


class Outcome(str, Enum):
    """What the pairs show of durations."""

    WORSE = "worse"
    NOT_WORSE = "not_worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class PairComparison:
    """What the pairs show, and their counts.

    Attributes:
        pairs: pairs up to the decision.
        slower: those in which the canary took longer than the control.
        median_ratio: canary ÷ control, 1 without a pair.
    """

    outcome: Outcome
    pairs: int
    slower: int
    median_ratio: float


@dataclass(frozen=True, slots=True)
class Excess:
    """Whether something happens more often on the canary's side of the pairs.

    Attributes:
        is_shown: whether it does.
        differing: pairs up to the decision in which the sides differ.
        more: those in which the canary has more.
        odds: how many times likelier "the canary has more" makes these counts than "both have as much".
    """

    is_shown: bool
    differing: int
    more: int
    odds: float


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How often each test may be wrong, however often it is read.

    Attributes:
        false_alarm: largest probability of "worse" when the canary is not slower.
        false_clear: largest probability of "not worse" when the canary is slower by the margin at least.
    """

    false_alarm: float
    false_clear: float


class SymmetryEvidence:
    """The evidence that values which would be symmetric around 0 are greater, value by value.

    The state of one test; ``log`` is the natural logarithm of the evidence.
    """

    def __init__(self) -> None:
        self._logs = [0.0] * len(_EFFECTS)
        self._sizes: list[float] = []

    @property
    def log(self) -> float:
        highest = max(self._logs)
        return highest + math.log(math.fsum(math.exp(one - highest) for one in self._logs) / len(self._logs))

    def add(self, value: float) -> None:
        """Takes the next value, which is judged by the sizes of the values before it."""
        scale = MAD_TO_SIGMA * _middle(self._sizes) if self._sizes else 0.0
        deviations = value / scale if scale > 0 else math.copysign(1.0, value) if value else 0.0
        bounded = min(max(deviations, -_MOST_DEVIATIONS), _MOST_DEVIATIONS)
        for at, effect in enumerate(_EFFECTS):
            self._logs[at] += math.log(2.0) - math.log1p(math.exp(-2.0 * effect * bounded))
        insort(self._sizes, abs(value))


def compare(
    pairs: Sequence[tuple[float, float]], margin: float, rates: ErrorRates, drift: float = 0.0
) -> PairComparison:
    """Takes pairs (canary, control) of durations above 0, in their order, until "worse" or "not worse" is shown.

    Args:
        margin: share of the control's time; a canary that is slower by less does no harm.
        drift: share of the control's time by which it may be from a better day; the canary is "worse" when it is slower
            than the control slowed down by that, and "not worse" when it is not slower than that by the margin.
    """
    worse, not_worse = SymmetryEvidence(), SymmetryEvidence()
    slower = 0
    ratios: list[float] = []
    for canary, control in pairs:
        ratio = canary / control
        ratios.append(ratio)
        slower += ratio > 1
        excess_log = math.log(ratio) - math.log1p(drift)
        worse.add(excess_log)
        not_worse.add(math.log1p(margin) - excess_log)
        if worse.log >= -math.log(rates.false_alarm) and median(ratios) > (1 + drift) * (1 + margin):
            return PairComparison(Outcome.WORSE, len(ratios), slower, median(ratios))
        if not_worse.log >= -math.log(rates.false_clear):
            return PairComparison(Outcome.NOT_WORSE, len(ratios), slower, median(ratios))
    return PairComparison(Outcome.UNDECIDED, len(ratios), slower, median(ratios) if ratios else 1.0)


def excess(counts: Sequence[tuple[int, int]], rate: float) -> Excess:
    """Takes pairs (canary, control) of counts, in their order, until the canary is shown to have more.

    Nothing ends the test on the other side: a night on which the control failed says nothing of the next.

    Args:
        rate: largest probability that the canary is shown to have more when it has not.
    """
    needed = -math.log(rate)
    differing, more = 0, 0
    for canary, control in counts:
        differing += canary != control
        more += canary > control
        if log_evidence(more, differing) >= needed:
            return Excess(True, differing, more, _odds(more, differing))
    return Excess(False, differing, more, _odds(more, differing))


@lru_cache(maxsize=1 << 16)
def log_evidence(successes: int, trials: int) -> float:
    """Natural logarithm of the likelihood ratio of failures, of ``successes`` in ``trials``; 0 without a trial."""
    below = sum(math.comb(trials + 1, index) for index in range(successes + 1))
    return math.log(below) - math.log((trials + 1) * math.comb(trials, successes))


def _odds(successes: int, trials: int) -> float:
    return math.exp(log_evidence(successes, trials))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
