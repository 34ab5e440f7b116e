"""The command ``apply``: carries a recommendation, or a value that somebody asks for, through rings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.console import Console

from aqe_plugin.cli.history_source import HistorySource, opened_history
from aqe_plugin.cli.install import HomeOption, TableOrJsonOption, TargetOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.cli.log_options import HadoopConfOption
from aqe_plugin.cli.recommend import DecisionsOption, LogsArgument, RunsOption, StepOption, print_nothing_recommended
from aqe_plugin.conf.stores.file_store import store_of
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.stores.session_store import SessionStore
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
from aqe_plugin.tuning.rollout.engine import NextStep, Rollouts
from aqe_plugin.tuning.rollout.ledger import RolloutStep, locked, rollouts_of
from aqe_plugin.tuning.rollout.rings import RingLimits


def apply(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    spark_home: HomeOption = None,
    canary_share: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.999, help="The share of all applications that try the change first, e.g. 0.1."),
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
    prints what they show and, with --yes, moves the rollout on by at most one ring. Without --canary-share the step
    after observe is all. What --set asks for goes to the canary at once, without a look at logs, and from there the
    same way.

    Example: aqe-plugin apply /tmp/spark-events --target spark-defaults.conf --canary-share 0.1 --yes
    """
    file = place_of(target, spark_home)
    if canary_share is not None and isinstance(file, SessionStore):
        raise ConfError(f"--canary-share {canary_share:g}: a running session is one application, which has no share.")
    limits = Limits(max_step=max_step, min_runs=min_runs)
    with locked(file) if yes else nullcontext():
        rollouts = Rollouts(file, rollouts_of(file), actor(why))
        step, last = engine.unfinished(rollouts), rollouts.under_way
        if step is None and asked and last is None:
            step = engine.begin_with_values(rollouts, _values_of(asked), canary_share)
            if step is None:
                say(f"Nothing to change: {store_of(file).name} has these values.")
        elif step is None:
            if last is not None:
                _require_same(last, asked, canary_share)
                if last.at_millis > rollouts.now_millis:
                    warn(in_future(last, str(journal_of(file).folder)))
            with opened_history(logs, decisions, hadoop_conf) as source:
                if last is not None:
                    trial = rollouts.trial(source.history)
                    step = engine.go_on(rollouts, trial, source.replay, limits, RingLimits(margin=margin))
                else:
                    step = _begin(rollouts, source, limits, canary_share)
        if step is None:
            return
        if step.interrupted:
            warn(f"The step to {step.step.ring.value} was interrupted before.")
        if yes:
            engine.take(rollouts, step)
    _show(step, yes and step.moves, output)


def _begin(rollouts: Rollouts, source: HistorySource, limits: Limits, canary_share: float | None) -> NextStep | None:
    with source.replay() as replay:
        thresholds = current(read_target(rollouts.file).conf.items())
        findings = recommend(source.history.runs, thresholds, limits, replay)
    chosen = best(findings, limits)
    if chosen is None:
        print_nothing_recommended(findings, limits)
    return None if chosen is None else engine.begin(rollouts, chosen, canary_share)


def _require_same(last: RolloutStep, asked: Sequence[str] | None, canary_share: float | None) -> None:
    """Refuses options that do not fit the rollout under way, whose last step is ``last``."""
    if asked:
        raise ConfError(
            f"--set {asked[0]}: rollout no. {last.number} ({last.group}) is under way, in the ring {last.ring.value}. "
            "Let it end first."
        )
    if canary_share is not None and canary_share != last.canary_share:
        has = "has no share" if last.canary_share is None else f"has the share {last.canary_share:g}"
        raise ConfError(
            f"--canary-share {canary_share:g}: rollout no. {last.number} is under way and {has}. Leave the option out."
        )


def _values_of(words: Sequence[str]) -> dict[str, str]:
    """The values of ``--set`` by key."""
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
