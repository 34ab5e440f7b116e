"""The command ``apply``: carries a recommendation, or a value that somebody asks for, through rings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from aqe_plugin.cli.canary_options import CanaryOptions
from aqe_plugin.cli.history_source import HistorySource, opened_history
from aqe_plugin.cli.install import HomeOption, TableOrJsonOption, TargetOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.cli.log_options import HadoopConfOption
from aqe_plugin.cli.recommend import DecisionsOption, LogsArgument, RunsOption, StepOption, print_nothing_recommended
from aqe_plugin.cli.settings import PATH
from aqe_plugin.conf.stores.locate import read_target, store_of
from aqe_plugin.errors import ConfError
from aqe_plugin.install.journal import journal_of
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.tuning import in_future, print_rollout_step, print_rollout_step_json
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits, best
from aqe_plugin.tuning.rollout.engine import (
    CanaryChoice,
    NextStep,
    Rollouts,
    begin,
    begin_with_values,
    go_on,
    take,
    unfinished,
)
from aqe_plugin.tuning.rollout.ledger import locked, rollouts_of
from aqe_plugin.tuning.rollout.rings import RingLimits

__all__ = ["add_apply_command"]


def add_apply_command(app: typer.Typer) -> None:
    """Adds the command to ``app``."""
    app.command()(apply)


def apply(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    spark_home: HomeOption = None,
    canary: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar=PATH,
            help="The conf file that a part of the applications reads, e.g. that of one queue.",
        ),
    ] = None,
    canary_share: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.999, help="Instead: the share of all applications that try it, e.g. 0.1."),
    ] = None,
    canary_logs: Annotated[
        list[str] | None,
        typer.Option("--canary-log", metavar=PATH, help="Event logs of those applications; repeatable."),
    ] = None,
    canary_decisions: Annotated[
        str | None, typer.Option(help="With --decisions: the tables that were made of the canary's logs.")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="Share of elapsed time that a change may cost.")
    ] = 0.05,
    max_step: StepOption = 2.0,
    min_runs: RunsOption = 5,
    asked: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Try a value of your own, not a recommended one; repeatable."),
    ] = None,
    yes: YesOption = False,
    output: TableOrJsonOption = TableOrJson.TABLE,
    why: WhyOption = "",
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Take the next step of a rollout: observe, then the canary, then all; back at once if the change does harm.

    Run it again and again, e.g. daily: each time it reads the logs, or the tables that `pipeline ingest` made of them,
    prints what they show and, with --yes, moves the rollout on by at most one ring. Without --canary or --canary-share
    the step after observe is all. What --set asks for goes to the canary at once, and from there the same way.

    Example: aqe-plugin apply /tmp/spark-events --target spark-defaults.conf --canary-share 0.1 --yes
    """
    file = place_of(target, spark_home)
    options = CanaryOptions(canary, canary_share, canary_logs or (), canary_decisions)
    tried_by = options.checked(file)
    limits = Limits(max_step=max_step, min_runs=min_runs)
    with locked(file) if yes else nullcontext():
        rollouts = Rollouts(file, rollouts_of(file), os.environ, actor(why))
        step = unfinished(rollouts)
        if step is None:
            last = rollouts.under_way
            if last is not None:
                if asked:
                    raise ConfError(
                        f"--set {asked[0]}: rollout no. {last.number} ({last.group}) is under way, in the ring "
                        f"{last.ring.value}. Let it end first."
                    )
                options.require_same(tried_by, last)
                if last.at_millis > rollouts.now_millis:
                    _print_warning(in_future(last, str(journal_of(file).folder)))
            with opened_history(
                logs, decisions, hadoop_conf, canary_logs=canary_logs, canary_tables=canary_decisions
            ) as source:
                if last is not None:
                    trial = rollouts.trial(source.everywhere, source.canary())
                    step = go_on(rollouts, trial, source.replay, limits, RingLimits(margin=margin))
                elif asked:
                    step = _begin_with_values(rollouts, asked, tried_by)
                else:
                    step = _begin(rollouts, source, limits, tried_by)
        if step is None:
            return
        if step.interrupted:
            _print_warning(f"The step to {step.step.ring.value} was interrupted before.")
        if yes:
            take(rollouts, step)
    _show(step, yes and step.moves, output)


def _begin(rollouts: Rollouts, source: HistorySource, limits: Limits, canary: CanaryChoice) -> NextStep | None:
    with source.replay() as replay:
        thresholds = current(read_target(rollouts.file).conf.items())
        findings = recommend(source.everywhere.runs, thresholds, limits, replay)
    chosen = best(findings, limits)
    if chosen is None:
        print_nothing_recommended(findings, limits)
    return None if chosen is None else begin(rollouts, chosen, canary)


def _begin_with_values(rollouts: Rollouts, asked: Sequence[str], canary: CanaryChoice) -> NextStep | None:
    step = begin_with_values(rollouts, _values_of(asked), canary)
    if step is None:
        Console(stderr=True, soft_wrap=True).print(
            f"Nothing to change: {store_of(rollouts.file).name} has these values.", markup=False
        )
    return step


def _values_of(words: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not key or not value:
            raise ConfError(f"--set {word}: write KEY=VALUE, e.g. --set spark.aqePlugin.filter.maxPassRate=0.5.")
        if key in values:
            raise ConfError(f"--set {key}: given twice, as {values[key]} and as {value}.")
        values[key] = value
    return values


def _show(next_step: NextStep, done: bool, output: TableOrJson) -> None:
    stderr = Console(stderr=True, soft_wrap=True)
    if output is TableOrJson.JSON:
        print_rollout_step_json(next_step.step, next_step.before, done, Console(soft_wrap=True))
    else:
        print_rollout_step(next_step.step, next_step.before, Console())
    if done:
        stderr.print("Done. Run the same again when there are new logs; aqe-plugin history shows every step.")
    elif not next_step.moves:
        stderr.print("The rollout stays where it is.")
    else:
        stderr.print("Nothing was written; --yes makes the change.")


def _print_warning(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text(text, style="yellow"))
