"""The command ``calibrate``: measures the coefficients of the price on this cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer
from rich.console import Console

from aqe_plugin.cli.settings import PATH
from aqe_plugin.conf.keys import MODE_KEY, PREFIX
from aqe_plugin.errors import ConfError, NoDataError, SessionError
from aqe_plugin.render.calibration import fit_conf_lines, fit_json, plot_fit, print_fit, require_plots
from aqe_plugin.render.formats import FindingsFormat
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.progress import rounds_progress
from aqe_plugin.render.terminal import print_json, print_lines
from aqe_plugin.tuning.calibration.experiments import (
    MEASURED,
    PLAIN,
    Experiment,
    Sizes,
    joins,
    scans_and_shuffles,
    tables,
)
from aqe_plugin.tuning.calibration.fit import Fit, fit
from aqe_plugin.tuning.calibration.samples import Effort, Runner, Timed, measure, samples_of
from aqe_plugin.tuning.groups import value_of
from aqe_plugin.tuning.history import run_of
from aqe_plugin.tuning.spark_replay import SparkReplay
from aqe_plugin.tuning.spark_session import job_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark plans sort-merge joins, and the plugin may still broadcast.
_NO_BROADCAST = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "1",
}
_ROWS_PER_SLOT = 2_000_000
_MOST_ROWS = 200_000_000
_LEAST_IDENTIFIED = 0.5
_LEAST_ROUNDS = 3
_MOST_ROUNDS = 30
# So that no partition is much longer than the others, and few tasks are launched.
_PARTITIONS_PER_SLOT = 2


def calibrate(
    minutes: Annotated[float, typer.Option(min=0, help="How long to measure; at least three rounds are made.")] = 10.0,
    rows: Annotated[
        int | None,
        typer.Option(min=10_000, help="Rows of the largest table; 2 million for each task that can run at once."),
    ] = None,
    scratch: Annotated[
        str | None,
        typer.Option(help="A folder for the tables that every executor reaches; they are removed at the end."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(readable=False, metavar=PATH, help="Draw predicted against measured times, e.g. fit.svg."),
    ] = None,
    output: Annotated[
        FindingsFormat,
        typer.Option("--format", help="A table, JSON, or lines of a conf for `aqe-plugin apply --values`."),
    ] = FindingsFormat.TABLE,
) -> None:
    """Measure on this cluster what the work of a join costs, and propose the coefficients of the price.

    Makes tables, and runs joins, shuffles, sorts and scans over them, each join forced to each of its options, in
    rounds. The cluster should do nothing else meanwhile. The session has the settings of spark-defaults.conf. Nothing
    is changed: `aqe-plugin apply --values FILE` rolls the values out.

    Example: aqe-plugin calibrate --plot fit.svg --format conf > calibrated.conf
    """
    if plot is not None:
        require_plots()
    say("Starting Spark ...")
    with job_session("aqe-plugin calibrate") as spark, _scratch(spark, scratch) as folder:
        found, refused = _calibrated(spark, folder, rows, minutes)
    if refused:
        warn(f"Left out, because Spark ran another option: {'; '.join(refused)}.")
    proposed = found.proposed(_LEAST_IDENTIFIED)
    stdout = Console(soft_wrap=output is not FindingsFormat.TABLE)
    if output is FindingsFormat.TABLE:
        print_fit(found, _LEAST_IDENTIFIED, stdout)
    elif output is FindingsFormat.JSON:
        print_json(fit_json(found, _LEAST_IDENTIFIED), stdout)
    else:
        print_lines(fit_conf_lines(proposed), stdout)
    if plot is not None:
        plot_fit(found.points, plot)
        say(f"Wrote {plot}.")
    if len(proposed) < len(MEASURED):
        say(
            f"Not proposed: {', '.join(one.key for one in found.coefficients if one not in proposed)}. Their work was "
            "too short, or too much alike other work, to be told from noise."
        )


def _calibrated(spark: SparkSession, folder: str, rows: int | None, minutes: float) -> tuple[Fit, list[str]]:
    for key, value in _NO_BROADCAST.items():
        spark.conf.set(key, value)
    slots = spark.sparkContext.defaultParallelism
    sizes = Sizes(rows or min(_MOST_ROWS, _ROWS_PER_SLOT * slots), slots, _PARTITIONS_PER_SLOT * slots)
    bytes_of = _write_tables(spark, folder, sizes)
    runner = _runner(spark)
    sizes = Sizes(sizes.probe_rows, _slots(runner, next(joins(sizes))), sizes.partitions)
    experiments = [*joins(sizes), *scans_and_shuffles(sizes, bytes_of)]
    arms = sum(len(one.arms) for one in experiments)
    begin = time.monotonic()
    effort = Effort(_LEAST_ROUNDS, _MOST_ROUNDS, begin + minutes * 60)
    say(
        f"Measuring {arms} ways to run {len(experiments)} queries, for {minutes:g} minutes or at least "
        f"{_LEAST_ROUNDS} rounds."
    )
    with rounds_progress(Console(stderr=True), arms, minutes * 60) as progress:
        measured = measure(experiments, runner, effort, progress.ran)
    conf = {PREFIX + key: spark.conf.get(PREFIX + key, "") or "" for key in MEASURED}
    thresholds = {key: value_of(conf, PREFIX + key) for key in MEASURED}
    samples, refused = samples_of(measured, thresholds, SparkReplay(spark))
    if not samples:
        raise NoDataError("No query ran as it was to run, so nothing was measured.")
    return fit(samples, thresholds), refused


def _write_tables(spark: SparkSession, folder: str, sizes: Sizes) -> dict[str, int]:
    """Writes the tables and makes a view of each; returns the bytes of their files."""
    found = {}
    for table in tables(sizes):
        say(f"Writing the table {table.name}, {table.rows:,} rows ...")
        path = f"{folder}/{table.name}"
        source = spark.range(0, table.rows, 1, 2 * sizes.partitions)
        source.selectExpr(*table.columns).write.mode("overwrite").parquet(path)
        view = spark.read.parquet(path)
        view.createOrReplaceTempView(_view(table.name))
        sized = view.selectExpr("_metadata.file_path", "_metadata.file_size AS bytes").distinct()
        found[table.name] = sized.selectExpr("sum(bytes) AS bytes").collect()[0].bytes
    return found


def _view(table: str) -> str:
    return f"aqe_plugin_calibration_{table}"


class _Views(dict[str, str]):
    """The view of each table."""

    def __missing__(self, table: str) -> str:
        return _view(table)


def _runner(spark: SparkSession) -> Runner:
    from aqe_plugin.api.decided import run_and_read

    def run(sql: str, option: str | None) -> Timed:
        frame = spark.sql(sql.format_map(_Views()))
        if option is None:
            return Timed(_wall_millis(frame), None)
        spark.conf.set(MODE_KEY, "apply")
        spark.conf.set(f"{PREFIX}force", f"*={option}")
        try:
            stories = run_and_read(spark, frame)
        finally:
            spark.conf.set(MODE_KEY, "off")
        if len(stories) != 1 or (found := run_of(stories[0])) is None:
            raise SessionError("the plugin recorded no decision for a join that it was to run.")
        return Timed(float(found.duration_millis), found)

    return run


def _wall_millis(frame: DataFrame) -> float:
    begin = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return (time.perf_counter() - begin) * 1000


def _slots(runner: Runner, first: Experiment) -> int:
    """The slots that the plugin found, when it decided a join."""
    run = runner(next(arm.sql for arm in first.arms if arm.option == PLAIN), PLAIN).run
    return max(1, run.joins[0].facts.cluster.slots) if run is not None else 1


@contextmanager
def _scratch(spark: SparkSession, asked: str | None) -> Iterator[str]:
    """A folder of its own below ``asked``, or on this machine where all tasks run here; removed afterwards."""
    if asked is None:
        master = str(spark.sparkContext.master)
        if not master.startswith("local"):
            raise ConfError(f"The session's master is {master}: give --scratch, a folder that every executor reaches.")
        with TemporaryDirectory(prefix="aqe-plugin-calibrate-") as folder:
            yield Path(folder).as_uri()
        return
    folder = f"{asked.rstrip('/')}/aqe-plugin-calibrate-{uuid4().hex[:12]}"
    try:
        yield folder
    finally:
        jvm: Any = spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(folder)
        path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).delete(path, True)
