"""Results as a Markdown table, for documents that quote them."""

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.accounts import Account
from benchmarks.measure import QueryResult
from benchmarks.total import with_total


def markdown_table(results: Sequence[QueryResult], contenders: Sequence[str], accounts: Mapping[str, Account]) -> str:
    """One line per query, and their sum: median (fastest to slowest run) of each contender, then how many times faster
    the last one is, and how many times as much processor time the others take.

    Args:
        accounts: what the plugin says of its runs, by run description; the last contender's fastest run is quoted.
    """
    *others, last = contenders
    compared = [f"{last} vs {name}" for name in others]
    head = ["query", *contenders, *compared, *(f"{pair}, processor" for pair in compared), "filters", "rules"]
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    lines += [[result.query, *_cells(result, contenders, accounts)] for result in with_total(results, contenders)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def median_and_range(values: Sequence[float], digits: int) -> str:
    """The median, with the least and the greatest value in brackets; one or two values, which have no median worth the
    name, as they are.

    Raises:
        statistics.StatisticsError: there is no value.
    """
    if len(values) in (1, 2):
        return " and ".join(f"{value:.{digits}f}" for value in values)
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _cells(result: QueryResult, contenders: Sequence[str], accounts: Mapping[str, Account]) -> list[str]:
    *others, last = contenders
    account = accounts.get(result.fastest_run(last) or "")
    account_cells = ["-", "-"] if account is None else [str(account.applied), f"{account.rule_share:.1%}"]
    ratios = [_ratio(result.ratio(name, last)) for name in others]
    ratios += [_ratio(result.processor_ratio(name, last)) for name in others]
    return [*(_seconds(result, name) for name in contenders), *ratios, *account_cells]


def _seconds(result: QueryResult, contender: str) -> str:
    timing = result.timing(contender)
    if timing is None:
        return "-"
    return median_and_range(timing.seconds, 2)


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
