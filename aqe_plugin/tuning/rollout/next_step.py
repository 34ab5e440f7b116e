"""What to do next about a file's thresholds: begin a rollout, or move the one that is under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.canary import keys_of
from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY, PREFIX, number_of
from aqe_plugin.conf.stores.locate import Where, find_target, read_target
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.errors import ConflictError
from aqe_plugin.events.model import TrialArm
from aqe_plugin.install.controller import Proposal, propose_tuning
from aqe_plugin.tuning.groups import current, written
from aqe_plugin.tuning.history import History, errors_of, on, since
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits, Recommendation, best, guard_of
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.applications import application_pairs
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Observation, Ring, RingLimits
from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome, compare
from aqe_plugin.tuning.runs import Run

__all__ = ["Trial", "changes_of", "compared", "file_changes", "recommended_again"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of a rollout that is under way.

    Attributes:
        steps: its steps so far, oldest first; at least one.
        everywhere: the history of the applications that read the file itself.
        canary: that of the applications that read the canary's file; empty when the canary is a share of all.
    """

    steps: tuple[RolloutStep, ...]
    everywhere: History
    canary: History

    @property
    def last(self) -> RolloutStep:
        return self.steps[-1]


def changes_of(recommendation: Recommendation, conf: TargetConf) -> tuple[Change, ...]:
    """The recommendation as changes of the keys as ``conf`` has them."""
    why = f"{recommendation.why}; {_evidence(recommendation)}"
    return tuple(
        Change(change.key, conf.get(change.key), written(change.key, change.new), why)
        for change in recommendation.changes
    )


def recommended_again(trial: Trial, conf: TargetConf, replay: Replay, limits: Limits) -> Observation:
    """What is known in the ring ``observe``: whether the same is recommended now that there are newer runs."""
    nothing = Comparison(Outcome.UNDECIDED, 0, 0, 0, 1.0)
    return Observation(_confirmed(trial, conf, replay, limits), nothing, 0, trial.last.has_canary)


def compared(trial: Trial, rings: RingLimits) -> Observation:
    """What is known in a ring with the change in force: how runs with it did beside runs without it.

    Where a share of the applications has it, its events say so, and both sides are of the same time and the same conf.
    When all applications have it, nobody runs without it any more: the newest applications from before it stand in.
    """
    has_canary = trial.last.has_canary
    began = _entered(trial, trial.last.ring)
    if trial.last.ring is Ring.CANARY and trial.last.canary_share is not None:
        newer = since(trial.everywhere, began)
        changed, unchanged = on(newer, TrialArm.CANARY), on(newer, TrialArm.CONTROL)
    elif trial.last.ring is Ring.CANARY:
        changed, unchanged = since(trial.canary, began), _after(trial.everywhere, began)
    else:
        first = _entered(trial, Ring.CANARY) if has_canary else began
        changed, unchanged = since(trial.everywhere, began), _before(trial.everywhere, first)
        if trial.last.canary_share is not None:
            changed = on(changed, None)  # others started before the keys of the canary were gone
    pairs = application_pairs(changed.runs, unchanged.runs, rings.max_pairs)
    comparison = compare(pairs, rings.margin, rings.alpha)
    return Observation(None, comparison, errors_of(changed, unchanged), has_canary)


def file_changes(step: RolloutStep, ring: Ring, file: Where, environment: Mapping[str, str]) -> list[Proposal]:
    """What to do to the files so that a rollout at ``step`` comes into ``ring``; nothing when it is there.

    Raises:
        TargetError: a file cannot be read.
        ConflictError: it is written in a way that is not changed safely, or has a canary that is not ours.
        ConfError: a value is not allowed.
    """
    if ring is step.ring:
        return []
    wanted = {change.key: change.new for change in step.changes}
    canary = None if step.canary is None else find_target(Path(step.canary), None, environment)
    if ring is Ring.CANARY and canary is not None:
        return [propose_tuning(canary, wanted, f"rollout no. {step.number}, canary: {_why(step)}")]
    if ring is Ring.CANARY and step.canary_share is not None:
        tried = keys_of(step.changes, step.canary_share)
        _require_no_other_canary(file, tried)
        return [propose_tuning(file, tried, f"rollout no. {step.number}, {step.canary_share:.3g}: {_why(step)}")]
    if ring is Ring.ALL:
        over = _share_is_over(step)
        return [propose_tuning(file, {**over, **wanted}, f"rollout no. {step.number}, all: {_why(step)}")]
    if ring is not Ring.ROLLED_BACK:
        return []
    back = f"rollout no. {step.number} goes back"
    undone = []
    if step.ring is Ring.ALL:
        undone.append(propose_tuning(file, {change.key: change.old for change in step.changes}, back))
    if step.ring is Ring.CANARY and step.canary_share is not None:
        undone.append(propose_tuning(file, _share_is_over(step), back))
    if canary is not None and step.canary_changes:
        undone.append(propose_tuning(canary, {change.key: change.old for change in step.canary_changes}, back))
    return undone


def _share_is_over(step: RolloutStep) -> dict[str, str | None]:
    """What takes the keys of the canary out of the file again."""
    return {} if step.canary_share is None else dict.fromkeys(keys_of(step.changes, step.canary_share))


def _require_no_other_canary(file: Where, ours: Mapping[str, str]) -> None:
    target = read_target(file)
    for key, value in target.conf.items().items():
        if key.startswith(CANARY) and ours.get(key) != value:
            raise ConflictError(
                f"{target.store.name}: {key} = {value} is of another canary, and both cannot be told apart. "
                "Take it out and try again."
            )


def _confirmed(trial: Trial, conf: TargetConf, replay: Replay, limits: Limits) -> bool | None:
    newer = since(trial.everywhere, trial.last.at_millis).runs
    if not _enough(newer, limits.min_runs):
        return None
    present = current(conf.items())
    findings = recommend(trial.everywhere.runs, present, limits, replay)
    found = best([finding for finding in findings if finding.group == trial.last.group], guard_of(limits))
    return found is not None and _goes_up(changes_of(found, conf), present) == _goes_up(trial.last.changes, present)


def _enough(runs: tuple[Run, ...], least: int) -> bool:
    count: dict[str, int] = {}
    for run in runs:
        count[run.cohort] = count.get(run.cohort, 0) + 1
    return any(many >= least for many in count.values())


def _goes_up(changes: tuple[Change, ...], present: Mapping[str, float]) -> bool:
    """Whether these changes, which are not made yet, make larger what is ``present``."""
    return any(
        (number_of(change.key, change.new or "") or 0.0) > present[change.key.removeprefix(PREFIX)]
        for change in changes
    )


def _entered(trial: Trial, ring: Ring) -> int:
    """When the rollout came into ``ring``; when it never did, when it began."""
    times = [step.at_millis for step in trial.steps if step.ring is ring]
    return min(times, default=trial.steps[0].at_millis)


def _after(history: History, at_millis: int) -> History:
    return History(
        tuple(run for run in history.runs if run.at_millis > at_millis),
        tuple(failure for failure in history.failures if failure.at_millis > at_millis),
    )


def _before(history: History, at_millis: int) -> History:
    return History(
        tuple(run for run in history.runs if run.at_millis <= at_millis),
        tuple(failure for failure in history.failures if failure.at_millis <= at_millis),
    )


def _evidence(recommendation: Recommendation) -> str:
    evidence = recommendation.evidence
    return (
        f"{evidence.queries} runs of {evidence.cohorts} query shapes, {evidence.changed} would be decided otherwise; "
        f"saves {evidence.seconds:.3g} s ({evidence.low:.3g} to {evidence.high:.3g}), "
        f"confidence {recommendation.confidence:.3f}"
    )


def _why(step: RolloutStep) -> str:
    return step.changes[0].why if step.changes else step.why
