"""The first queries of an application, in a JVM of its own each time, without and with the plugin in turn.

`python -m benchmarks.overhead.first plugin` is one such application; it prints their processor seconds.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.configs import CONTENDERS, Contender
from benchmarks.measure import attempt
from benchmarks.overhead.queries import AGAIN, OFF, SPARK
from benchmarks.overhead.slower import ratio_of
from benchmarks.process import processor_seconds
from benchmarks.session import SessionSettings, spark_session
from benchmarks.turns import turned
from workloads.scale import scale_factor
from workloads.workload import workload

QUERIES = ("q3", "q7", "q36", "q42", "q53", "q73", "q94", "q96", "q91", "q19")
_WITHOUT_PLUGIN = (SPARK.name, AGAIN.name)


def started(starts: int, contenders: Sequence[Contender], scale: float, report: Callable[[str], None]) -> Iterator[str]:
    """Lines: that many starts of each kind of application, in turn; Spark's is without the plugin."""
    everyone = (SPARK, *contenders)
    taken: dict[str, list[float]] = {contender.name: [] for contender in everyone}
    for turn in range(starts):
        for contender in turned(everyone, turn):
            report(f"first queries · {contender.name} · start {turn + 1}")
            taken[contender.name].append(_in_a_process(contender.name, scale))
    spark = taken[SPARK.name]
    yield f"first {len(QUERIES)} queries, {starts} starts: Spark {sum(spark) / starts:.2f} processor seconds"
    for contender in contenders:
        ratio = ratio_of(taken[contender.name], spark, 1.02)
        yield f"{contender.name}: {ratio.middle:.3f} of that ({ratio.low:.3f} to {ratio.high:.3f})"


def _in_a_process(contender: str, scale: float) -> float:
    command = [sys.executable, "-m", "benchmarks.overhead.first", contender, "--sf", f"{scale:g}"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(ran.stdout.split()[-1])


def main() -> None:
    """One application."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.first", description=__doc__)
    parser.add_argument("contender", choices=[*_WITHOUT_PLUGIN, OFF.name, *CONTENDERS])
    parser.add_argument("--sf", type=scale_factor, default=1.0, help="TPC-DS scale factor")
    arguments = parser.parse_args()
    tables = workload("tpcds", arguments.sf)
    register = tables.ensure_tables(lambda _: None)
    contender = CONTENDERS.get(arguments.contender, SPARK)
    has_plugin = arguments.contender not in _WITHOUT_PLUGIN
    with tempfile.TemporaryDirectory() as events:
        settings = SessionSettings("aqe-plugin bench-overhead", Path(events))
        with spark_session(settings, with_plugin=has_plugin) as spark:
            register(spark)
            before = processor_seconds(spark.sparkContext)
            for name in QUERIES:
                run = attempt(spark, tables.queries[name], contender, 0, limit_seconds=300, description=name)
                if run.failure:
                    raise RuntimeError(f"{name} failed: {run.failure}")
            print(processor_seconds(spark.sparkContext) - before)


if __name__ == "__main__":
    main()
