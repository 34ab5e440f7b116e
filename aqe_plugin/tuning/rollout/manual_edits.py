"""Whether somebody else changed what a rollout left in its files: then it is over, and what they did stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from aqe_plugin.conf.canary import keys_of
from aqe_plugin.conf.keys import CANARY_SHARE, number_of
from aqe_plugin.conf.stores.locate import Where, find_target, read_target, store_of
from aqe_plugin.install.journal import Action, Phase, journal_of
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring, is_over

__all__ = ["why_over"]

# By key; None stands for a key that is not set.
Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class _Held:
    """One key of the rollout in one file: what should stand there, what does, and what did before the rollout."""

    place: str
    key: str
    expected: str | None
    found: str | None
    before: str | None

    @property
    def is_kept(self) -> bool:
        return _same(self.key, self.expected, self.found)

    @property
    def is_undone(self) -> bool:
        return _same(self.key, self.before, self.found)


def why_over(steps: Sequence[RolloutStep], file: Where, environment: Mapping[str, str]) -> str | None:
    """A sentence with every key that somebody else changed, what was expected and what was found.

    Args:
        steps: those of the rollout so far, at least one; the last may have been cut off, and each file then holds what
            the step before left, or what this one does.

    Returns:
        ``None`` when the files hold what they should, or the rollout is over.

    Raises:
        TargetError: a file cannot be read.
        ConflictError: it is written in a way that is not understood.
        JournalError: what was written down about it cannot be used.
    """
    last = steps[-1]
    if last.phase is Phase.DONE and is_over(last.ring):
        return None
    held = [one for place in _places(last, file, environment) for one in _held(steps, place, file)]
    changed = [one for one in held if not one.is_kept]
    if not changed:
        return None
    who = "taken back by hand" if all(one.is_undone for one in changed) else "changed by hand"
    told = [f"{one.place}: {one.key}: expected {_told(one.expected)}, found {_told(one.found)}" for one in changed]
    stays = [f"{one.place}: {one.key} = {_told(one.found)}" for one in held if one.is_kept and not one.is_undone]
    return "; ".join([f"{who}: {told[0]}", *told[1:]]) + (f"; left as it is: {'; '.join(stays)}" if stays else "")


def _places(step: RolloutStep, file: Where, environment: Mapping[str, str]) -> list[Where]:
    return [file] if step.canary is None else [file, find_target(Path(step.canary), None, environment)]


def _held(steps: Sequence[RolloutStep], place: Where, file: Where) -> list[_Held]:
    last, everywhere = steps[-1], store_of(place).name == store_of(file).name
    possible = [last]
    if last.phase is Phase.BEGUN and not _was_carried_out(last, place):
        possible.append(replace(steps[-2], canary_changes=last.canary_changes))
    target = read_target(place)
    values_in = _in_target if everywhere else _in_canary
    before = values_in(last, Ring.ROLLED_BACK)
    # What a file holds is of one step as a whole, since it is replaced as a whole.
    readings = [
        [
            _Held(target.store.name, key, value, target.conf.get(key), before.get(key))
            for key, value in values_in(step, step.ring).items()
        ]
        for step in possible
    ]
    return min(readings, key=lambda reading: sum(not one.is_kept for one in reading))


def _was_carried_out(step: RolloutStep, place: Where) -> bool:
    """Whether the journal has it that the file held what ``step`` was to leave: it was not cut off before."""
    return any(
        record.action is Action.TUNE
        and record.phase is Phase.DONE
        and datetime.fromisoformat(record.at).timestamp() >= step.at_millis // 1000
        and record.why.endswith(f": {step.why}")
        for record in journal_of(place).records
    )


def _in_target(step: RolloutStep, ring: Ring) -> Values:
    """What the file that all applications read holds in ``ring``."""
    old: Values = {change.key: change.old for change in step.changes}
    if ring is Ring.OBSERVE:
        return old
    tried = {} if step.canary_share is None else keys_of(step.changes, step.canary_share)
    if ring is Ring.CANARY:
        return {**old, **tried}
    values = {change.key: change.new for change in step.changes} if ring in (Ring.ALL, Ring.SETTLED) else old
    return {**values, **dict.fromkeys(tried)}


def _in_canary(step: RolloutStep, ring: Ring) -> Values:
    """What the file of the canary holds in ``ring``; of what it held before, only the keys that were changed."""
    if ring in (Ring.OBSERVE, Ring.ROLLED_BACK):
        return {change.key: change.old for change in step.canary_changes}
    return {change.key: change.new for change in step.changes}


def _same(key: str, one: str | None, other: str | None) -> bool:
    if one is None or other is None or one == other:
        return one == other
    first, second = number_of(key, one), number_of(key, other)
    if key == CANARY_SHARE:
        # How many try it is for whoever runs the cluster to say, as long as somebody does.
        return bool(first) and bool(second)
    return first is not None and first == second


def _told(value: str | None) -> str:
    return "(not set)" if value is None else value
