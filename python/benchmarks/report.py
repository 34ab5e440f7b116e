"""Results as a table."""

import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.accounts import Account
from benchmarks.markdown import median_and_range
from benchmarks.measure import QueryResult
from benchmarks.total import with_total

_CAPTION = "x: times faster. filters: in the plugin's fastest run. rules: their share of that run's time"


def report_console() -> Console:
    """Standard output; wide enough for the table when it goes into a file."""
    return Console(width=None if sys.stdout.isatty() else 240)


def seconds_table(
    results: Iterable[QueryResult], contenders: Sequence[str], accounts: Mapping[str, Account], title: str
) -> Table:
    """One row per query, and their sum: the seconds of each contender, then how many times faster the last one is, and
    how many times as much processor time the others take.

    Args:
        accounts: what the plugin says of its runs, by run description; the last contender's fastest run is shown.
    """
    *others, last = contenders
    results = tuple(results)
    table = Table(title=title, caption=f"seconds: {_what_is_shown(results)}; {_CAPTION}")
    table.add_column("query", no_wrap=True)
    for name in contenders:
        table.add_column(name, justify="right")
    for name in others:
        table.add_column(f"{last} vs {name}", justify="right")
    for name in others:
        table.add_column(f"{last} vs {name}, processor", justify="right")
    table.add_column("filters", justify="right")
    table.add_column("rules", justify="right")
    table.add_column("rows", justify="right")
    for result in with_total(results, contenders):
        table.add_row(
            result.query,
            *(_seconds(result, name) for name in contenders),
            *(_ratio(result.ratio(name, last)) for name in others),
            *(_ratio(result.processor_ratio(name, last)) for name in others),
            *_account(result, last, accounts),
            _rows(result),
        )
    return table


def _what_is_shown(results: Iterable[QueryResult]) -> str:
    most = max((len(timing.seconds) for result in results for timing in result.timings), default=0)
    if most > 2:
        return "median (fastest to slowest run)"
    return "both runs, compared by their mean" if most == 2 else "one run"


def _account(result: QueryResult, contender: str, accounts: Mapping[str, Account]) -> tuple[str, str]:
    account = accounts.get(result.fastest_run(contender) or "")
    if account is None:
        return "-", "-"
    lost = account.planned - account.applied
    filters = f"[red]{account.applied}, {lost} lost[/red]" if lost else str(account.applied)
    return filters, f"{account.rule_share:.1%}"


def _seconds(result: QueryResult, name: str) -> str:
    timing = result.timing(name)
    if timing is None:
        failure = next((t.failure for t in result.timings if t.contender == name), "not run")
        return f"[red]{failure[:40]}[/red]"
    return median_and_range(timing.seconds, 2)


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    colour = "green" if ratio >= 1.1 else "red" if ratio < 1 / 1.1 else "default"
    return f"[{colour}]{ratio:.2f}x[/{colour}]"


def _rows(result: QueryResult) -> str:
    if result.rows_differ:
        return f"[red]differ: {', '.join(result.rows_differ)}[/red]"
    counts = {timing.row_count for timing in result.timings if timing.seconds}
    return "/".join(f"{count:,}" for count in sorted(counts)) or "-"
