"""Which of many ratios are above a limit, when each of them was measured a few times."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

_SURE = 0.05


@dataclass(frozen=True)
class Ratio:
    """How many times as much one contender took as another, in runs that were made in turn.

    Attributes:
        middle: the geometric mean of the rounds' ratios.
        low, high: the interval that covers 95 % of it, by Student's t of the logarithms; without end for one round.
        doubt: probability of ratios as high as these or higher where the true one is the limit (one-sided test).
    """

    middle: float
    low: float
    high: float
    doubt: float


def ratio_of(runs: Sequence[float], base: Sequence[float], limit: float) -> Ratio:
    """The ratio of two contenders' runs, of which the first of each were made in one round, the second, and so on.

    Raises:
        ValueError: there are no runs, or the contenders have different numbers of them.
    """
    logs = [math.log(run / spent) for run, spent in zip(runs, base, strict=True)]
    if not logs:
        raise ValueError("no round has both contenders")
    middle = statistics.fmean(logs)
    if len(logs) == 1:
        return Ratio(math.exp(middle), 0.0, math.inf, 1.0)
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = float(stats.t.ppf(1 - _SURE / 2, len(logs) - 1)) * error
    above = (middle - math.log(limit)) / error if error > 0 else math.copysign(math.inf, middle - math.log(limit))
    return Ratio(
        math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), float(stats.t.sf(above, len(logs) - 1))
    )


def surely_slower(ratios: Mapping[str, Ratio]) -> list[str]:
    """The names of the ratios above the limit of their tests, the surest first, by the method of Holm.

    Of all names that are not slower, one is in the list with a probability of at most 5 %, however many there are.
    """
    slower = []
    for place, (name, ratio) in enumerate(sorted(ratios.items(), key=lambda one: one[1].doubt)):
        if ratio.doubt > _SURE / (len(ratios) - place):
            break
        slower.append(name)
    return slower
