"""The commands ``aqe-plugin pipeline ...``: event logs of a fleet into tables, sums and an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqe_plugin.cli.install import TargetOption, place_of
from aqe_plugin.cli.settings import path_option
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.events.quantities import quantity
from aqe_plugin.render.messages import say, warn
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.spark_session import job_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE_SCRIPT = Path(__file__).with_name("pipeline_script.py")

LogsArgument = Annotated[
    list[str],
    typer.Argument(
        help="Event logs: files, folders of rolling logs, or folders of logs; any path that Spark can read."
    ),
]
TablesOption = Annotated[
    str,
    typer.Option("--tables", help="The folder of the tables; any path that Spark can write to.", show_default=False),
]


pipeline = typer.Typer(
    name="pipeline",
    no_args_is_help=True,
    help="Turn a fleet's event logs into tables, daily aggregates and a page, by Spark.",
    epilog="Each command is also a job for spark-submit: spark-submit --jars $(aqe-plugin path jar) "
    "$(aqe-plugin path script) ingest LOGS --tables TABLES",
)


@pipeline.command()
def ingest(logs: LogsArgument, tables: TablesOption) -> None:
    """Read what is new in event logs into the tables; run it as often as you like.

    Logs that grew, rolled, were renamed or compacted since are read again; each application attempt is in the tables
    once. A run that is killed changes nothing.

    Example: aqe-plugin pipeline ingest hdfs:///spark-logs --tables hdfs:///aqe-plugin
    """
    from aqe_plugin.pipeline.ingest import ingest as job

    with _session("ingest", tables, few_rows=True) as spark:
        done = job(spark, logs, tables, say)
    if done.run is None:
        if done.found:
            say("Nothing new.")
        else:
            written = "Spark writes them to spark.eventLog.dir when spark.eventLog.enabled is true."
            warn(f"No event log in {', '.join(logs)}. {written}")
        return
    say(
        f"Read {done.files:,} files ({quantity(done.bytes_read, 'bytes')}) of {done.attempts:,} application attempts. "
        f"Run {done.run}: {done.decisions:,} decisions, {done.limits:,} limits, {done.predicates:,} predicates, "
        f"{done.queries:,} queries.",
    )
    if done.rejected:
        warn(f"{done.rejected:,} lines could not be used; the table `rejected` has them, and why.")


@pipeline.command()
def report(
    tables: TablesOption,
    target: TargetOption = None,
    output: Annotated[Path, path_option("The HTML file to write.", "--output", "-o")] = Path("aqe-plugin.html"),
) -> None:
    """Aggregate the tables by day, and write one HTML page from that: what the plugin saved, and what it lost.

    Time, waits, pass rates, savings and regret of queries and joins become tables too. Prices are the plugin's own, at
    the thresholds of the conf that --target names, else at the defaults. The page loads nothing and runs nothing.
    """
    from aqe_plugin.pipeline.aggregate import aggregate
    from aqe_plugin.pipeline.report import report as write_page

    thresholds = current({} if target is None else read_target(place_of(target)).conf.items())
    with _session("report", tables) as spark:
        done = aggregate(spark, tables, thresholds)
        rows = ", ".join(f"{count:,} in {table}" for table, count in done.rows.items())
        say(f"Run {done.run}: rows {rows}.")
        write_page(spark, tables, output)
    say(f"Wrote {output}.")


@pipeline.command()
def compact(
    tables: TablesOption,
    keep_hours: Annotated[
        float,
        typer.Option(
            min=0, help="Files that no run counts are removed when older than this; longer than any job runs."
        ),
    ] = 24.0,
) -> None:
    """Merge the small runs since the last time into one, and remove what killed and replaced runs left."""
    from aqe_plugin.pipeline.compact import compact as job

    with _session("compact", tables) as spark:
        merged, removed = job(spark, tables, keep_hours)
    say(f"{merged} runs became one; {removed} folders removed.")


@contextmanager
def _session(job: str, tables: str, *, few_rows: bool = False) -> Iterator[SparkSession]:
    from aqe_plugin.pipeline.warehouse import refusals_as_errors

    say("Starting Spark ...")
    with job_session(f"aqe-plugin pipeline {job}", few_rows=few_rows) as spark, refusals_as_errors(tables):
        yield spark
