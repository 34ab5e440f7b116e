"""The command that carries a recommendation, or a value that is asked for, through rings: ``apply``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from aqe_plugin.cli.evidence import Evidence, evidence
from aqe_plugin.cli.install import HomeOption, TargetOption, ToldOption, WhyOption, YesOption, actor, place_of
from aqe_plugin.cli.log_options import HadoopConfOption, NoStoreOption, StoreOption, store_of_choice
from aqe_plugin.cli.recommend import DecisionsOption, LogsArgument, RunsOption, StepOption, say_nothing_recommended
from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.stores.locate import Where, read_target, store_of
from aqe_plugin.conf.stores.session_address import SCHEME, without_secrets
from aqe_plugin.conf.stores.session_store import SessionStore
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConfError
from aqe_plugin.install.controller import Proposal, carry_out
from aqe_plugin.install.journal import Actor, Phase, journal_of
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.tuning import print_rollout_step, print_rollout_step_json
from aqe_plugin.tuning.groups import current
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits, best, guard_of
from aqe_plugin.tuning.rollout.ledger import SCHEMA_VERSION, RolloutStep, locked, rollouts_of, write_step
from aqe_plugin.tuning.rollout.manual_edits import why_over
from aqe_plugin.tuning.rollout.next_step import Trial, changes_of, compared, file_changes, recommended_again
from aqe_plugin.tuning.rollout.requested import asked_step, values_of
from aqe_plugin.tuning.rollout.rings import Move, Ring, RingLimits, advance, is_over

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
            readable=False, help="The conf file that a part of the applications reads, e.g. that of one queue."
        ),
    ] = None,
    canary_share: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.999, help="Instead: the share of all applications that try it, e.g. 0.1."),
    ] = None,
    canary_logs: Annotated[
        list[str] | None,
        typer.Option("--canary-log", help="Event logs of those applications; may be repeated.", path_type=str),
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
    hadoop_conf: HadoopConfOption = None,
    store: StoreOption = None,
    no_store: NoStoreOption = False,
) -> None:
    """Take the next step with a recommendation: observe, then the canary, then all; back at once if it does harm.

    Run it again and again, e.g. daily: each time it reads the logs, or the tables that `pipeline ingest` made of them,
    says what they show and, with --yes, moves the rollout on by one ring or leaves it where it is. Without --canary or
    --canary-share the step after observe is all. What --set asks for goes to the canary at once, and from there the
    same way.
    """
    path = place_of(target, spark_home)
    _require_no_session_beside(canary, canary_share, path)
    limits, rings = Limits(max_step=max_step, min_runs=min_runs), RingLimits(margin=margin)
    _require_canary(path, canary)
    _require_one_canary(canary, canary_share, canary_logs, canary_decisions)
    with locked(path) if yes else nullcontext():
        steps = rollouts_of(path)
        by_hand = why_over(steps, path, os.environ) if steps else None
        if by_hand is not None:
            _end(steps, by_hand, path, yes, output, why)
            return
        if steps and steps[-1].phase is Phase.BEGUN:
            _finish(steps, path, yes, output, why)
            return
        if steps:
            _require_nothing_asked(steps[-1], asked)
            _require_same_canary(steps[-1], canary, bool(canary_logs or canary_decisions))
            _require_same_share(steps[-1], canary_share, canary_logs, canary_decisions)
            _say_when_ahead(steps[-1], path, why)
        kept = store_of_choice(store, no_store, os.environ)
        with evidence(logs, decisions, hadoop_conf or [], canary_logs, canary_decisions, kept) as known:
            conf = read_target(path).conf
            if steps and not is_over(steps[-1].ring):
                same = tuple(step for step in steps if step.number == steps[-1].number)
                trial = Trial(same, known.everywhere, known.tried())
                _go_on(trial, known, path, conf, limits, rings, yes, output, why)
            else:
                number = steps[-1].number + 1 if steps else 1
                if asked:
                    _begin_asked(values_of(asked), path, conf, canary, canary_share, number, yes, output, why)
                else:
                    _begin(known, path, conf, canary, canary_share, number, limits, yes, output, why)


def _begin(
    known: Evidence,
    path: Where,
    conf: TargetConf,
    canary: Path | None,
    canary_share: float | None,
    number: int,
    limits: Limits,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    with known.replay() as replay:
        findings = recommend(known.everywhere.runs, current(conf.items()), limits, replay)
    chosen = best(findings, guard_of(limits))
    if chosen is None:
        say_nothing_recommended(findings, limits)
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
        canary_share=canary_share,
    )
    if yes:
        write_step(path, step)
    _show_step(step, None, yes, output)


def _begin_asked(
    values: Mapping[str, str],
    path: Where,
    conf: TargetConf,
    canary: Path | None,
    canary_share: float | None,
    number: int,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    by = actor(why)
    begun = asked_step(values, path, conf, None if canary is None else _name(canary), canary_share, number, by)
    if not begun.changes:
        Console(stderr=True, soft_wrap=True).print(
            f"Nothing to change: {store_of(path).name} has these values.", markup=False
        )
        return
    ring = Ring.CANARY if begun.has_canary else Ring.ALL
    proposals = file_changes(begun, ring, path, os.environ)
    step = replace(begun, ring=ring, canary_changes=_canary_changes(begun, ring, proposals))
    if yes:
        write_step(path, begun)
        write_step(path, replace(step, phase=Phase.BEGUN))
        _carry_out(proposals, step, path, by)
    _show_step(step, begun.ring, yes, output)


def _go_on(
    trial: Trial,
    known: Evidence,
    path: Where,
    conf: TargetConf,
    limits: Limits,
    rings: RingLimits,
    yes: bool,
    output: TableOrJson,
    why: str,
) -> None:
    move = _move(trial, known, conf, limits, rings)
    proposals = file_changes(trial.last, move.ring, path, os.environ)
    # Whoever read logs for an hour finds what the proposals were made from changed meanwhile, or not at all.
    by_hand = why_over(trial.steps, path, os.environ)
    if by_hand is not None:
        _end(trial.steps, by_hand, path, yes, output, why)
        return
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


def _end(steps: tuple[RolloutStep, ...], by_hand: str, path: Where, yes: bool, output: TableOrJson, why: str) -> None:
    """Writes down that somebody else ended the rollout, and changes no file: what they did is left to stand."""
    last, by = steps[-1], actor(why)
    before = steps[-2].ring if last.phase is Phase.BEGUN else last.ring
    step = replace(
        last,
        phase=Phase.DONE,
        at_millis=_millis(by),
        who=by.who,
        ring=Ring.ROLLED_BACK,
        why=by_hand,
        asked_why=why,
    )
    if yes:
        write_step(path, step)
    _show_step(step, before, yes, output)


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


def _move(trial: Trial, known: Evidence, conf: TargetConf, limits: Limits, rings: RingLimits) -> Move:
    if trial.last.ring is not Ring.OBSERVE:
        return advance(trial.last.ring, compared(trial, rings), rings)
    with known.replay() as replay:
        return advance(trial.last.ring, recommended_again(trial, conf, replay, limits), rings)


def _canary_changes(last: RolloutStep, ring: Ring, proposals: list[Proposal]) -> tuple[Change, ...]:
    if ring is Ring.CANARY and last.ring is not Ring.CANARY:
        return tuple(change for proposal in proposals for change in proposal.changes)
    return last.canary_changes


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


def _require_no_session_beside(canary: Path | None, share: float | None, path: Where) -> None:
    """A session is one application's, so neither is it a part of those that read ``path`` nor the other way round."""
    if canary is not None and (isinstance(path, SessionStore) or str(canary).startswith(SCHEME)):
        raise ConfError(
            f"--canary {without_secrets(str(canary))}: a running session has no canary and is none. Leave the option "
            "out, or give two conf files."
        )
    if share is not None and isinstance(path, SessionStore):
        raise ConfError(
            f"--canary-share {share:g}: a running session is one application's, of which there is no share."
        )


def _require_one_canary(canary: Path | None, share: float | None, logs: list[str] | None, tables: str | None) -> None:
    if share is None:
        return
    others = {"--canary": canary, "--canary-log": logs, "--canary-decisions": tables}
    for option in (name for name, value in others.items() if value):
        raise ConfError(
            f"--canary-share {share:g} and {option}: the share is of the applications that read the target."
        )


def _say_when_ahead(last: RolloutStep, path: Where, why: str) -> None:
    """Says when ``last`` is dated in the future: no run is newer than it, so the rollout would stand still."""
    if is_over(last.ring) or last.at_millis <= _millis(actor(why)):
        return
    at = datetime.fromtimestamp(last.at_millis / 1000, timezone.utc).isoformat(timespec="seconds")
    Console(stderr=True, soft_wrap=True).print(
        Text(
            f"rollout no. {last.number}: its last step is dated {at}, which is in the future, and only runs after it "
            "count. If this machine's clock is behind, set it. If it was ahead when the step was made, begin anew: "
            f"aqe-plugin rollback, then move rollouts.jsonl in {journal_of(path).folder} away.",
            style="yellow",
        )
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
    if last.ring is Ring.CANARY and last.canary is not None and not has_evidence:
        raise ConfError(
            f"Rollout no. {last.number} is in its canary {last.canary}: give --canary-log with the event logs of the "
            "applications that read it, or --canary-decisions with the tables made of them."
        )


def _require_same_share(last: RolloutStep, share: float | None, logs: list[str] | None, tables: str | None) -> None:
    if is_over(last.ring):
        return
    if share is not None and share != last.canary_share:
        has = "has no share" if last.canary_share is None else f"has the share {last.canary_share:g}"
        raise ConfError(
            f"--canary-share {share:g}: rollout no. {last.number} is under way and {has}. Leave the option out."
        )
    if last.canary_share is None:
        return
    given = {"--canary-log": logs[0] if logs else None, "--canary-decisions": tables}
    for option, value in given.items():
        if value is not None:
            raise ConfError(
                f"{option} {value}: rollout no. {last.number} is tried by a share of the applications that read the "
                "target; what they did is told by LOGS or --decisions."
            )


def _millis(by: Actor) -> int:
    return int(by.now().timestamp() * 1000)
