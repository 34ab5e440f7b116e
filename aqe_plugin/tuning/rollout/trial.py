"""What is known of a rollout that is under way: whether it is recommended again, and how runs with the change did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import PREFIX, number_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.events.model import TrialArm
from aqe_plugin.tuning.groups import current, written
from aqe_plugin.tuning.history import QueryHistory, applications_since, errors_of, in_arm
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits, Recommendation, best
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.application_pairs import application_pairs
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Observation, Ring, RingLimits
from aqe_plugin.tuning.rollout.sequential import Comparison, Outcome, compare


@dataclass(frozen=True, slots=True)
class Trial:
    """A rollout that is under way, and what ran since it began.

    Attributes:
        steps: its steps so far, oldest first; at least one.
        history: the queries of the applications that read the file.
    """

    steps: tuple[RolloutStep, ...]
    history: QueryHistory

    @property
    def last(self) -> RolloutStep:
        return self.steps[-1]


def changes_of(recommendation: Recommendation, conf: TargetConf) -> tuple[Change, ...]:
    """The recommendation as changes of the keys as ``conf`` has them."""
    evidence = recommendation.evidence
    why = (
        f"{recommendation.why}; {evidence.queries} runs of {evidence.fingerprints} fingerprints, "
        f"{evidence.changed} decided otherwise; saves {evidence.seconds:.3g} s "
        f"({evidence.low:.3g} to {evidence.high:.3g}), confidence {recommendation.risk.confidence:.3f}"
    )
    return tuple(
        Change(change.key, conf.get(change.key), written(change.key, change.new), why)
        for change in recommendation.changes
    )


def recommended_again(trial: Trial, conf: TargetConf, replay: Replay, limits: Limits) -> Observation:
    """In the ring ``observe``: whether the same change is recommended again now that there are newer runs."""
    nothing = Comparison(Outcome.UNDECIDED, 0, 0, 0, 1.0)
    return Observation(_confirmed(trial, conf, replay, limits), nothing, 0, trial.last.has_canary)


def compared(trial: Trial, rings: RingLimits) -> Observation:
    """In a ring with the change in force: runs with the change against runs without it.

    In the canary events name the arm, and both arms ran at the same time with the same conf. Once all applications have
    the change, none runs without it: the newest applications from before it are the control.
    """
    last, began = trial.last, _entered(trial, trial.last.ring)
    newer = applications_since(trial.history, began)
    if last.ring is Ring.CANARY:
        changed, unchanged = in_arm(newer, TrialArm.CANARY), in_arm(newer, TrialArm.CONTROL)
    else:
        first = _entered(trial, Ring.CANARY) if last.has_canary else began
        # Applications in an arm started before the canary's keys were removed.
        changed = in_arm(newer, None) if last.has_canary else newer
        unchanged = trial.history.where(lambda query: query.at_millis <= first)
    pairs = application_pairs(changed.runs, unchanged.runs, rings.max_pairs)
    comparison = compare(pairs, rings.margin, rings.alpha)
    return Observation(None, comparison, errors_of(changed, unchanged), last.has_canary)


def _confirmed(trial: Trial, conf: TargetConf, replay: Replay, limits: Limits) -> bool | None:
    newer = Counter(run.fingerprint for run in applications_since(trial.history, trial.last.at_millis).runs)
    if max(newer.values(), default=0) < limits.min_runs:
        return None
    present = current(conf.items())
    findings = recommend(trial.history.runs, present, limits, replay)
    found = best([finding for finding in findings if finding.group == trial.last.group], limits)
    return found is not None and _goes_up(changes_of(found, conf), present) == _goes_up(trial.last.changes, present)


def _goes_up(changes: tuple[Change, ...], present: Mapping[str, float]) -> bool:
    """Whether these changes, which are not made yet, raise a value that is ``present``."""
    return any(
        (number_of(change.key, change.new or "") or 0.0) > present[change.key.removeprefix(PREFIX)]
        for change in changes
    )


def _entered(trial: Trial, ring: Ring) -> int:
    """When the rollout came into ``ring``, or when it began if it never did."""
    times = [step.at_millis for step in trial.steps if step.ring is ring]
    return min(times, default=trial.steps[0].at_millis)
