"""The command ``apply``: carries a recommendation, or a value that somebody asks for, through rings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext

from rich.console import Console

from aqe_plugin.cli.apply_options import (
    CanaryDecisionsOption,
    CanaryLogsOption,
    CanaryOption,
    CanaryOptions,
    CanaryShareOption,
    MarginOption,
    SetOption,
    values_of,
)
from aqe_plugin.cli.history_source import HistorySource, opened_history
from aqe_plugin.cli.install import HomeOption, TableOrJsonOption, TargetOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.cli.log_options import HadoopConfOption
from aqe_plugin.cli.recommend import DecisionsOption, LogsArgument, RunsOption, StepOption, print_nothing_recommended
from aqe_plugin.conf.stores.file_store import store_of
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.errors import ConfError
from aqe_plugin.install.journal import journal_of
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.terminal import print_json
from aqe_plugin.render.tuning import in_future, print_rollout_step, rollout_step_json
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits, best
from aqe_plugin.tuning.rollout import engine
from aqe_plugin.tuning.rollout.engine import CanaryChoice, NextStep, Rollouts
from aqe_plugin.tuning.rollout.ledger import locked, rollouts_of
from aqe_plugin.tuning.rollout.rings import RingLimits


def apply(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    spark_home: HomeOption = None,
    canary: CanaryOption = None,
    canary_share: CanaryShareOption = None,
    canary_logs: CanaryLogsOption = None,
    canary_decisions: CanaryDecisionsOption = None,
    margin: MarginOption = 0.05,
    max_step: StepOption = 2.0,
    min_runs: RunsOption = 5,
    asked: SetOption = None,
    yes: YesOption = False,
    output: TableOrJsonOption = TableOrJson.TABLE,
    why: WhyOption = "",
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Take the next step of a rollout: observe, then the canary, then all; back at once if the change does harm.

    Run it again and again, e.g. daily: each time it reads the logs, or the tables that `pipeline ingest` made of them,
    prints what they show and, with --yes, moves the rollout on by at most one ring. Without --canary or --canary-share
    the step after observe is all. What --set asks for goes to the canary at once,
    without a look at logs, and from there the same way.

    Example: aqe-plugin apply /tmp/spark-events --target spark-defaults.conf --canary-share 0.1 --yes
    """
    file = place_of(target, spark_home)
    options = CanaryOptions(canary, canary_share, canary_logs or (), canary_decisions)
    tried_by = options.checked(file)
    limits = Limits(max_step=max_step, min_runs=min_runs)
    with locked(file) if yes else nullcontext():
        rollouts = Rollouts(file, rollouts_of(file), os.environ, actor(why))
        step = engine.unfinished(rollouts)
        if step is None and asked and rollouts.under_way is None:
            step = _begin_with_values(rollouts, asked, tried_by)
        elif step is None:
            last = rollouts.under_way
            if last is not None:
                if asked:
                    raise ConfError(
                        f"--set {asked[0]}: rollout no. {last.number} ({last.group}) is under way, in the ring "
                        f"{last.ring.value}. Let it end first."
                    )
                options.require_same(tried_by, last)
                if last.at_millis > rollouts.now_millis:
                    warn(in_future(last, str(journal_of(file).folder)))
            with opened_history(
                logs, decisions, hadoop_conf, canary_logs=canary_logs, canary_tables=canary_decisions
            ) as source:
                if last is not None:
                    trial = rollouts.trial(source.everywhere, source.canary())
                    step = engine.go_on(rollouts, trial, source.replay, limits, RingLimits(margin=margin))
                else:
                    step = _begin(rollouts, source, limits, tried_by)
        if step is None:
            return
        if step.interrupted:
            warn(f"The step to {step.step.ring.value} was interrupted before.")
        if yes:
            engine.take(rollouts, step)
    _show(step, yes and step.moves, output)


def _begin(rollouts: Rollouts, source: HistorySource, limits: Limits, canary: CanaryChoice) -> NextStep | None:
    with source.replay() as replay:
        thresholds = current(read_target(rollouts.file).conf.items())
        findings = recommend(source.everywhere.runs, thresholds, limits, replay)
    chosen = best(findings, limits)
    if chosen is None:
        print_nothing_recommended(findings, limits)
    return None if chosen is None else engine.begin(rollouts, chosen, canary)


def _begin_with_values(rollouts: Rollouts, asked: Sequence[str], canary: CanaryChoice) -> NextStep | None:
    step = engine.begin_with_values(rollouts, values_of(asked), canary)
    if step is None:
        say(f"Nothing to change: {store_of(rollouts.file).name} has these values.")
    return step


def _show(next_step: NextStep, done: bool, output: TableOrJson) -> None:
    if output is TableOrJson.JSON:
        print_json(rollout_step_json(next_step.step, next_step.before, done), Console(soft_wrap=True))
    else:
        print_rollout_step(next_step.step, next_step.before, Console())
    if done:
        say("Done. Run the same again when there are new logs; aqe-plugin history shows every step.")
    elif not next_step.moves:
        say("The rollout stays where it is.")
    else:
        say("Nothing was written; --yes makes the change.")
