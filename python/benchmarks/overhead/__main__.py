"""`make bench-overhead`: what the plugin costs where it can win little, in processor time of the whole JVM.

Spark takes part twice, so the column `Spark / Spark` shows by how much equal plans differ here. Parts:

  queries  queries of a workload, warm; one is slower where its ratio is above the limit by a t-test of the rounds'
           logarithms with Holm's correction, and again in a second measurement
  first    the first ten queries of an application, by starts
  small    queries over small tables, one after the other, in blocks that take turns
  clients  the same from four clients, at half of the rate that Spark alone sustains
  plans    planning alone: 100 joins, 2,000 columns, 100,000 partitions
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.configs import CONTENDERS, Contender, chosen_queries
from benchmarks.measure import Plan, QueryResult
from benchmarks.overhead import first, plans, queries, small
from benchmarks.session import SessionSettings, spark_session
from workloads.scale import scale_factor
from workloads.workload import WORKLOADS, workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLDER = Path(__file__).resolve().parents[3] / ".build" / "bench-overhead"
_PARTS = ("queries", "first", "small", "clients", "plans")


def main() -> int:
    """0 if no query of the workload is surely slower or has failed, and its rows are the same."""
    arguments = _parser().parse_args()
    parts = arguments.parts.split(",")
    for part in parts:
        if part not in _PARTS:
            print(f"--parts has {part}; there are: {', '.join(_PARTS)}", file=sys.stderr)
            return 2
    named = {
        one.name: one for one in (queries.PLUGIN, CONTENDERS["observe"], *([queries.OFF] if parts == ["first"] else []))
    }
    unknown = [name for name in arguments.contenders.split(",") if name not in named]
    if unknown:
        print(f"--contenders has {unknown[0]}; there are: {', '.join(named)}", file=sys.stderr)
        return 2
    contenders = (*(named[name] for name in arguments.contenders.split(",")), queries.AGAIN)
    if "first" in parts:
        _print(first.started(arguments.starts, contenders, arguments.sf, _report))
    slower = 0
    if set(parts) - {"first"}:
        settings = SessionSettings("aqe-plugin bench-overhead", arguments.out / "events")
        with spark_session(settings, with_plugin=True) as spark:
            if "small" in parts or "clients" in parts:
                small.register(spark, arguments.out / "small")
            if "small" in parts:
                _print(_small(spark, contenders, arguments.small))
            if "clients" in parts:
                _print(_clients(spark, contenders, arguments.seconds))
            if "plans" in parts:
                kinds = plans.register(spark, arguments.out / "plans", arguments.partitions)
                _print(plans.planned(spark, kinds, contenders, arguments.runs, _report))
            if "queries" in parts:
                slower = _queries(spark, contenders, arguments)
    return slower


def _queries(spark: "SparkSession", contenders: tuple[Contender, ...], arguments: argparse.Namespace) -> int:
    tables = workload(arguments.workload, arguments.sf)
    chosen = chosen_queries(arguments.queries, dict(tables.queries))
    tables.ensure_tables(_report)(spark)

    def measured(names: "list[str] | None" = None) -> list[QueryResult]:
        wanted = [query for query in chosen if names is None or query.name in names]
        results = []
        for result in queries.measured(spark, wanted, contenders, Plan(arguments.runs, arguments.warm_ups), _report):
            results.append(result)
            ratios = (result.processor_ratio(one.name, queries.SPARK.name) or 0 for one in contenders)
            _report(f"{result.query}: {' '.join(f'{ratio:.3f}' for ratio in ratios)}")
        return results

    results = measured()
    found = {
        contender.name: queries.slower_than(results, contender, arguments.limit, lambda names: measured(list(names)))
        for contender in contenders
    }
    _print(queries.lines(results, contenders, found, arguments.limit))
    wrong = [f"rows differ: {result.query}" for result in results if result.rows_differ] + queries.failures(results)
    _print(iter(wrong))
    return int(bool(wrong or any(found[one.name].confirmed for one in contenders if one != queries.AGAIN)))


def _small(spark: "SparkSession", contenders: tuple[Contender, ...], count: int) -> Iterator[str]:
    yield "| small tables, Spark p50 | contender | p50 / Spark | p95 / Spark | processor / Spark |"
    yield "|---|---|---:|---:|---:|"
    for joins in small.JOINS:
        yield from small.block_lines(joins, small.blocks(spark, joins, contenders, count, _report))


def _clients(spark: "SparkSession", contenders: tuple[Contender, ...], seconds: float) -> Iterator[str]:
    rate = small.sustained(spark, joins=1) / 2
    yield from small.load_lines(small.loads(spark, 1, contenders, rate, seconds, _report), rate)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line, flush=True)


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overhead", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(_PARTS), help="some of the parts")
    parser.add_argument(
        "--contenders",
        default="plugin",
        help="what is held against Spark: plugin, observe; also off, if first is the only part",
    )
    parser.add_argument("--workload", default="tpcds", choices=sorted(WORKLOADS), help="of the part queries")
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="scale factor of queries and first")
    parser.add_argument("--queries", default="all", help="comma-separated names such as q93,q14b, or all")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of queries and plans")
    parser.add_argument("--warm-ups", type=int, default=2, help="runs of queries before them that do not count")
    parser.add_argument(
        "--limit", type=float, default=1.02, help="the ratio of processor times above which one is slower"
    )
    parser.add_argument("--starts", type=int, default=30, help="applications of first, of each contender")
    parser.add_argument("--small", type=int, default=1000, help="queries of small, of each kind and contender")
    parser.add_argument("--seconds", type=float, default=120.0, help="of clients, for each contender")
    parser.add_argument("--partitions", type=int, default=100_000, help="of plans")
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of data and event logs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
