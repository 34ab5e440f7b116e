"""`make regret WORKLOAD=tpcds SF=1`: what the plugin's choices cost beside the best ones in hindsight.

Each query first runs as the plugin decides it. Then each other option of each of its joins is forced in turn, with
all other choices kept (`spark.aqePlugin.force`), interleaved with the plugin's own run, with Spark alone and with the
plugin's choices forced, which shows the noise. A query is done when every ratio is known to --precision, is certainly
slower, or has --most-runs rounds. Every run is a line in a file: a stopped measurement goes on where it was, with the
same jar and machine. The report goes to standard output and beside that file; --report makes it from what is there.
Exit code 1 when rows differ or a query failed.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqe_plugin.install.jars import carried_jars, spark_line
from benchmarks.arms import (
    PLUGIN,
    Decided,
    Join,
    arm_name,
    contenders_of,
    decided_joins,
    join_of,
    passed_of,
    priced,
    refusal,
)
from benchmarks.configs import Contender, chosen_queries
from benchmarks.hindsight import Measured
from benchmarks.intervals import Precision
from benchmarks.measure import Run, interleaved, run_description
from benchmarks.regret_page import regret_page
from benchmarks.report import report_console
from benchmarks.session import CORES, DRIVER_MEMORY, SessionSettings, spark_session
from benchmarks.store import LineFile, jar_digest, machine_name
from workloads.rows import Row, difference
from workloads.workload import WORKLOADS, workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workloads.tpcds.queries import Query

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "regret"
_LEARNING = (-2, -1)
_WARM_UP = -1


@dataclass(frozen=True)
class RegretConditions:
    """The conditions that all runs of a file share."""

    workload: str
    scale: float
    cores: int
    driver_memory: str
    spark_version: str
    jar_digest: str
    machine: str


@dataclass(frozen=True)
class RegretRuns:
    """The measurement of one workload on disk: a line for the joins of a query, and one for each run."""

    file: LineFile

    def load(self) -> dict[str, Measured]:
        """What is known of each query."""
        found: dict[str, Measured] = {}
        for line in self.file.load():
            query = line["query"]
            if "joins" in line:
                found[query] = Measured(query, [Join(**{**one, "why": tuple(one["why"])}) for one in line["joins"]])
            elif query in found:
                found[query].add(line)
        return found

    def learn(self, query: str, joins: list[Join]) -> Measured:
        self.file.append({"query": query, "joins": [asdict(join) for join in joins]})
        return Measured(query, joins)

    def add(self, measured: Measured, run: Run, **more: Any) -> None:
        line = {"query": measured.query, "arm": run.contender, "turn": run.turn, "seconds": run.seconds}
        line |= {"failure": run.failure} if run.failure else {}
        line |= {name: value for name, value in more.items() if value}
        self.file.append(line)
        measured.add(line)


@dataclass
class Progress:
    """Shows what runs, and how long the rest takes if it goes on as before."""

    show: Callable[[str], None]
    queries: int
    done: int = 0
    spent_seconds: float = 0.0

    def of_query(self, left_seconds: float, line: str) -> None:
        """One run of a query that takes at most `left_seconds` more."""
        others = "" if self.done == 0 else f", about {_span(left_seconds + self._others_seconds)} for all"
        self.show(f"query {self.done + 1} of {self.queries} · {line} · at most {_span(left_seconds)} left{others}")

    def query_is_done(self, seconds: float) -> None:
        self.done += 1
        self.spent_seconds += seconds

    @property
    def _others_seconds(self) -> float:
        return (self.queries - self.done - 1) * self.spent_seconds / self.done


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        limit_seconds: a run that takes longer is cancelled.
        deadline: no round starts after this time of `time.monotonic`; none for no limit.
    """

    precision: Precision
    limit_seconds: float
    deadline: float | None

    @property
    def is_over(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline


def main() -> int:
    arguments = _parser().parse_args()
    console = report_console()
    stem = f"{arguments.workload}-sf{arguments.sf:g}"
    runs = RegretRuns(LineFile(arguments.out / f"{stem}.jsonl", _conditions(arguments)))
    if not arguments.report:
        with console.status("starting") as status:
            chosen = workload(arguments.workload, arguments.sf, report=status.update)
            try:
                queries = chosen_queries(arguments.queries, dict(chosen.queries))
            except ValueError as wrong:
                console.print(f"[red]{wrong}[/red]")
                return 2
            settings = SessionSettings("aqe-plugin regret", arguments.out / "events", arguments.driver_memory)
            with spark_session(settings, with_plugin=True) as spark:
                chosen.register(spark)
                for one in measure_workload(spark, queries, runs, _effort(arguments), status.update):
                    rounds = len(one.base)
                    console.print(f"{one.query}: {len(one.joins)} joins, {rounds} rounds", highlight=False)
    measured = list(runs.load().values())
    title = f"{arguments.workload}, scale {arguments.sf:g}, local[{CORES}], driver {arguments.driver_memory}"
    page = arguments.out / f"{stem}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text := regret_page(measured, title))
    print(text)
    console.print(f"runs: {runs.file.path}\nreport: {page}", highlight=False, soft_wrap=True)
    return 1 if any(one.problems for one in measured) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regret", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workload",
        default="tpcds",
        choices=sorted(WORKLOADS),
        help="; ".join(f"{name}: {says}" for name, (says, _) in sorted(WORKLOADS.items())),
    )
    parser.add_argument("--sf", type=float, default=1.0, help="scale factor")
    parser.add_argument("--queries", default="all", help="comma-separated names, or all")
    parser.add_argument("--least-runs", type=int, default=5, help="rounds that every ratio has")
    parser.add_argument("--most-runs", type=int, default=12, help="rounds after which a ratio stays as it is")
    parser.add_argument("--precision", type=float, default=0.03, help="half of the interval of a ratio that is known")
    parser.add_argument("--minutes", type=float, help="start no further round after this time; the next call goes on")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is cancelled")
    parser.add_argument("--driver-memory", default=DRIVER_MEMORY)
    parser.add_argument("--report", action="store_true", help="measure nothing; make the report from the runs so far")
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of runs, report and event logs")
    return parser


def _effort(arguments: argparse.Namespace) -> Effort:
    deadline = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    precision = Precision(arguments.least_runs, arguments.most_runs, arguments.precision)
    return Effort(precision, arguments.limit, deadline)


def _conditions(arguments: argparse.Namespace) -> RegretConditions:
    import pyspark

    return RegretConditions(
        workload=arguments.workload,
        scale=arguments.sf,
        cores=CORES,
        driver_memory=arguments.driver_memory,
        spark_version=pyspark.__version__,
        jar_digest=jar_digest(carried_jars().get(spark_line(pyspark.__version__))),
        machine=machine_name(),
    )


def measure_workload(
    spark: "SparkSession", queries: Sequence["Query"], runs: RegretRuns, effort: Effort, show: Callable[[str], None]
) -> Iterator[Measured]:
    """Measures what is missing of each query; a query whose measurement is over, for now or for good, is returned."""
    progress = Progress(show, len(queries))
    known = runs.load()
    for query in queries:
        if effort.is_over:
            return
        begin = time.monotonic()
        measured = known.get(query.name) or _learned(spark, query, runs, effort, show)
        if PLUGIN.name not in measured.failures:
            _measure_query(spark, query, measured, runs, effort, progress=progress)
        progress.query_is_done(time.monotonic() - begin)
        yield measured


def _learned(
    spark: "SparkSession", query: "Query", runs: RegretRuns, effort: Effort, show: Callable[[str], None]
) -> Measured:
    """Runs the query as the plugin decides it; the later run's decisions count, because footers are cached by then."""
    made = list(interleaved(spark, query, [PLUGIN], _LEARNING, limit_seconds=effort.limit_seconds, report=show))
    failed = next((run for run in made if run.failure), None)
    decided = {} if failed else decided_joins(spark, run_description(query.name, PLUGIN.name, 0))
    measured = runs.learn(
        query.name, [join_of(one.story.decision, priced(spark, one.facts)) for one in decided.values()]
    )
    runs.add(measured, failed or made[-1], passed=_passed(decided))
    return measured


def _passed(decided: Mapping[str, Decided]) -> dict[str, tuple[int, int]]:
    found = ((join_id, passed_of(one.story)) for join_id, one in decided.items())
    return {join_id: (passed.rows_in, passed.rows_out) for join_id, passed in found if passed is not None}


def _measure_query(
    spark: "SparkSession", query: "Query", measured: Measured, runs: RegretRuns, effort: Effort, *, progress: Progress
) -> None:
    contenders = contenders_of(measured.joins)
    forced = {arm_name(join, option): (join, option) for join in measured.joins for option in join.alternatives}
    answer: list[Row] | None = None

    def active() -> list[str]:
        others = [one.name for one in contenders if one != PLUGIN]
        return [name for name in others if measured.is_active(name, effort.precision)]

    def wants(contender: Contender, _: int) -> bool:
        return contender == PLUGIN or measured.is_active(contender.name, effort.precision)

    def turns() -> Iterator[int]:
        if active():
            yield _WARM_UP
        for turn in itertools.count(measured.next_turn):
            if not active() or effort.is_over:
                return
            yield turn

    def report(line: str) -> None:
        progress.of_query(measured.seconds_left([PLUGIN.name, *active()], effort.precision), line)

    for run in interleaved(
        spark, query, contenders, turns(), limit_seconds=effort.limit_seconds, report=report, wants=wants
    ):
        more: dict[str, Any] = {}
        if not run.failure:
            answer = run.rows if answer is None else answer
            delta = difference(answer, run.rows)
            more["differs"] = delta.describe("the first run", run.contender, shown=3) if delta else ""
            if run.turn == _WARM_UP and run.contender in forced:
                join, option = forced[run.contender]
                decided = decided_joins(spark, run_description(query.name, run.contender, 0))
                more["passed"] = _passed(decided)
                found = decided.get(join.join_id)
                more["refused"] = refusal(option, None if found is None else found.story.decision)
        runs.add(measured, run, **more)


if __name__ == "__main__":
    sys.exit(main())
