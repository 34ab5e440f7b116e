"""`make regret WORKLOAD=tpcds SF=1`: what the plugin's choices cost beside the best ones in hindsight.

Each query first runs without the plugin, whose rows are the right ones, and as the plugin decides it. Then its choices
are forced (`spark.aqePlugin.force`), and each other option of each join in turn with all other choices kept, in rounds
with the plugin by itself and Spark alone. The choices run twice in a round, which shows the noise. The order of a round
is shuffled anew each time. A query is done when every ratio is known to --precision, is certainly slower, or has
--most-runs rounds. Every run is a line in a file: a stopped measurement goes on where it was, with the same jar and
machine, and tries once again what failed. The report goes to standard output and beside that file; --report makes it
from what is there. Exit code 1 when rows differ or a query failed.
"""

import argparse
import sys
import time
from pathlib import Path

from aqe_plugin.events.quantities import quantity
from aqe_plugin.install.jars import carried_jars, spark_line
from benchmarks.configs import chosen_queries
from benchmarks.intervals import Precision
from benchmarks.regret_file import RegretConditions, RegretRuns
from benchmarks.regret_page import regret_page
from benchmarks.regret_rounds import Effort, measure_workload
from benchmarks.report import report_console
from benchmarks.session import DRIVER_MEMORY, SessionSettings, master_of, spark_session
from benchmarks.store import LineFile, jar_digest, machine_name, text_digest
from workloads.scale import scale_factor
from workloads.workload import WORKLOADS, Workload, workload

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "regret"


def main() -> int:
    arguments = _parser().parse_args()
    console = report_console()
    stem = f"{arguments.workload}-sf{arguments.sf:g}"
    stem += f"-{arguments.executors}-executors" if arguments.executors else ""
    chosen = workload(arguments.workload, arguments.sf)
    texts = {name: text_digest(query.spark) for name, query in chosen.queries.items()}
    runs = RegretRuns(LineFile(arguments.out / f"{stem}.jsonl", _conditions(arguments, chosen)), texts)
    if not arguments.report:
        try:
            queries = chosen_queries(arguments.queries, dict(chosen.queries))
            confs = chosen.confs()
        except (ValueError, FileNotFoundError) as wrong:
            console.print(f"[red]{wrong}[/red]")
            return 2
        with console.status("starting") as status:
            register = chosen.ensure_tables(status.update)
            settings = SessionSettings(
                "aqe-plugin regret",
                arguments.out / "events",
                arguments.driver_memory,
                arguments.executors,
                confs=confs,
            )
            with spark_session(settings, with_plugin=True) as spark:
                register(spark)
                for one in measure_workload(spark, queries, runs, _effort(arguments), status.update):
                    done = f"{quantity(len(one.joins), 'joins')}, {quantity(len(one.base), 'rounds')}"
                    console.print(f"{one.query}: {done}", highlight=False)
    measured = list(runs.load().values())
    master = master_of(arguments.executors)
    title = f"{arguments.workload}, scale {arguments.sf:g}, {master}, driver {arguments.driver_memory}"
    page = arguments.out / f"{stem}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text := regret_page(measured, title))
    print(text)
    console.print(f"runs: {runs.file.path}\nreport: {page}", highlight=False, soft_wrap=True)
    wrong_rows = [line for one in measured for line in one.wrong_rows]
    for line in wrong_rows:
        console.print(f"WRONG ROWS: {line}", style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if wrong_rows or any(one.failures for one in measured) else 0


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
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="scale factor")
    parser.add_argument("--queries", default="all", help="comma-separated names, or all")
    parser.add_argument("--least-runs", type=int, default=5, help="rounds that every ratio has")
    parser.add_argument("--most-runs", type=int, default=12, help="rounds after which a ratio stays as it is")
    parser.add_argument("--precision", type=float, default=0.03, help="half of the interval of a ratio that is known")
    parser.add_argument("--minutes", type=float, help="start no further round after this time; the next call goes on")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is cancelled")
    parser.add_argument("--driver-memory", default=DRIVER_MEMORY)
    parser.add_argument(
        "--executors",
        type=int,
        default=0,
        help="processes with a core each; 0, the default: two threads of one process",
    )
    parser.add_argument("--report", action="store_true", help="measure nothing; make the report from the runs so far")
    parser.add_argument("--out", type=Path, default=_FOLDER, help="folder of runs, report and event logs")
    return parser


def _effort(arguments: argparse.Namespace) -> Effort:
    deadline = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    precision = Precision(arguments.least_runs, arguments.most_runs, arguments.precision)
    return Effort(precision, arguments.limit, deadline)


def _conditions(arguments: argparse.Namespace, chosen: Workload) -> RegretConditions:
    import pyspark

    return RegretConditions(
        workload=arguments.workload,
        scale=arguments.sf,
        tables=text_digest(chosen.tables),
        master=master_of(arguments.executors),
        driver_memory=arguments.driver_memory,
        spark_version=pyspark.__version__,
        jar_digest=jar_digest(carried_jars().get(spark_line(pyspark.__version__))),
        machine=machine_name(),
    )


if __name__ == "__main__":
    sys.exit(main())
