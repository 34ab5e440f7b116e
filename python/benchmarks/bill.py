"""The processor time that the plugin says it saved, beside the one measured."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accounts import Account
from benchmarks.measure import QueryResult

# A saving that is no more standard errors from 0 says nothing of the prediction.
_SURE_ERRORS = 3.0
_NEAR = 0.3


@dataclass(frozen=True)
class Bill:
    """Processor seconds of one query: saved, by measurement and by the plugin's prediction.

    Attributes:
        error: standard error of what was measured; infinite for one run.
    """

    query: str
    measured: float
    error: float
    predicted: float

    @property
    def is_sure(self) -> bool:
        return self.measured > _SURE_ERRORS * self.error

    @property
    def is_near(self) -> bool:
        """Whether the prediction is within 30 % of what was measured."""
        return abs(self.predicted - self.measured) <= _NEAR * abs(self.measured)


def bills(results: Iterable[QueryResult], without: str, contender: str, accounts: Mapping[str, Account]) -> list[Bill]:
    """The bill of each query that both contenders finished, by the account of the contender's fastest run."""
    found = []
    for result in results:
        account = accounts.get(result.fastest_run(contender) or "")
        timings = [result.timing(name) for name in (without, contender)]
        runs = [one.processor_seconds for one in timings if one is not None and one.processor_seconds]
        if account is not None and len(runs) == 2 and all(map(all, runs)):
            before, after = runs
            measured = statistics.mean(before) - statistics.mean(after)
            error = math.hypot(_error(before), _error(after))
            found.append(Bill(result.query, measured, error, account.saved_processor_seconds))
    return found


def bill_lines(found: Sequence[Bill]) -> Iterator[str]:
    """A line for each query, and what they come to; nothing without a query."""
    if not found:
        return
    yield "processor seconds saved: measured ± standard error, and predicted"
    for one in found:
        error = f" ± {one.error:.1f}" if math.isfinite(one.error) else ""
        yield f"  {one.query:6} {one.measured:7.1f}{error}  {one.predicted:7.1f}"
    measured, predicted = (math.fsum(getattr(one, name) for one in found) for name in ("measured", "predicted"))
    share = f", {predicted / measured:.2f} of it" if measured > 0 else ""
    sure = [one for one in found if one.is_sure]
    near = sum(one.is_near for one in sure)
    yield f"  all    {measured:7.1f}  {predicted:7.1f}{share}; of {len(sure)} sure savings {near} within {_NEAR:.0%}"


def _error(runs: Sequence[float]) -> float:
    return statistics.stdev(runs) / math.sqrt(len(runs)) if len(runs) > 1 else math.inf
