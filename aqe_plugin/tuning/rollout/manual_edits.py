"""Whether somebody changed the keys of a rollout in its file: then the rollout is over, and their edit stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqe_plugin.conf.keys import CANARY_SHARE, conf_keys, number_of
from aqe_plugin.conf.stores.locate import Target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.install.journal import journal_of
from aqe_plugin.tuning.rollout.file_changes import canary_keys
from aqe_plugin.tuning.rollout.ledger import RolloutStep, step_before_last
from aqe_plugin.tuning.rollout.rings import Ring, is_over

# By key; None is a key that is not set.
Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class _Held:
    """One key of the rollout: its value as expected, as found, and from before the rollout."""

    file: str
    key: str
    expected: str | None
    found: str | None
    before: str | None

    @property
    def is_kept(self) -> bool:
        return same_value(self.key, self.expected, self.found)

    @property
    def is_undone(self) -> bool:
        return same_value(self.key, self.before, self.found)


def carried_out_elsewhere(steps: Sequence[RolloutStep], target: Target) -> Ring | None:
    """The ring that follows, if the file has its values already: somebody took the step, by a repository or by hand."""
    last = steps[-1]
    following = {Ring.OBSERVE: Ring.CANARY if last.has_canary else Ring.ALL, Ring.CANARY: Ring.ALL}.get(last.ring)
    if last.phase == "begun" or following is None:
        return None
    return following if all(one.is_kept for one in _reading(last, following, target)) else None


@dataclass(frozen=True, slots=True)
class ManualEdits:
    """What somebody changed of a rollout's keys.

    Attributes:
        text: a sentence that names every such key, with the values that were expected and found.
        are_a_rollback: whether every such key has its value from before the rollout.
    """

    text: str
    are_a_rollback: bool


def manual_edits(steps: Sequence[RolloutStep], target: Target) -> ManualEdits | None:
    """What somebody changed of the keys of the last rollout.

    Args:
        steps: those of the rollout so far, at least one; if the last was interrupted, the file may hold the values from
            before it or from after it.
        target: the file as it is now.

    Returns:
        ``None`` when the file holds what it should, or the rollout is over; but one that settled may be taken back as a
        whole.
    """
    last = steps[-1]
    is_done = last.phase == "done" and is_over(last.ring)
    if is_done and last.ring is not Ring.SETTLED:
        return None
    held = _held(steps, target)
    changed = [one for one in held if not one.is_kept]
    if not changed or (is_done and not all(one.is_undone for one in held)):
        return None
    keeper = target.store.keeper
    undone = all(one.is_undone for one in changed)
    by = f"by {keeper}, which keeps it as its repository says" if keeper else "by hand"
    command = _last_command(target.store)
    if command == "uninstall" or (undone and command == "rollback"):
        by = f"by aqe-plugin {command}"
    how = f"rolled back {by}" if undone else f"changed {by}"
    edits = [f"{one.file}: {one.key}: expected {_text(one.expected)}, found {_text(one.found)}" for one in changed]
    stays = [f"{one.file}: {one.key} = {_text(one.found)}" for one in held if one.is_kept and not one.is_undone]
    kept = f"; left unchanged: {'; '.join(stays)}" if stays else ""
    return ManualEdits(f"{how}: {'; '.join(edits)}{kept}", undone)


def _held(steps: Sequence[RolloutStep], target: Target) -> list[_Held]:
    last = steps[-1]
    possible = [last]
    if last.phase == "begun" and not _was_carried_out(last, target.store):
        possible.append(step_before_last(steps, target.store))
    # A file is replaced as a whole: all its values are of one step.
    readings = [_reading(step, step.ring, target) for step in possible]
    return min(readings, key=lambda reading: sum(not one.is_kept for one in reading))


def _reading(step: RolloutStep, ring: Ring, target: Target) -> list[_Held]:
    """Each key of the rollout, with its value in ``ring`` as the expected one."""
    before = _values(step, Ring.ROLLED_BACK)
    return [
        _Held(target.store.name, key, value, target.conf.get(key), before.get(key))
        for key, value in _values(step, ring).items()
    ]


def _was_carried_out(step: RolloutStep, file: ConfStore) -> bool:
    """Whether, by the file's journal, ``step`` changed the file before it was interrupted."""
    return any(record.step == step.id and record.phase == "done" for record in journal_of(file).records)


def _last_command(file: ConfStore) -> str:
    """What the file's journal has last; empty without any."""
    return next((one.action for one in reversed(journal_of(file).records) if one.phase == "done"), "")


def _values(step: RolloutStep, ring: Ring) -> Values:
    """The values of the rollout's keys in ``ring``."""
    old: Values = {change.key: change.old for change in step.changes}
    if ring is Ring.OBSERVE:
        return old
    tried = canary_keys(step.changes, step.canary_share)
    if ring is Ring.CANARY:
        return {**old, **tried}
    values = {change.key: change.new for change in step.changes} if ring in (Ring.ALL, Ring.SETTLED) else old
    return {**values, **dict.fromkeys(tried)}


def same_value(key: str, one: str | None, other: str | None) -> bool:
    """Whether two values of ``key`` mean the same, in whatever notation; ``None`` is a key that is not set."""
    if one is None or other is None or one == other:
        return one == other
    known = conf_keys().get(key)
    if known is not None and known.allowed.startswith("one of "):
        return one.lower() == other.lower()
    first, second = number_of(key, one), number_of(key, other)
    if key == CANARY_SHARE:
        # Whoever runs the cluster may change the share, as long as it is above 0.
        return bool(first) and bool(second)
    return first is not None and first == second


def _text(value: str | None) -> str:
    return "(not set)" if value is None else value
