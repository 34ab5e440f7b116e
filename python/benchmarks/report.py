"""Results as a table."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from benchmarks.measure import QueryResult, Timing


def seconds_table(results: Iterable[QueryResult], contenders: Sequence[str], title: str) -> Table:
    """One row per query: fastest run (median, spread) of each contender, then how many times faster the last one is."""
    *others, last = contenders
    table = Table(title=title, caption="seconds: fastest run (median, spread); x: how many times faster")
    table.add_column("query", no_wrap=True)
    for name in contenders:
        table.add_column(name, justify="right")
    for name in others:
        table.add_column(f"{last} vs {name}", justify="right")
    table.add_column("rows", justify="right")
    for result in results:
        table.add_row(
            result.query,
            *(_seconds(result, name) for name in contenders),
            *(_ratio(result.ratio(name, last)) for name in others),
            _rows(result),
        )
    return table


def total_seconds(results: Iterable[QueryResult], contenders: Sequence[str]) -> dict[str, float]:
    """Sum of the fastest runs over the queries that every contender finished."""
    whole = [result for result in results if all(result.timing(name) for name in contenders)]
    return {name: sum(_timing(result, name).minimum for result in whole) for name in contenders}


def _timing(result: QueryResult, name: str) -> Timing:
    timing = result.timing(name)
    if timing is None:
        raise KeyError(f"{result.query} has no timing of {name}")
    return timing


def _seconds(result: QueryResult, name: str) -> str:
    timing = result.timing(name)
    if timing is None:
        failure = next((t.failure for t in result.timings if t.contender == name), "not run")
        return f"[red]{failure[:40]}[/red]"
    return f"{timing.minimum:.2f} ({timing.median:.2f}, {timing.spread:.0%})"


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
