"""What earlier rollouts mean for the next recommendation: a change that went back is not tried again at once.

The runs that suggested it are still there and suggest it again the next day. Tried on the same evidence until it passes
once, any change passes, and a harmful one is in the canary again and again. So a group that went back is judged by runs
newer than that, the same direction of it only after ``WAIT_DAYS`` of them; and each further attempt must be surer, so
that the chance of confirming a change that does nothing stays bounded however many attempts there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import groupby

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import number_of
from aqe_plugin.tuning.groups import COEFFICIENTS, GATES, Group, value_of
from aqe_plugin.tuning.history import DAY_MILLIS
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Finding, Limits, Recommendation
from aqe_plugin.tuning.replay import Replay
from aqe_plugin.tuning.rollout.ledger import ASKED, RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring
from aqe_plugin.tuning.runs import Run

WAIT_DAYS = 14


@dataclass(frozen=True, slots=True)
class _WentBack:
    """The last rollout of a group that went back, by its last step."""

    step: RolloutStep

    @property
    def at_millis(self) -> int:
        return self.step.after_since_millis

    def is_same(self, made: Recommendation) -> bool:
        """Whether ``made`` changes the values in the same direction."""
        return any(
            rise is not None and rise == (one.new > one.old)
            for change in self.step.changes
            for one in made.changes
            if one.key == change.key and (rise := _rises(change)) is not None
        )

    def in_words(self) -> str:
        day = datetime.fromtimestamp(self.at_millis / 1000, timezone.utc).date()
        return f"rollout no. {self.step.number} of it went back on {day}"


def findings_after(
    steps: Sequence[RolloutStep],
    runs: Sequence[Run],
    thresholds: Mapping[str, float],
    limits: Limits,
    replay: Replay,
    *,
    groups: Sequence[Group] = (*COEFFICIENTS, *GATES),
) -> tuple[Finding, ...]:
    """:func:`recommend`, but a group that went back is judged by newer runs, and its direction is held back at first.

    Args:
        steps: those of all earlier rollouts of the target.
        limits: as of :func:`sure_enough`.
    """
    back = _went_back(steps)
    newest = max((run.at_millis for run in runs), default=0)

    def since(group: Group) -> int:
        return back[group.name].at_millis if group.name in back else 0

    found: dict[str, Finding] = {}
    for at_millis, some in groupby(sorted(groups, key=since), since):
        newer = [run for run in runs if run.at_millis > at_millis]
        found |= {one.group: one for one in recommend(newer, thresholds, limits, replay, tuple(some))}
    return tuple(_held_back(found[group.name], back.get(group.name), newest) for group in groups)


def tried_until(steps: Sequence[RolloutStep], group: str) -> int:
    """When a rollout of ``group`` went back last; only later runs may confirm another one."""
    back = _went_back(steps).get(group)
    return 0 if back is None else back.at_millis


def sure_enough(steps: Sequence[RolloutStep], limits: Limits) -> Limits:
    """The limits of the next recommendation: of the *k*-th since one settled, the chance of error is divided by 4 *k*².

    So the chances of all attempts together, however many there are, add up to 0.41 of that of ``limits``. Runs of one
    time share what happened then, so that the half that confirms errs with the half that chose: simulated fleets at
    their best need the factor.
    """
    attempt = 1
    for last in _last_steps(steps):
        attempt = 1 if last.ring is Ring.SETTLED else attempt + (last.ring is Ring.ROLLED_BACK)
    return replace(limits, min_confidence=1 - (1 - limits.min_confidence) / (4 * attempt**2))


def _held_back(finding: Finding, back: _WentBack | None, newest_millis: int) -> Finding:
    if back is None:
        return finding
    made = finding.recommendation
    if made is None:
        return replace(finding, reason=f"{finding.reason}, since {back.in_words()}")
    if not back.is_same(made) or newest_millis - back.at_millis >= WAIT_DAYS * DAY_MILLIS:
        return finding
    held = f"held back: {back.in_words()}; tried again after {WAIT_DAYS} days of newer runs"
    return Finding(finding.group, None, held, held_back=True)


def _went_back(steps: Sequence[RolloutStep]) -> dict[str, _WentBack]:
    return {last.group: _WentBack(last) for last in _last_steps(steps) if last.ring is Ring.ROLLED_BACK}


def _last_steps(steps: Sequence[RolloutStep]) -> Iterator[RolloutStep]:
    """The last step of each rollout of a recommendation, in their order."""
    for _, some in groupby(steps, lambda step: step.number):
        *_, last = some
        if last.group != ASKED:
            yield last


def _rises(change: Change) -> bool | None:
    """Whether a change raises its value; ``None`` when this version does not know its key or value."""
    new = number_of(change.key, change.new or "")
    return None if new is None else new > value_of({} if change.old is None else {change.key: change.old}, change.key)
