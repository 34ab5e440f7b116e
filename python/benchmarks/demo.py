"""`make demo`: real TPC-DS queries under Spark, Spark's own Bloom filter and the plugin, with every decision explained.

Exit code 1 when rows differ, a query failed, or a filter was planned and not applied.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.rule import Rule

from aqe_plugin.events.queries import QueryStory
from aqe_plugin.render.queries import plain_lines, query_table
from aqe_plugin.render.terminal import print_lines
from benchmarks.accounts import Account, accounts_of, fastest_runs, logged_queries
from benchmarks.choices import changed_choices
from benchmarks.configs import chosen_queries, contenders
from benchmarks.measure import Plan, QueryResult, measure
from benchmarks.plot import plot_seconds
from benchmarks.report import decisions_table, report_console, seconds_table, total_seconds
from benchmarks.scrape import scrape_exporter
from benchmarks.session import CORES, DRIVER_MEMORY, SessionSettings, spark_session
from workloads.scale import scale_factor
from workloads.tpcds import Dataset, Query, ensure_dataset, queries

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "demo"
_QUERIES = "q93,q50,q40,q25,q29"
# How long the first query's end may take to reach the event log.
_EVENTS_SECONDS = 10.0
_CONFIGS = ("default", "forced", "plugin")


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
        return self.folder / "decisions.txt"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.txt"

    @property
    def plot(self) -> Path:
        return self.folder / "seconds"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=2.0, help="TPC-DS scale factor")
    parser.add_argument("--queries", default=_QUERIES, help="comma-separated names")
    parser.add_argument("--runs", type=int, default=2, help="runs of each contender, whose median counts")
    parser.add_argument("--out", type=Path, default=_FOLDER)
    arguments = parser.parse_args()
    console = report_console()
    places = Places(arguments.out)
    try:
        chosen = chosen_queries(arguments.queries, queries())
    except ValueError as wrong:
        console.print(f"[red]{wrong}[/red]")
        return 2

    console.print(Rule("1 of 5  TPC-DS data", align="left"))
    tables = tuple(dict.fromkeys(table for query in chosen for table in query.tables))
    dataset = _data(arguments.sf, tables, console)
    console.print(Rule("2 of 5  the same queries under three contenders, in turn", align="left"))
    shutil.rmtree(places.events, ignore_errors=True)
    results = _timings(dataset, chosen, Plan(runs=arguments.runs, warm_ups=0), places, console)
    counted = f"{arguments.runs} runs" if arguments.runs > 1 else "one run"
    title = f"TPC-DS scale {arguments.sf:g}, local[{CORES}], {counted}"
    recorded = list(logged_queries(places.events))
    console.print(seconds_table(results, _CONFIGS, accounts_of(recorded), title))
    totals = total_seconds(results, _CONFIGS)
    console.print("Sum of the medians: " + ", ".join(f"{name} {total:.1f} s" for name, total in totals.items()))
    plots = plot_seconds(results, _CONFIGS, title, places.plot)

    console.print(Rule("3 of 5  the decision about each join, from the event log", align="left"))
    shown = fastest_runs(recorded, results, "plugin")
    _show_decisions(shown, places, console)
    print_lines(changed_choices(recorded, "plugin"), console)
    console.print(Rule("4 of 5  one scrape of the exporter", align="left"))
    _show_scrape(places, console)
    console.print(Rule("5 of 5  where to find everything", align="left"))
    _show_places(places, plots, dataset, console)
    return _verdict(results, recorded, console)


def _data(scale: float, tables: tuple[str, ...], console: Console) -> Dataset:
    if not console.is_terminal:
        # Only terminals show a status, and the data takes minutes the first time.
        console.print(f"TPC-DS at scale {scale:g}, generated unless it exists ...")
    with console.status(f"TPC-DS at scale {scale:g}") as status:
        dataset = ensure_dataset(scale, status.update, tables)
    rows = sum(dataset.rows[table] for table in tables)
    console.print(f"{len(tables)} tables, {rows:,} rows in {dataset.folder}")
    return dataset


def _timings(dataset: Dataset, chosen: list[Query], plan: Plan, places: Places, console: Console) -> list[QueryResult]:
    compared = contenders(_CONFIGS)
    for contender in compared:
        console.print(f"  [bold]{contender.name}[/bold]: {contender.says}")
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
    results = []
    with progress, spark_session(settings, with_plugin=True) as spark:
        task = progress.add_task("starting", total=len(chosen) * len(compared) * (plan.runs + plan.warm_ups))

        def report(line: str) -> None:
            progress.update(task, description=line, advance=1)

        dataset.register(spark)
        for query in chosen:
            results.append(measure(spark, query, compared, plan, report))
            progress.console.print(_line(results[-1]))
            if len(results) == 1:
                _show_first(results[0], places, progress.console)
    places.results.write_text(json.dumps([asdict(result) for result in results], indent=1))
    return results


def _show_first(result: QueryResult, places: Places, console: Console) -> None:
    """The first query's decisions, as soon as the running application's log has the query's end."""
    until = time.monotonic() + _EVENTS_SECONDS
    while True:
        runs = fastest_runs(logged_queries(places.events), [result], "plugin")
        shown = [story for story in runs if story.ended is not None]
        if shown or time.monotonic() > until:
            break
        time.sleep(0.2)
    for story in shown[:1]:
        if console.is_terminal:
            console.print(query_table(story))
        else:
            print_lines(plain_lines(story), console)


def _line(result: QueryResult) -> str:
    parts = [f"{t.contender} {t.median:.2f} s" if t.seconds else f"{t.contender}: {t.failure}" for t in result.timings]
    rows = "[red]other rows[/red]" if result.rows_differ else "[green]same rows[/green]"
    return f"  {result.query}: {', '.join(parts)}, {rows}"


def _show_decisions(queries: list[QueryStory], places: Places, console: Console) -> None:
    console.print(decisions_table(queries))
    explained = subprocess.run(
        [sys.executable, "-m", "aqe_plugin", "explain", str(places.events), "--why"],
        env={**os.environ, "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=True,
    )
    places.decisions.write_text(explained.stdout)
    console.print(f"All of them in full: {places.decisions}", soft_wrap=True)


def _show_scrape(places: Places, console: Console) -> None:
    text = scrape_exporter(places.events)
    places.metrics.write_text(text)
    samples = [line for line in text.splitlines() if not line.startswith("#") and "_bucket" not in line]
    console.print("\n".join(samples[:25]), highlight=False, markup=False)
    if len(samples) > 25:
        console.print(f"... {len(samples) - 25} more samples: {places.metrics}")


def _show_places(places: Places, plots: list[Path], dataset: Dataset, console: Console) -> None:
    for what, where in (
        ("seconds", places.results),
        *(("plot", plot) for plot in plots),
        ("decisions", places.decisions),
        ("metrics", places.metrics),
        ("event log", places.events),
        ("data", dataset.folder),
    ):
        console.print(f"  {what:10} {where}", highlight=False, soft_wrap=True)
    console.print("\nTry next:")
    command_line = Path(sys.executable).with_name("aqe-plugin")
    for command, what in (
        (f"{command_line} explain {places.events}", "every query's joins, as a table or --format json"),
        (f"{command_line} run {places.events} --no-checkpoint --port 9417", "the same for Prometheus"),
        (f"{command_line} check --run", "whether this machine is ready for your own job"),
        ("make bench SF=10 QUERIES=q93,q50", "other queries and scales"),
        ("docs/reference/configuration.md", "every conf key"),
    ):
        console.print(f"  {command}\n      {what}", highlight=False, soft_wrap=True)


def _verdict(results: list[QueryResult], queries: list[QueryStory], console: Console) -> int:
    failed = [result.query for result in results if any(timing.failure for timing in result.timings)]
    differing = [result.query for result in results if result.rows_differ]
    accounts = [account for account in map(Account.of, queries) if account is not None]
    lost = sum(account.planned - account.applied for account in accounts)
    applied = sum(account.applied for account in accounts)
    console.print(f"\nQueries: {len(results)}, run {len(accounts)} times with the plugin.")
    console.print(f"Filters in all these runs: {applied} applied, {lost} planned and not applied.")
    if failed or differing or lost:
        console.print(f"[red]failed: {failed or 'none'}; other rows: {differing or 'none'}[/red]")
        return 1
    counts = {result.query: max(timing.row_count for timing in result.timings) for result in results}
    console.print(f"[green]Same rows under all three: {sum(counts.values()):,} rows.[/green]")
    if empty := [query for query, count in counts.items() if count == 0]:
        console.print(f"Without a row at this scale, so that none was compared: {', '.join(empty)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
