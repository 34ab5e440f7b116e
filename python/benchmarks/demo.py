"""`make demo`: real TPC-DS queries under Spark, Spark's own Bloom filter and the plugin, with every decision explained.

Exit code 1 when rows differ, a query failed, or a filter was planned and not applied.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aqe_plugin.events.quantities import count, quantity
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.render.terminal import print_lines
from benchmarks.accounts import Account, fastest_runs, logged_queries
from benchmarks.configs import chosen_queries, contenders
from benchmarks.measure import Plan, QueryResult, measure
from benchmarks.plot import plot_seconds
from benchmarks.report import report_console
from benchmarks.session import CORES, DRIVER_MEMORY, SessionSettings, spark_session
from benchmarks.total import total_seconds
from workloads.scale import scale_factor
from workloads.tpcds import Dataset, Query, ensure_dataset, queries

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "demo"
_QUERIES = "q93,q50,q25,q29,q17"
_CONFIGS = ("default", "forced", "plugin")
_HEADS = ("query", *_CONFIGS, "gain", "rows removed", "why")
_MOST_CHARACTERS = 64
_QUALIFIER = re.compile(r"\b\w+\.(?=\w)")
# Their methods sort neither side.
_HASHED = ("broadcast", "shuffled_hash")


@dataclass(frozen=True)
class Places:
    """Where the demo leaves its files."""

    folder: Path

    @property
    def events(self) -> Path:
        return self.folder / "events"

    @property
    def results(self) -> Path:
        return self.folder / "results.json"

    @property
    def decisions(self) -> Path:
        return self.folder / "decisions.html"

    @property
    def plot(self) -> Path:
        return self.folder / "seconds"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=3.0, help="TPC-DS scale factor")
    parser.add_argument("--queries", default=_QUERIES, help="comma-separated names")
    parser.add_argument("--runs", type=int, default=1, help="runs of each contender after one that warms up")
    parser.add_argument("--out", type=Path, default=_FOLDER)
    arguments = parser.parse_args()
    console = report_console()
    places = Places(arguments.out)
    try:
        chosen = chosen_queries(arguments.queries, queries())
    except ValueError as wrong:
        console.print(f"[red]{wrong}[/red]")
        return 2
    tables = tuple(dict.fromkeys(table for query in chosen for table in query.tables))
    dataset = ensure_dataset(arguments.sf, tables=tables)
    shutil.rmtree(places.events, ignore_errors=True)
    counted = "one run" if arguments.runs == 1 else f"median of {arguments.runs} runs"
    title = f"TPC-DS scale {arguments.sf:g}, local[{CORES}], {counted} after a warm-up"
    print_lines([f"Running {len(chosen)} queries: {title} ..."], console)
    results = _timings(dataset, chosen, Plan(runs=arguments.runs), places, console)
    recorded = list(logged_queries(places.events))
    plots = plot_seconds(results, _CONFIGS, title, places.plot)
    _write_decisions(places)
    console.print()
    print_lines(summary(results, recorded, title), console)
    print_lines(files(places, plots), console)
    return 1 if any(faults(results, recorded)) else 0


def _timings(dataset: Dataset, chosen: list[Query], plan: Plan, places: Places, console: Console) -> list[QueryResult]:
    compared = contenders(_CONFIGS)
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    settings = SessionSettings("aqe-plugin demo", places.events, DRIVER_MEMORY)
    with progress, spark_session(settings, with_plugin=True) as spark:
        task = progress.add_task("starting", total=len(chosen) * len(compared) * (plan.runs + plan.warm_ups))

        def report(line: str) -> None:
            progress.update(task, description=line, advance=1)

        dataset.register(spark)
        results = [measure(spark, query, compared, plan, report) for query in chosen]
    places.results.write_text(json.dumps([asdict(result) for result in results], indent=1))
    return results


def summary(results: Sequence[QueryResult], recorded: Sequence[QueryStory], title: str) -> list[str]:
    """What the demo shows: a line for each query, their sums, and whether all have the same rows."""
    fastest = {story.description.partition(" ")[0]: story for story in fastest_runs(recorded, results, "plugin")}
    totals = total_seconds(results, _CONFIGS)
    rows = [
        _HEADS,
        *(_row(result, fastest.get(result.query)) for result in results),
        ("all", *(f"{totals[name]:.2f}" for name in _CONFIGS), _times(totals["default"], totals["plugin"]), "", ""),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    counted = sum(max(timing.row_count for timing in result.timings) for result in results)
    found = list(faults(results, recorded)) or [f"All three gave the same {counted:,} rows."]
    return [f"{title}; seconds, and how many times as fast as by default the plugin is", *lines, *found]


def faults(results: Sequence[QueryResult], recorded: Sequence[QueryStory]) -> Iterator[str]:
    """What must not be: other rows, failed queries, filters that a plan had and a scan did not."""
    if failed := [result.query for result in results if any(timing.failure for timing in result.timings)]:
        yield f"FAILED: {', '.join(failed)}"
    if differing := [result.query for result in results if result.rows_differ]:
        yield f"OTHER ROWS: {', '.join(differing)}"
    accounts = [account for account in map(Account.of, recorded) if account is not None]
    if lost := sum(account.planned - account.applied for account in accounts):
        yield f"FILTERS PLANNED AND NOT APPLIED: {lost}"


def _row(result: QueryResult, story: QueryStory | None) -> tuple[str, ...]:
    timings = [result.timing(name) for name in _CONFIGS]
    seconds = (f"{timing.median:.2f}" if timing else "failed" for timing in timings)
    default, plugin = (0.0 if timing is None else timing.median for timing in (timings[0], timings[-1]))
    outcomes = [] if story is None else [one for join in story.joins for one in join.outcomes]
    removed, checked = (sum(getattr(one, name) for one in outcomes) for name in ("rows_removed", "rows_in"))
    rows = f"{count(removed)} of {count(checked)}"
    return (result.query, *seconds, _times(default, plugin), rows, "" if story is None else _why(story))


def _why(story: QueryStory) -> str:
    """The filter that removed most rows, and how many joins got another method than Spark's."""
    parts = []
    filters = [(join, one) for join in story.joins for one in join.outcomes if one.rows_in]
    if filters:
        join, most = max(filters, key=lambda found: found[1].rows_removed)
        share = quantity(most.rows_out / most.rows_in, "ratio")
        keys = _QUALIFIER.sub("", join.decision.facts.keys[0])
        parts.append(f"{share} of {most.table} match {keys}")
    decisions = [join.decision for join in story.joins]
    if hashed := sum(one.choice in _HASHED and one.choice != one.facts.spark_strategy for one in decisions):
        parts.append(f"{hashed} hashed")
    return ", ".join(parts)[:_MOST_CHARACTERS]


def _times(slow: float, fast: float) -> str:
    return f"{slow / fast:.1f}x" if slow and fast else "-"


def _write_decisions(places: Places) -> None:
    command = [sys.executable, "-m", "aqe_plugin", "explain", str(places.events), "--html", str(places.decisions)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def files(places: Places, plots: Sequence[Path]) -> list[str]:
    """What the demo leaves, and what to do next."""
    named = (("every decision, with its reason", places.decisions), ("plot", plots[0]), ("event log", places.events))
    command_line = Path(sys.executable).with_name("aqe-plugin")
    return [
        *(f"{what + ':':33}{where}" for what, where in (*named, ("seconds of each run", places.results))),
        f"Next, on a query of yours: {command_line} compare QUERY.sql",
    ]


if __name__ == "__main__":
    sys.exit(main())
