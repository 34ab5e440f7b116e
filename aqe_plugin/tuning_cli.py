"""The commands that learn from event logs: ``recommend``, and ``apply``, which carries that through rings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from aqe_plugin.changes import Change
from aqe_plugin.control_cli import HomeOption, TargetOption, ToldOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.controller import Proposal, carry_out, propose_tuning
from aqe_plugin.errors import ConfError, NoDataError
from aqe_plugin.journal import Actor, Phase
from aqe_plugin.pipeline.history import history_in
from aqe_plugin.pipeline.session import job_session
from aqe_plugin.queries import read_queries
from aqe_plugin.render.control import diff_of
from aqe_plugin.render.formats import ChangeFormat, TableOrJson
from aqe_plugin.render.terminal import print_lines, shown
from aqe_plugin.render.tuning import (
    conf_lines,
    print_findings,
    print_findings_json,
    print_rollout_step,
    print_rollout_step_json,
)
from aqe_plugin.sources import Skipped
from aqe_plugin.stories import QueryStory
from aqe_plugin.targets.locate import Where, read_target, store_of
from aqe_plugin.targets.port import TargetConf
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.history import History, history_of
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Finding, Limits, Recommendation, best, guard_of
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rings import Move, Ring, RingLimits, advance, is_over
from aqe_plugin.tuning.rollouts import SCHEMA_VERSION, RolloutStep, locked, rollouts_of, write_step
from aqe_plugin.tuning.spark_replay import SparkReplay, local_replay
from aqe_plugin.tuning_asked import asked_step, values_of
from aqe_plugin.tuning_plan import Trial, changes_of, compared, file_changes, recommended_again

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["add_tuning_commands"]


LogsArgument = Annotated[
    list[Path] | None,
    typer.Argument(help="Event logs: files, rolling logs' folders, or folders of logs.", show_default=False),
]
DecisionsOption = Annotated[
    str | None,
    typer.Option("--decisions", help="Instead of logs: the tables of `aqe-plugin pipeline ingest`."),
]
FindingsOption = Annotated[
    ChangeFormat,
    typer.Option("--format", help="A table or JSON of every group; lines of a conf, or a diff, of the best."),
]
StepOption = Annotated[float, typer.Option(min=1.01, max=10, help="Largest factor by which a value may change.")]
RunsOption = Annotated[int, typer.Option(min=5, max=1000, help="Runs that a query shape must have to be evidence.")]


_Replay = Callable[[], AbstractContextManager[Replay]]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What queries took everywhere, what those of the canary took, and what decides the former again."""

    everywhere: History
    tried: Callable[[], History]
    replay: _Replay


def add_tuning_commands(app: typer.Typer) -> None:
    """Adds the commands to ``app``."""
    for command in (recommend_command, apply):
        app.command("recommend" if command is recommend_command else None)(command)


def recommend_command(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    spark_home: HomeOption = None,
    output: FindingsOption = ChangeFormat.TABLE,
    max_step: StepOption = 2.0,
    min_runs: RunsOption = 5,
) -> None:
    """Recommend thresholds from what recurring queries took; changes nothing.

    The present values are those of the file that --target or --spark-home name, without one the defaults. Decisions
    are made again by the plugin itself in a Spark session on this machine, which takes about half a minute.
    """
    limits = Limits(max_step=max_step, min_runs=min_runs)
    path = place_of(target, spark_home) if target is not None or spark_home is not None else None
    if output is ChangeFormat.DIFF and path is None:
        raise ConfError("--format diff needs the file to change: give --target FILE or --spark-home FOLDER.")
    conf = {} if path is None else read_target(path).conf.items()
    with _evidence(logs, decisions) as evidence, evidence.replay() as replay:
        findings = recommend(evidence.everywhere.runs, current(conf), limits, replay)
    _show_findings(findings, limits, path, output)


def apply(
    logs: LogsArgument = None,
    decisions: DecisionsOption = None,
    target: TargetOption = None,
    spark_home: HomeOption = None,
    canary: Annotated[
        Path | None,
        typer.Option(help="The conf file that a part of the applications reads, e.g. that of one queue."),
    ] = None,
    canary_logs: Annotated[
        list[Path] | None, typer.Option("--canary-log", help="Event logs of those applications; may be repeated.")
    ] = None,
    canary_decisions: Annotated[
        str | None, typer.Option(help="With --decisions: the tables that were made of the canary's logs.")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="Share of elapsed time that a change may cost unnoticed.")
    ] = 0.05,
    max_step: StepOption = 2.0,
    min_runs: RunsOption = 5,
    asked: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Try a value of your own, not a recommended one; repeatable."),
    ] = None,
    yes: YesOption = False,
    output: ToldOption = TableOrJson.TABLE,
    why: WhyOption = "",
) -> None:
    """Take the next step with a recommendation: observe, then the canary, then all; back at once if it does harm.

    Run it again and again, e.g. daily: each time it reads the logs, or the tables that `pipeline ingest` made of them,
    says what they show and, with --yes, moves the rollout on by one ring or leaves it where it is. Without --canary the
    step after observe is all. What --set asks for goes to the canary at once, and from there the same way.
    """
    path = place_of(target, spark_home)
    limits, rings = Limits(max_step=max_step, min_runs=min_runs), RingLimits(margin=margin)
    _require_canary(path, canary)
    with locked(path) if yes else nullcontext():
        steps = rollouts_of(path)
        if steps and steps[-1].phase is Phase.BEGUN:
            _finish(steps, path, yes, output, why)
            return
        if steps:
            _require_nothing_asked(steps[-1], asked)
            _require_same_canary(steps[-1], canary, bool(canary_logs or canary_decisions))
        with _evidence(logs, decisions, canary_logs, canary_decisions) as evidence:
            conf = read_target(path).conf
            if steps and not is_over(steps[-1].ring):
                same = tuple(step for step in steps if step.number == steps[-1].number)
                trial = Trial(same, evidence.everywhere, evidence.tried())
                _go_on(trial, evidence.replay, path, conf, limits, rings, yes, output, why)
            else:
                number = steps[-1].number + 1 if steps else 1
                if asked:
                    _begin_asked(values_of(asked), path, conf, canary, number, yes, output, why)
                else:
                    _begin(evidence, path, conf, canary, number, limits, yes, output, why)


def _begin(
    evidence: _Evidence,
    path: Where,
    conf: TargetConf,
    canary: Path | None,
    number: int,
    limits: Limits,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    with evidence.replay() as replay:
        findings = recommend(evidence.everywhere.runs, current(conf.items()), limits, replay)
    chosen = best(findings, guard_of(limits))
    if chosen is None:
        _say_nothing_recommended(findings, limits)
        return
    by = actor(why)
    step = RolloutStep(
        schema_version=SCHEMA_VERSION,
        number=number,
        phase=Phase.DONE,
        at_millis=_millis(by),
        who=by.who,
        ring=Ring.OBSERVE,
        why=chosen.why,
        asked_why=why,
        group=chosen.group,
        changes=changes_of(chosen, conf),
        canary=None if canary is None else _name(canary),
        canary_changes=(),
        evidence=chosen.evidence,
        confidence=chosen.confidence,
    )
    if yes:
        write_step(path, step)
    _show_step(step, None, yes, output)


def _begin_asked(
    values: Mapping[str, str],
    path: Where,
    conf: TargetConf,
    canary: Path | None,
    number: int,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    by = actor(why)
    begun = asked_step(values, path, conf, None if canary is None else _name(canary), number, by)
    if not begun.changes:
        Console(stderr=True, soft_wrap=True).print(
            f"Nothing to change: {store_of(path).name} has these values.", markup=False
        )
        return
    ring = Ring.ALL if canary is None else Ring.CANARY
    proposals = file_changes(begun, ring, path, os.environ)
    step = replace(begun, ring=ring, canary_changes=_canary_changes(begun, ring, proposals))
    if yes:
        write_step(path, begun)
        write_step(path, replace(step, phase=Phase.BEGUN))
        _carry_out(proposals, step, path, by)
    _show_step(step, begun.ring, yes, output)


def _go_on(
    trial: Trial,
    replay: _Replay,
    path: Where,
    conf: TargetConf,
    limits: Limits,
    rings: RingLimits,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    move = _move(trial, replay, conf, limits, rings)
    proposals = file_changes(trial.last, move.ring, path, os.environ)
    by = actor(why)
    step = replace(
        trial.last,
        at_millis=_millis(by),
        who=by.who,
        ring=move.ring,
        why=move.why,
        asked_why=why,
        canary_changes=_canary_changes(trial.last, move.ring, proposals),
    )
    moves = move.ring is not trial.last.ring
    if yes and moves:
        write_step(path, replace(step, phase=Phase.BEGUN))
        _carry_out(proposals, step, path, by)
    _show_step(step, trial.last.ring, yes and moves, output)


def _finish(steps: tuple[RolloutStep, ...], path: Where, yes: bool, output: TableOrJson, why: str) -> None:
    """Carries out what was begun and cut off; done twice it does nothing."""
    cut_off, before = steps[-1], steps[-2]
    step = replace(cut_off, phase=Phase.DONE)
    if yes:
        _carry_out(file_changes(before, step.ring, path, os.environ), step, path, actor(why))
    Console(stderr=True, soft_wrap=True).print(
        Text(f"found from before: the step to {step.ring.value} was interrupted", style="yellow")
    )
    _show_step(step, before.ring, yes, output)


def _carry_out(proposals: list[Proposal], step: RolloutStep, path: Where, by: Actor) -> None:
    for proposal in proposals:
        if not proposal.nothing_to_do:
            carry_out(proposal, replace(by, why=f"{by.why or 'rollout'}: {step.why}"))
    write_step(path, replace(step, phase=Phase.DONE))


def _move(trial: Trial, start: _Replay, conf: TargetConf, limits: Limits, rings: RingLimits) -> Move:
    if trial.last.ring is not Ring.OBSERVE:
        return advance(trial.last.ring, compared(trial, limits, rings), rings)
    with start() as replay:
        return advance(trial.last.ring, recommended_again(trial, conf, replay, limits), rings)


def _canary_changes(last: RolloutStep, ring: Ring, proposals: list[Proposal]) -> tuple[Change, ...]:
    if ring is Ring.CANARY and last.ring is not Ring.CANARY:
        return tuple(change for proposal in proposals for change in proposal.changes)
    return last.canary_changes


def _read(logs: list[Path]) -> History:
    """The history in ``logs``.

    Raises:
        EventLogError: one of them is not there.
        NoDataError: there is no finished query with a decision in any of them.
    """
    skipped: list[Skipped] = []

    def told() -> Iterator[QueryStory]:
        for log in logs:
            for query in read_queries(log):
                if isinstance(query, Skipped):
                    skipped.append(query)
                else:
                    yield query

    history = history_of(told())
    stderr = Console(stderr=True, soft_wrap=True)
    if skipped:
        stderr.print(Text(f"skipped {len(skipped)}, the first: {shown(str(skipped[0]))}", style="yellow"))
    if not history.runs:
        names = ", ".join(str(log) for log in logs)
        raise NoDataError(f"{names}: no finished query with a decision of aqe-plugin in it.")
    return history


@contextmanager
def _evidence(
    logs: list[Path] | None,
    tables: str | None,
    canary_logs: list[Path] | None = None,
    canary_tables: str | None = None,
) -> Iterator[_Evidence]:
    """The history, from logs or from tables, and what decides it again.

    Raises:
        ConfError: neither is given, or both are; likewise of the canary.
        NoDataError: there is no finished query with a decision in any of them.
    """
    if (tables is None) == (not logs):
        raise ConfError("Give event logs, or --decisions with the tables that were made of them.")
    if canary_tables is not None and (tables is None or canary_logs):
        raise ConfError("--canary-decisions goes with --decisions, and in place of --canary-log.")

    def logged() -> History:
        return _read(canary_logs) if canary_logs else History((), ())

    if tables is None:
        history = _read(logs or [])
        yield _Evidence(history, logged, lambda: _replay(history))
        return
    stderr = Console(stderr=True, soft_wrap=True)
    stderr.print("Starting Spark to read the tables ...")
    with job_session("aqe-plugin tuning") as spark:
        history = _read_tables(spark, tables)

        def again() -> AbstractContextManager[Replay]:
            stderr.print(f"{_in_words(history)}. Deciding them again ...")
            return nullcontext(SparkReplay(spark))

        tried = logged if canary_tables is None else partial(_read_tables, spark, canary_tables)
        yield _Evidence(history, tried, again)


def _read_tables(spark: SparkSession, tables: str) -> History:
    history = history_in(spark, tables)
    if not history.runs:
        raise NoDataError(f"{tables}: no finished query with a decision of aqe-plugin in it.")
    return history


def _in_words(history: History) -> str:
    return f"{len(history.runs)} runs of {len({run.cohort for run in history.runs})} query shapes"


def _replay(history: History) -> AbstractContextManager[Replay]:
    Console(stderr=True, soft_wrap=True).print(f"{_in_words(history)}. Starting Spark to decide them again ...")
    start: Callable[[], AbstractContextManager[Replay]] = local_replay
    return start()


def _show_findings(findings: tuple[Finding, ...], limits: Limits, path: Where | None, output: ChangeFormat) -> None:
    stdout = Console(soft_wrap=output is not ChangeFormat.TABLE)
    guard = guard_of(limits)
    chosen = best(findings, guard)
    if output is ChangeFormat.TABLE:
        print_findings(findings, guard, stdout)
    elif output is ChangeFormat.JSON:
        print_findings_json(findings, guard, chosen, stdout)
    elif chosen is not None:
        print_lines(_lines(chosen, path, output), stdout)
    if chosen is None:
        _say_nothing_recommended(findings, limits)


def _lines(chosen: Recommendation, path: Where | None, output: ChangeFormat) -> list[str]:
    lines = conf_lines(chosen)
    if output is ChangeFormat.CONF or path is None:
        return lines
    return diff_of(propose_tuning(path, dict(line.split(" ", 1) for line in lines), chosen.why))


def _say_nothing_recommended(findings: tuple[Finding, ...], limits: Limits) -> None:
    stopped = sum(finding.recommendation is not None for finding in findings)
    more = f" {stopped} would save time, and the guard stops them." if stopped else ""
    Console(stderr=True, soft_wrap=True).print(
        f"Nothing to change: no group passes with at least {limits.min_runs} runs of a shape, steps of at most "
        f"x{limits.max_step:g}, and confidence {limits.min_confidence:g}.{more}"
    )


def _show_step(step: RolloutStep, before: Ring | None, done: bool, output: TableOrJson) -> None:
    stderr = Console(stderr=True, soft_wrap=True)
    if output is TableOrJson.JSON:
        print_rollout_step_json(step, before, done, Console(soft_wrap=True))
    else:
        print_rollout_step(step, before, Console())
    if done:
        stderr.print("Done. Run the same again when there are new logs; aqe-plugin history shows every step.")
    elif before is step.ring:
        stderr.print("The rollout stays where it is.")
    else:
        stderr.print("Nothing was written: --yes does it.")


def _require_canary(path: Where, canary: Path | None) -> None:
    if canary is not None and _name(canary) == store_of(path).name:
        raise ConfError(
            f"--canary {canary} is the file that every application reads: give one that a part of them reads."
        )


def _name(canary: Path) -> str:
    """The canary's place, as it stands in the steps of its rollout."""
    return store_of(place_of(canary, None)).name


def _require_nothing_asked(last: RolloutStep, asked: list[str] | None) -> None:
    if asked and not is_over(last.ring):
        raise ConfError(
            f"--set {asked[0]}: rollout no. {last.number} ({last.group}) is under way, in the ring {last.ring.value}. "
            "Let it end first."
        )


def _require_same_canary(last: RolloutStep, canary: Path | None, has_evidence: bool) -> None:
    if is_over(last.ring):
        return
    if canary is not None and _name(canary) != last.canary:
        has = "has no canary" if last.canary is None else f"has the canary {last.canary}"
        raise ConfError(f"--canary {canary}: rollout no. {last.number} is under way and {has}. Leave the option out.")
    if last.ring is Ring.CANARY and not has_evidence:
        raise ConfError(
            f"Rollout no. {last.number} is in its canary {last.canary}: give --canary-log with the event logs of the "
            "applications that read it, or --canary-decisions with the tables made of them."
        )


def _millis(by: Actor) -> int:
    return int(by.now().timestamp() * 1000)
