"""`python -m benchmarks --sf 10 --queries q93,q50 --configs default,forced,plugin`: times them side by side.

One Spark session, `local[2]`, default broadcast threshold; runs are interleaved, rows are compared within each engine,
up to scale 1 with DuckDB's too, and where engines differ is told. Every finished query is appended to the result file,
and a second call with the same conditions goes on with those that are missing.
Exit code 1 when rows differ or a query failed.
"""

import argparse
import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from aqe_plugin.install.jars import carried_jars, spark_line
from aqe_plugin.render.terminal import print_lines
from benchmarks.accounts import AccountFile, accounts_of, logged_queries
from benchmarks.bill import bill_lines, bills
from benchmarks.choices import changed_choices
from benchmarks.comet import comet_session
from benchmarks.configs import CONTENDERS, Contender, Tables, chosen_queries, contenders
from benchmarks.fallen_back import fallen_back, operators
from benchmarks.markdown import markdown_table
from benchmarks.measure import Plan, QueryResult, measure
from benchmarks.plot import plot_ratios, plot_seconds
from benchmarks.report import report_console, seconds_table
from benchmarks.session import CORES, DRIVER_MEMORY, SessionSettings, spark_session
from benchmarks.store import Conditions, ResultFile, jar_digest, machine_name
from benchmarks.total import total_lines
from workloads.scale import scale_factor
from workloads.tpcds import REDUCTIONS, Query, ensure_dataset, ensure_reduced, semi_joined
from workloads.workload import WORKLOADS, Workload, workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Above this scale, DuckDB's answers take longer than the timings.
_LARGEST_CHECKED_SCALE = 1.0
# More queries than fit as bars are shown as ratios.
_MOST_BAR_GROUPS = 12
_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench"
# The workload that the oracles' tables are made from.
_FILES = "tpcds"


def main() -> int:
    arguments = _parser().parse_args()
    console = report_console()
    tables = workload(arguments.workload, arguments.sf)
    try:
        chosen = chosen_queries(arguments.queries, dict(tables.queries))
        compared = contenders(name.strip() for name in arguments.configs.split(","))
        confs = dict(tables.confs())
        if any(contender.needs_comet for contender in compared):
            confs |= comet_session(arguments.driver_memory)
    except (ValueError, FileNotFoundError) as wrong:
        console.print(f"[red]{wrong}[/red]")
        return 2
    if arguments.workload != _FILES and any(contender.tables is not Tables.WHOLE for contender in compared):
        console.print(f"[red]The oracles' tables are those of {_FILES}: leave the oracles out, or --workload.[/red]")
        return 2
    conditions = _conditions(arguments, compared)
    name = f"{arguments.workload}-sf{arguments.sf:g}"
    file = ResultFile(arguments.out / f"{name}.jsonl", conditions)
    events = arguments.out / "events" / time.strftime("%Y%m%d-%H%M%S")
    settings = SessionSettings("aqe-plugin bench", events, arguments.driver_memory, confs=confs)
    results = _results(arguments, settings, file, tables, chosen, compared, console)
    accounts = AccountFile(arguments.out / f"{name}.accounts.json", conditions.jar_digest)
    recorded = list(logged_queries(events)) if events.exists() else []
    accounts.add(accounts_of(recorded))
    names = [contender.name for contender in compared]
    conduct = f"{arguments.runs} runs, driver {arguments.driver_memory}"
    title = f"{WORKLOADS[arguments.workload][0]}, scale {arguments.sf:g}, local[{CORES}], {conduct}"
    console.print(seconds_table(results, names, accounts.load(), title))
    print_lines((line for contender in names for line in changed_choices(recorded, contender)), console)
    without, plugin = ("comet", "comet-plugin") if "comet-plugin" in names else ("default", "plugin")
    print_lines(bill_lines(bills(results, without, plugin, accounts.load())), console)
    if "comet-plugin" in names:
        print_lines(fallen_back(operators(events), (result.query for result in results)), console)
    made = _pages(results, names, accounts, title, arguments.out / name)
    print_lines(total_lines(results, names), console)
    print_lines(
        (f"{one.query}: other rows in another engine: {one.engines_differ}" for one in results if one.engines_differ),
        console,
    )
    for what, where in (("results", file.path), *made, ("event logs", events if events.exists() else events.parent)):
        console.print(f"{what}: {where}", highlight=False, soft_wrap=True)
    return 1 if any(r.rows_differ or any(t.failure for t in r.timings) for r in results) else 0


def _pages(
    results: list[QueryResult], names: list[str], accounts: AccountFile, title: str, target: Path
) -> list[tuple[str, Path]]:
    """The table in Markdown, and the gains as a picture."""
    table = target.with_name(f"{target.name}.md")
    table.write_text(f"{title}\n\n{markdown_table(results, names, accounts.load())}")
    if len(names) == 1:
        return [("table", table)]
    if len(results) <= _MOST_BAR_GROUPS:
        plots = plot_seconds(results, names, title, target.with_name(f"{target.name}-seconds"))
    else:
        first, last = names[0], names[-1]
        plots = plot_ratios(results, first, last, f"{title}: {last}", target.with_name(f"{target.name}-ratios"))
    return [("table", table), *(("plot", plot) for plot in plots)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--workload",
        default=_FILES,
        choices=sorted(WORKLOADS),
        help="; ".join(f"{name}: {says}" for name, (says, _) in sorted(WORKLOADS.items())),
    )
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="scale factor")
    parser.add_argument("--queries", default="all", help="comma-separated names such as q93,q14b, or all")
    parser.add_argument(
        "--configs",
        default="default,forced,plugin",
        help=f"{', '.join(CONTENDERS)}; the last one is compared with the rest",
    )
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each config")
    parser.add_argument("--warm-ups", type=int, default=1, help="runs before them that do not count")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which a run is cancelled")
    parser.add_argument("--driver-memory", default=DRIVER_MEMORY)
    parser.add_argument("--again", action="store_true", help="repeat measurements that are in the result file")
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of results and event logs")
    return parser


def _conditions(arguments: argparse.Namespace, compared: list[Contender]) -> Conditions:
    import pyspark

    jar = carried_jars().get(spark_line(pyspark.__version__)) if any(c.needs_plugin for c in compared) else None
    return Conditions(
        scale=arguments.sf,
        contenders=tuple(contender.name for contender in compared),
        runs=arguments.runs,
        warm_ups=arguments.warm_ups,
        cores=CORES,
        driver_memory=arguments.driver_memory,
        spark_version=pyspark.__version__,
        jar_digest=jar_digest(jar),
        machine=machine_name(),
    )


def _results(
    arguments: argparse.Namespace,
    settings: SessionSettings,
    file: ResultFile,
    workload: Workload,
    chosen: list[Query],
    compared: list[Contender],
    console: Console,
) -> list[QueryResult]:
    known = {} if arguments.again else file.load()
    missing = [query for query in chosen if query.name not in known]
    if known:
        console.print(f"{len(chosen) - len(missing)} of {len(chosen)} queries are already in {file.path}")
    if missing:
        with console.status("starting") as status:
            register = workload.ensure_tables(status.update)
            reference = workload.reference if arguments.sf <= _LARGEST_CHECKED_SCALE else None
            plan = Plan(arguments.runs, arguments.warm_ups, arguments.limit)
            with spark_session(settings, with_plugin=any(c.needs_plugin for c in compared)) as spark:
                register(spark)
                tables = functools.partial(_tables_in_place, spark, arguments.sf, _printed(console))
                for query in missing:
                    able = [c for c in compared if c.tables is Tables.WHOLE or query.name in REDUCTIONS]
                    known[query.name] = result = measure(spark, query, able, plan, status.update, reference, tables)
                    file.append(result)
                    console.print(_line(result))
    return [known[query.name] for query in chosen]


@contextlib.contextmanager
def _tables_in_place(
    spark: "SparkSession", scale: float, report: Callable[[str], None], query: Query, contender: Contender
) -> Iterator[None]:
    """The query's reduced or semi-joined tables instead of the whole ones, for a contender that reads those."""
    if contender.tables is Tables.WHOLE:
        yield
        return
    dataset = ensure_dataset(scale, report)
    reduced = ensure_reduced(dataset, query.name, report)
    for table, folder in reduced.items():
        kept = spark.read.parquet(str(folder))
        if contender.tables is Tables.SEMI_JOINED:
            kept = semi_joined(spark.read.parquet(str(dataset.folder / table)), kept, table)
        kept.createOrReplaceTempView(table)
    try:
        yield
    finally:
        dataset.register(spark, reduced)


def _printed(console: Console) -> Callable[[str], None]:
    """Prints a line, which stays: reducing tables takes minutes, and only terminals show a status."""
    return lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True)


def _line(result: QueryResult) -> str:
    parts = [
        f"{t.contender} {t.median:.2f} s" if t.seconds else f"{t.contender} failed: {t.failure}" for t in result.timings
    ]
    differ = f"  ROWS DIFFER: {result.rows_differ}" if result.rows_differ else ""
    return f"{result.query}: {', '.join(parts)}{differ}"


if __name__ == "__main__":
    sys.exit(main())
