"""What is known of a rollout that is under way: whether other runs confirm it, and how runs with the change did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import PREFIX, number_of
from aqe_plugin.conf.target import TargetConf
from aqe_plugin.tuning.groups import current, group_named, written
from aqe_plugin.tuning.history import DAY_MILLIS, QueryHistory, applications_since, faulty, in_arm, new_errors
from aqe_plugin.tuning.recommend import Step, judge
from aqe_plugin.tuning.recommendation import Limits, Recommendation, violations
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.application_pairs import Pair, application_pairs, unpaired_applications
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Confirmation, Observation, Ring, RingLimits
from aqe_plugin.tuning.rollout.sequential import Outcome, PairComparison, compare, excess
from aqe_plugin.tuning.unseen import confirming

# A log that comes later than that is not waited for.
_MOST_DAYS_LATE = 3
# A job that did not run for so long is not waited for.
_MOST_DAYS_APART = 14


@dataclass(frozen=True, slots=True)
class Trial:
    """A rollout that is under way, and what ran since it began.

    Attributes:
        steps: its steps so far, oldest first; at least one.
        history: the queries of the applications that read the file.
        pairs: those of its present ring that were seen before.
        since_millis: since when no other rollout changed what applications without the change read.
        faulty: fingerprints in which the plugin had errors without the change, in logs that may be gone.
        tried_until_millis: when an earlier rollout of the group went back; runs until then have had their say.
        now_millis: the time by the clock of this machine, ``None`` when the logs alone tell it.
    """

    steps: tuple[RolloutStep, ...]
    history: QueryHistory
    pairs: tuple[Pair, ...] = ()
    since_millis: int = 0
    faulty: frozenset[str] = frozenset()
    tried_until_millis: int = 0
    now_millis: int | None = None

    @property
    def last(self) -> RolloutStep:
        return self.steps[-1]

    @property
    def began(self) -> RolloutStep:
        """The step into the present ring."""
        return next(step for step in self.steps if step.ring is self.last.ring)


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


def confirmed(trial: Trial, conf: TargetConf, replay: Replay, limits: Limits) -> Confirmation:
    """In the ring ``observe``: whether runs that had no part in the choice confirm it, once there are newer ones."""
    chosen_at = trial.last.after_since_millis
    newer = Counter(run.fingerprint for run in applications_since(trial.history, chosen_at).runs)
    if max(newer.values(), default=0) < limits.min_runs:
        return Confirmation(None, "too few newer runs to confirm the change")
    values = _new_values(trial.last.changes)
    if len(values) < len(trial.last.changes):
        return Confirmation(False, "this version of aqe-plugin does not take the keys or values of the change")
    change = Step(group_named(trial.last.group), values)
    unseen = [run for run in confirming(trial.history.runs, chosen_at) if run.at_millis > trial.tried_until_millis]
    found = judge(unseen, current(conf.items()), change, limits, replay)
    made = found.recommendation
    stopped = (found.reason,) if made is None else violations(made, limits)
    if made is None or stopped:
        return Confirmation(False, f"runs that had no part in the choice do not confirm it: {'; '.join(stopped)}")
    saved = made.evidence
    return Confirmation(
        True,
        f"{saved.queries} runs that had no part in the choice confirm it: it saves {saved.seconds:.3g} s "
        f"({saved.low:.3g} to {saved.high:.3g}), confidence {made.risk.confidence:.3f}",
    )


@dataclass(frozen=True, slots=True)
class New:
    """What a look adds to a trial: ``pairs``, and fingerprints that are ``faulty`` without the change."""

    pairs: tuple[Pair, ...]
    faulty: tuple[str, ...]


def observed(trial: Trial, rings: RingLimits) -> tuple[Observation, New]:
    """In a ring with the change in force: what its pairs and the plugin's errors show, and what of that is new."""
    changed, unchanged = _sides(trial)
    # After a canary has shown what the change costs beside its control, other days may look slower by chance.
    drift = rings.drift if trial.last.ring is Ring.ALL and trial.last.has_canary else 0.0
    _, cleared = _compared(trial.pairs, len(trial.pairs), rings, drift)
    most = rings.max_pairs - (len(trial.pairs) - cleared)
    new = tuple(application_pairs(changed, unchanged, most, trial.pairs))
    pairs = (*trial.pairs, *new)
    comparison, cleared = _compared(pairs, len(trial.pairs), rings, drift)
    observation = Observation(
        pairs=len(pairs) - cleared,
        comparison=comparison,
        allowed=(1 + drift) * (1 + rings.margin) - 1,
        failures=excess([(pair.changed.failed, pair.unchanged.failed) for pair in pairs], rings.counts),
        cancellations=excess([(pair.changed.cancelled, pair.unchanged.cancelled) for pair in pairs], rings.counts),
        errors=new_errors(_with_errors(trial), trial.faulty | faulty(unchanged)),
        has_canary=trial.last.has_canary,
        exhausted=_is_exhausted(trial, changed, unchanged, pairs),
    )
    return observation, New(new, tuple(sorted(faulty(unchanged) - trial.faulty)))


def _compared(pairs: Sequence[Pair], seen: int, rings: RingLimits, drift: float) -> tuple[PairComparison, int]:
    """Compares the durations, of which the first ``seen`` pairs are of earlier looks.

    An all-clear of an earlier look stands, but the ring was not left: the step was refused, or waits for a repository.
    The canary may become slow then, so what came after the all-clear is compared anew, again and again, each time with
    half the chance of a false alarm: all together at most double it.

    Returns:
        The comparison, and how many pairs came before the one that is not decided yet.
    """
    begin, first, rates = 0, None, rings.durations
    while True:
        rest = pairs[begin:]
        found = compare(_timed(rest), rings.margin, rates, drift)
        if found.outcome is Outcome.WORSE:
            return found, begin
        is_decided = found.outcome is Outcome.NOT_WORSE or (first is not None and len(rest) >= rings.max_pairs)
        first = first or found
        end = begin + _position(rest, found)
        if not is_decided or end > seen:
            return first, begin
        begin, rates = end, replace(rates, false_alarm=rates.false_alarm / 2)


def _position(pairs: Sequence[Pair], found: PairComparison) -> int:
    """How many of ``pairs`` were looked at until the decision."""
    if found.outcome is Outcome.UNDECIDED:
        return len(pairs)
    timed = [number for number, pair in enumerate(pairs, start=1) if _timed([pair])]
    return timed[found.pairs - 1]


def _timed(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """The elapsed times of the two sides, of pairs that have both."""
    return [
        (pair.changed.millis, pair.unchanged.millis)
        for pair in pairs
        if pair.changed.millis is not None and pair.unchanged.millis is not None
    ]


def _is_exhausted(trial: Trial, changed: QueryHistory, unchanged: QueryHistory, pairs: Sequence[Pair]) -> bool:
    """Whether an application with the change waits for a control, and none is left for any job that still runs.

    The logs of the applications from before may come days late, so not in the first days.
    """
    newest = max((one.started_millis for one in changed.applications), default=0)
    if trial.now_millis is not None:
        # One application with a clock far ahead must not end the wait for all others.
        newest = min(newest, trial.now_millis + DAY_MILLIS)
    if newest - trial.began.after_since_millis < _MOST_DAYS_LATE * DAY_MILLIS:
        return False
    free = unpaired_applications(changed, unchanged, pairs)
    running_since = newest - _MOST_DAYS_APART * DAY_MILLIS
    kinds = {one.kind for one in changed.applications if one.started_millis >= running_since}
    waits = any(one.changed for one in free.values())
    return waits and not any(one.unchanged for kind, one in free.items() if kind in kinds)


def _sides(trial: Trial) -> tuple[QueryHistory, QueryHistory]:
    """The queries with the change, and those without it.

    In the canary events name the arm, and both arms ran at the same time with the same conf. Once all applications have
    the change, none runs without it: the control is the applications from before, those of the canary's control arm
    and those from before the canary.
    """
    last, began = trial.last, trial.began
    newer = applications_since(trial.history, began.after_since_millis)
    changed = _with_change(last, newer)
    if last.ring is Ring.CANARY:
        return changed, in_arm(newer, "control")
    tried = ("canary", "own")
    older = trial.history.of_applications(
        lambda one: trial.since_millis < one.started_millis <= began.before_until_millis
    )
    return changed, older.where(lambda query: query.arm not in tried)


def _with_errors(trial: Trial) -> QueryHistory:
    """The queries whose errors of the plugin count against the change.

    In ``all`` also those of applications that started while the clocks may disagree: an error is no comparison, and
    nothing else would ever tell of an application that lives for weeks.
    """
    began = trial.began
    newer = applications_since(trial.history, min(began.after_since_millis, began.at_millis))
    return _with_change(trial.last, newer)


def _with_change(last: RolloutStep, newer: QueryHistory) -> QueryHistory:
    """The queries with the change, of applications that started after the step into the present ring."""
    if last.ring is Ring.CANARY:
        return in_arm(newer, "canary")
    # Applications in an arm started before the canary's keys were removed.
    return in_arm(newer, None) if last.has_canary else newer


def _new_values(changes: tuple[Change, ...]) -> dict[str, float]:
    return {
        change.key.removeprefix(PREFIX): number
        for change in changes
        if (number := number_of(change.key, change.new or "")) is not None
    }
