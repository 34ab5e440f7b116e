"""The command ``calibrate``: measures the coefficients of the price on this cluster."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.cli.settings import path_option
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.render.calibration import fit_conf_lines, fit_json, plot_fit, print_fit, require_plots
from aqe_plugin.render.formats import FindingsFormat
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console
from aqe_plugin.tuning.calibration.samples import Effort
from aqe_plugin.tuning.calibration.scratch import scratch_folder
from aqe_plugin.tuning.spark_session import job_session

_LEAST_IDENTIFIED = 0.5
_LEAST_ROUNDS = 3
_MOST_ROUNDS = 30
_MOST_BUSY_SHARE = 0.25


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
    plot: Annotated[Path | None, path_option("Draw predicted against measured times, e.g. fit.svg.")] = None,
    output: Annotated[
        FindingsFormat,
        typer.Option("--format", help="A table, JSON, or lines of a conf for `aqe-plugin rollout --values`."),
    ] = "table",
) -> None:
    """Measure on this cluster what the work of a join costs, and propose the coefficients of the price.

    Makes tables, and runs joins, shuffles, sorts and scans over them, each join forced to each of its options, in
    rounds. The cluster should do nothing else meanwhile. The session has the settings of spark-defaults.conf. Nothing
    is changed: `aqe-plugin rollout --values FILE` rolls the values out.

    Example: aqe-plugin calibrate --format conf > calibrated.conf
    """
    if plot is not None:
        require_plots()
    # Takes PySpark with it, which nothing else of the command line needs.
    from aqe_plugin.api.calibration import Calibration

    if (busy := _busy_share()) > _MOST_BUSY_SHARE:
        warn(
            f"The load of this machine was {busy:.0%} of its cores in the last minute. If tasks run here and other "
            "programs go on, the measured times will be too long: stop these, wait a minute, and calibrate again."
        )
    say("Starting Spark ...")
    with job_session("aqe-plugin calibrate") as spark, scratch_folder(spark, scratch) as folder:
        calibration = Calibration(spark, folder, rows, say)
        many = f"{calibration.arms} ways to run {calibration.queries} queries"
        say(f"Measuring {many}, for {minutes:g} minutes or at least {_LEAST_ROUNDS} rounds.")
        began = time.monotonic()

        def say_round(turn: int) -> None:
            say(f"{f'Round {turn}' if turn else 'Warm-up'}, after {time.monotonic() - began:.0f} s")

        effort = Effort(_LEAST_ROUNDS, _MOST_ROUNDS, began + minutes * 60)
        found, refused = calibration.fit(effort, say_round)
    if refused:
        warn(f"Left out, because Spark ran another option: {'; '.join(refused)}.")
    proposed = found.proposed(_LEAST_IDENTIFIED)
    stdout = stdout_console(soft_wrap=output != "table")
    if output == "table":
        print_fit(found, _LEAST_IDENTIFIED, stdout)
    elif output == "json":
        print_json(fit_json(found, _LEAST_IDENTIFIED), stdout)
    else:
        print_lines(fit_conf_lines(proposed), stdout)
    if plot is not None:
        plot_fit(found.points, plot)
        say(f"Wrote {plot}.")
    if len(proposed) < len(found.coefficients):
        left_out = (one.key.removeprefix(PREFIX) for one in found.coefficients if one not in proposed)
        say(
            f"Not proposed: {', '.join(left_out)}. Their work was too short, or too much alike other work, to be told "
            "from noise."
        )


def _busy_share() -> float:
    """Threads that ran or waited in the last minute, on average, per core; 0 where the system does not say.

    In a container, the threads may be those of the whole machine.
    """
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0
