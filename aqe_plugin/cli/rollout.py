"""The command ``rollout``: carries a recommendation, or a value that somebody asks for, through rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from aqe_plugin.cli.history_source import HistorySource, opened_history
from aqe_plugin.cli.install import TargetOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.cli.log_options import HadoopConfOption
from aqe_plugin.cli.recommend import (
    DecisionsOption,
    LogsArgument,
    RunsOption,
    StepOption,
    print_nothing_recommended,
    say_held_back,
)
from aqe_plugin.cli.settings import path_option
from aqe_plugin.conf.credentials import without_secret_value
from aqe_plugin.conf.keys import MODE_KEY, PLUGINS_KEY, PREFIX, sentence
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.syntax.java_properties import entries_of
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import ConfError, ConflictError, NoDataError, TargetError
from aqe_plugin.install.plan import times_listed
from aqe_plugin.render.formats import StepFormat
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.terminal import print_json, print_lines, stdout_console
from aqe_plugin.render.tuning import in_future, print_rollout_step, rollout_step_json
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.recommendation import Limits, best
from aqe_plugin.tuning.rollout import beginnings, next_steps
from aqe_plugin.tuning.rollout.attempts import findings_after, sure_enough
from aqe_plugin.tuning.rollout.file_changes import require_no_other_canary
from aqe_plugin.tuning.rollout.ledger import ASKED, RolloutStep, damaged_lines, locked
from aqe_plugin.tuning.rollout.manual_edits import same_value
from aqe_plugin.tuning.rollout.rings import Ring, RingLimits, is_over
from aqe_plugin.tuning.rollout.rollouts import NextStep, Rollouts, read_rollouts
from aqe_plugin.tuning.unseen import choosing


def rollout(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
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
    values: Annotated[
        Path | None, path_option("Try the values in a file of conf lines, as `calibrate` prints them.")
    ] = None,
    yes: YesOption = False,
    output: Annotated[
        StepFormat, typer.Option("--format", help="A table, JSON, or a patch of the object, for a repository.")
    ] = "table",
    why: WhyOption = "",
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Take the next step of a rollout: observe, then the canary, then all; back at once if the change does harm.

    Run it again and again, e.g. daily: each time it reads the logs, or the tables that `pipeline ingest` made of them,
    prints what they show and, with --yes, moves the rollout on by at most one ring. Without --canary-share the step
    after observe is all. What --set or --values asks for goes to the canary at once, without a look at logs, and from
    there the same way. With --format patch, --yes keeps what the logs show and leaves the object to its repository.

    Example: aqe-plugin rollout /tmp/spark-events --target spark-defaults.conf --canary-share 0.1 --yes
    """
    file = place_of(target)
    limits = Limits(max_step=max_step, min_runs=min_runs)
    asked_values = _values_of(asked or (), values)
    with locked(file) if yes else nullcontext():
        rollouts = read_rollouts(file, actor(why))
        _warn_of_damage(file)
        step, last = next_steps.unfinished(rollouts), rollouts.under_way
        if last is not None and _is_of(last, asked_values):
            # The words that began it are those of each later look.
            asked_values = {}
        if rollouts.steps and rollouts.steps[-1].at_millis > rollouts.now_millis:
            warn(in_future(rollouts.steps[-1], str(file.journal_folder)))
        ended = _ended_first(rollouts, step) if asked_values else None
        if ended is not None:
            if yes:
                next_steps.take(rollouts, ended)
                rollouts = read_rollouts(file, actor(why))
            say(f"Rollout no. {ended.step.number} is over: {ended.step.why}.")
            step, last = None, None
        if step is None and last is None:
            require_no_other_canary(file, {})
        if step is None and asked_values and last is None:
            step = beginnings.begin_with_values(rollouts, asked_values, canary_share)
            if step is None:
                say(f"Nothing to change: {file.name} has these values.")
        elif step is None and not asked_values and _is_stopped(file):
            say(
                f"{file.name}: {MODE_KEY} is off, so no step is taken. "
                "What switched it off switches it on: aqe-plugin rollback, if aqe-plugin did."
            )
        elif step is None:
            if last is not None:
                _require_same(last, asked_values, canary_share, file.name)
            with opened_history(logs, decisions, hadoop_conf) as source:
                if last is not None:
                    trial = rollouts.trial(source.history)
                    step = next_steps.go_on(rollouts, trial, source.replay, limits, RingLimits(margin=margin))
                else:
                    step = _begin(rollouts, source, limits, canary_share)
        if step is None:
            return
        if step.interrupted:
            warn(f"The step to {step.step.ring.value} was interrupted before.")
        patch = _patch(step) if output == "patch" else []
        left = step.changes_target and output == "patch"
        if yes:
            next_steps.take(rollouts, step, leaves_target=left)
    if step.step.ring in (Ring.CANARY, Ring.ALL):
        _warn_without_plugin(file)
    if output == "patch":
        print_lines(patch, stdout_console(soft_wrap=True))
    else:
        _show(step, yes and step.moves, output)
    _say_what_was_done(step, yes, left)


def _ended_first(rollouts: Rollouts, step: NextStep | None) -> NextStep | None:
    """The step that ends a rollout in whose place another one is asked for; ``step`` is what comes before any other."""
    if step is not None and is_over(step.step.ring):
        return step
    return next_steps.never_in_force(rollouts)


def _begin(rollouts: Rollouts, source: HistorySource, limits: Limits, canary_share: float | None) -> NextStep | None:
    with source.replay() as replay:
        thresholds = current(read_target(rollouts.file).conf.items())
        sure = sure_enough(rollouts.steps, limits)
        findings = findings_after(rollouts.steps, choosing(source.history.runs), thresholds, sure, replay)
    say_held_back(findings)
    chosen = best(findings, sure)
    if chosen is None:
        print_nothing_recommended(findings, sure)
    return None if chosen is None else beginnings.begin(rollouts, chosen, canary_share, source.history.until_millis)


def _is_stopped(file: ConfStore) -> bool:
    """Whether somebody stopped the plugin for all: logs without decisions show neither harm nor gain."""
    return (read_target(file).conf.get(MODE_KEY) or "").strip().lower() == "off"


def _warn_without_plugin(file: ConfStore) -> None:
    if not times_listed(read_target(file).conf):
        warn(
            f"{file.name}: {PLUGINS_KEY} does not name the plugin, so a rollout changes nothing but for applications "
            "that load it themselves. aqe-plugin install does that."
        )


def _warn_of_damage(file: ConfStore) -> None:
    damaged = damaged_lines(file)
    if damaged:
        lines = ", ".join(map(str, damaged))
        warn(
            f"{file.journal_folder / 'rollouts.jsonl'}: left out, because they are cut off or damaged: lines "
            f"{lines}. A rollout that is under way may seem to be in an earlier ring, or to be none: restore the file "
            "from a backup before the next step."
        )


def _is_of(last: RolloutStep, asked: Mapping[str, str]) -> bool:
    """Whether the rollout whose last step is ``last`` is the one of the values ``asked``."""
    tried = {change.key: change.new for change in last.changes}
    same = tried.keys() == asked.keys() and all(same_value(key, asked[key], tried[key]) for key in asked)
    return last.group == ASKED and same


def _require_same(last: RolloutStep, asked: Mapping[str, str], canary_share: float | None, target: str) -> None:
    """Refuses options that do not fit the rollout under way, whose last step is ``last``."""
    if asked:
        key, value = next(iter(asked.items()))
        changed = ", ".join(f"{change.key} = {change.new}" for change in last.changes)
        raise ConflictError(
            f"{key}={value}: rollout no. {last.number} ({changed}) is under way, in the ring {last.ring.value}. "
            f"Let it end first, or take it back: aqe-plugin rollback --target {target}."
        )
    if canary_share is not None and canary_share != last.canary_share:
        has = "has no share" if last.canary_share is None else f"has the share {last.canary_share:g}"
        raise ConflictError(
            f"--canary-share {canary_share:g}: rollout no. {last.number} is under way and {has}. Leave the option out."
        )


def _values_of(words: Sequence[str], file: Path | None) -> dict[str, str]:
    """The values of ``--set``, and of the conf lines in ``file``, by key."""
    given: list[tuple[str, str, str]] = []
    if file is not None:
        # As of any conf, the last of several lines of a key counts.
        entries = {entry.key: entry for entry in entries_of(_text_of(file), f"--values {file}")}
        given = [(f"--values {file}, line {entry.line}", entry.key, entry.value) for entry in entries.values()]
        if not given:
            raise NoDataError(f"--values {file}: no line with a key and a value in it, so nothing is proposed.")
    for word in words:
        key, _, value = (part.strip() for part in word.partition("="))
        given.append(("--set", key, value))
    values: dict[str, str] = {}
    for place, key, value in given:
        shown = without_secret_value(f"{key} = {value}")
        if not key or not value:
            raise ConfError(f"{place}: {shown}: no value; write KEY=VALUE, as {PREFIX}filter.maxPassRate=0.5.")
        if key in values:
            raise ConfError(f"{place}: {key} is given twice, as {values[key]} and as {value}.")
        if problem := beginnings.why_not_tried(key, value):
            raise ConfError(sentence(f"{place}: {shown}: {problem}"))
        values[key] = value
    return values


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise TargetError(f"--values {file}: the file cannot be read ({why}).") from error


def _show(next_step: NextStep, done: bool, output: StepFormat) -> None:
    if output == "json":
        print_json(rollout_step_json(next_step.step, next_step.before, done), stdout_console(soft_wrap=True))
    else:
        proposal, changes = next_step.proposal, next_step.step.changes
        if next_step.step.ring is Ring.ROLLED_BACK:
            changes = () if proposal is None else proposal.changes
        print_rollout_step(next_step.step, next_step.before, changes, stdout_console())


def _say_what_was_done(next_step: NextStep, yes: bool, left: bool) -> None:
    """``left``: the step that ``yes`` asks for is left to a repository."""
    proposal = next_step.proposal
    if yes and left:
        say("What the logs show is kept. Once the repository has deployed the patch, the next rollout --yes goes on.")
    elif yes and next_step.moves:
        done_so = "Done." if proposal is None or proposal.nothing_to_do else f"Done: {proposal.store.effect}"
        over = is_over(next_step.step.ring)
        again = "The rollout is over" if over else "Run rollout with the event logs, daily"
        say(f"{done_so} {again}; aqe-plugin history shows every step.")
    elif not next_step.moves:
        say("The rollout stays where it is.")
    else:
        say("Nothing was written; --yes makes the change.")


def _patch(next_step: NextStep) -> list[str]:
    """Before anything is kept, because not every target has one."""
    proposal = next_step.proposal
    return [] if proposal is None else proposal.store.patch(proposal.before, proposal.after).splitlines()
