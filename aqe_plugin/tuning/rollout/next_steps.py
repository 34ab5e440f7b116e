"""The next step of a rollout that has begun: first a value that can be shown and changes nothing, then taken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.errors import AqePluginError
from aqe_plugin.install.controller import Proposal, carry_out_held, settle_held
from aqe_plugin.tuning.recommendation import Limits
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.attempts import sure_enough
from aqe_plugin.tuning.rollout.file_changes import file_change
from aqe_plugin.tuning.rollout.ledger import (
    ASKED,
    SCHEMA_VERSION,
    LookAtLogs,
    RolloutStep,
    looks_of,
    step_before_last,
    write,
)
from aqe_plugin.tuning.rollout.manual_edits import ManualEdits, carried_out_elsewhere, manual_edits
from aqe_plugin.tuning.rollout.rings import Move, Ring, RingLimits, advance, after_observing
from aqe_plugin.tuning.rollout.rollouts import NextStep, Rollouts, moved, signed
from aqe_plugin.tuning.rollout.step_times import between
from aqe_plugin.tuning.rollout.trial import Trial, confirmed, observed


def unfinished(rollouts: Rollouts) -> NextStep | None:
    """The step that comes before any other: it records what somebody else did to the file, or finishes an interrupted
    step."""
    if not rollouts.steps:
        return None
    target = read_target(rollouts.file)
    taken = carried_out_elsewhere(rollouts.steps, target)
    if taken is not None:
        last = rollouts.steps[-1]
        why = f"{target.store.name} has the values of the ring {taken.value}, by a repository or by hand"
        known = max([last.before_until_millis, *(look.held_until for look in _looks(rollouts, last))])
        step = between(replace(signed(rollouts, last), ring=taken, why=why), None)
        return NextStep(replace(step, before_until_millis=known), last.ring)
    edits = manual_edits(rollouts.steps, target)
    if edits is not None:
        return _ended(rollouts, edits)
    last = rollouts.steps[-1]
    if last.phase != "begun":
        return None
    before = step_before_last(rollouts.steps, rollouts.file)
    proposal = file_change(before, last.ring, rollouts.file)
    # The file may have its values only from now on.
    found = between(replace(last, at_millis=max(last.at_millis, rollouts.now_millis)), None)
    step = replace(last, phase="done", after_since_millis=max(last.after_since_millis, found.after_since_millis))
    return NextStep(step, before.ring, (), proposal, interrupted=True)


def never_in_force(rollouts: Rollouts) -> NextStep | None:
    """The step that ends the rollout under way, if it never changed the file: it is remembered only, its first step was
    refused, or a repository has not taken it. ``None`` when there is no such rollout."""
    last = rollouts.under_way
    if last is None:
        return None
    if last.phase == "begun":
        before = step_before_last(rollouts.steps, rollouts.file)
        proposal = file_change(before, last.ring, rollouts.file)
        if proposal is None or proposal.nothing_to_do:
            return None
    else:
        before = last
    if before.ring is not Ring.OBSERVE:
        return None
    why = "another one takes its place before it came into force"
    return NextStep(
        between(replace(signed(rollouts, last), phase="done", ring=Ring.ROLLED_BACK, why=why), None), before.ring
    )


def go_on(
    rollouts: Rollouts,
    trial: Trial,
    replay: Callable[[], AbstractContextManager[Replay]],
    limits: Limits,
    rings: RingLimits,
) -> NextStep:
    """The next step of the rollout that is under way; it may stay where it is.

    Args:
        trial: that of ``rollouts``.
        replay: starts the decision function, which only the ring ``observe`` needs.
    """
    last = rollouts.steps[-1]
    seen: LookAtLogs | None = None
    if last.ring is Ring.OBSERVE and last.group == ASKED:
        # Nobody has deployed it yet.
        move = Move(Ring.CANARY if last.has_canary else Ring.ALL, last.why)
    elif last.ring is Ring.OBSERVE:
        with replay() as decide:
            sure = sure_enough(rollouts.earlier, limits)
            found = confirmed(trial, read_target(rollouts.file).conf, decide, sure)
        move = after_observing(found, last.has_canary)
    else:
        observation, new = observed(trial, rings)
        due = _left(rollouts)
        # The logs that showed the harm may be gone before the repository has taken the step.
        move = advance(last.ring, observation, rings) if due is None else Move(Ring.ROLLED_BACK, due)
        seen = LookAtLogs(
            *(SCHEMA_VERSION, last.number, last.ring, rollouts.now_millis),
            new.pairs,
            trial.history.until_millis,
            new.faulty,
        )
    taken = moved(rollouts, last, move.ring, move.why, seen_until_millis=trial.history.until_millis)
    step = replace(taken, look=seen)
    # Reading the history may have taken an hour.
    edits = manual_edits(rollouts.steps, read_target(rollouts.file))
    return step if edits is None else _ended(rollouts, edits)


def take(rollouts: Rollouts, step: NextStep, *, leaves_target: bool = False) -> None:
    """Takes ``step`` and keeps what the look saw; when it is interrupted, the next command finishes it.

    Args:
        leaves_target: somebody else changes the target. A step that changes it is then not taken; once its values are
            there, it is found to be. The reason of a step back is kept.
    """
    left = leaves_target and step.changes_target
    with rollouts.file.locked():
        if step.look is not None:
            _keep(rollouts, step.look, step.step.why if left and step.step.ring is Ring.ROLLED_BACK else None)
        if left:
            for line in step.first:
                if line.phase == "done":
                    write(rollouts.file, line)
        elif step.moves:
            _move_on(rollouts, step)


def _keep(rollouts: Rollouts, look: LookAtLogs, left: str | None) -> None:
    """Writes what the look adds to what is known, with the reason of the step back that is ``left``, if one is."""
    if look.pairs or look.faulty or left not in (None, _left(rollouts)):
        write(rollouts.file, replace(look, left=left))


def _looks(rollouts: Rollouts, step: RolloutStep) -> list[LookAtLogs]:
    return [look for look in looks_of(rollouts.file, step.number) if look.ring is step.ring]


def _left(rollouts: Rollouts) -> str | None:
    """Why the step back that is left to somebody else is due, ``None`` when none is."""
    looks = _looks(rollouts, rollouts.steps[-1])
    return looks[-1].left if looks else None


def _move_on(rollouts: Rollouts, step: NextStep) -> None:
    for line in step.first:
        write(rollouts.file, line)
    proposal = step.proposal
    if proposal is not None and step.changes_target:
        why = f"{rollouts.by.why or 'rollout'}: {step.step.why}"
        try:
            carry_out_held(replace(proposal, step=step.step.id), replace(rollouts.by, why=why))
        except AqePluginError:
            _stay(rollouts, step, proposal)
            raise
    else:
        # The step may have been interrupted after its change; the journal then lacks the end of it.
        settle_held(rollouts.file, rollouts.by)
    write(rollouts.file, step.step)


def _stay(rollouts: Rollouts, step: NextStep, proposal: Proposal) -> None:
    """After ``step`` was refused: a change in force stays in its ring, and is watched there until the next try.

    A step back is tried again whatever later logs show, and so is one before which nothing was in force.
    """
    if step.before in (None, Ring.OBSERVE) or step.step.ring is Ring.ROLLED_BACK:
        return
    with suppress(AqePluginError):
        # A server may have taken the change, and its answer was lost.
        if proposal.store.read() == proposal.before:
            last = step_before_last(rollouts.steps, rollouts.file) if step.interrupted else rollouts.steps[-1]
            write(rollouts.file, last)


def _ended(rollouts: Rollouts, edits: ManualEdits) -> NextStep:
    """Ends a rollout whose values somebody changed; the file stays as it is."""
    last = rollouts.steps[-1]
    interrupted = last.phase == "begun"
    before = step_before_last(rollouts.steps, rollouts.file).ring if interrupted else last.ring
    due = _left(rollouts) if edits.are_a_rollback else None
    why = f"{due}; {edits.text}" if due else edits.text
    step = replace(signed(rollouts, last), phase="done", ring=Ring.ROLLED_BACK, why=why)
    return NextStep(between(step, None), before)
