"""Whether somebody changed the keys of a rollout in its files: then the rollout is over, and their edit stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from aqe_plugin.conf.canary import keys_of
from aqe_plugin.conf.keys import CANARY_SHARE, number_of
from aqe_plugin.conf.stores.file_store import Where, store_of
from aqe_plugin.conf.stores.locate import find_target, read_target
from aqe_plugin.install.journal import Action, Phase, journal_of
from aqe_plugin.tuning.rollout.ledger import RolloutStep, step_before_last
from aqe_plugin.tuning.rollout.rings import Ring, is_over

# By key; None is a key that is not set.
Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class _Held:
    """One key of the rollout in one file: its value as expected, as found, and from before the rollout."""

    file: str
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


def manual_edits(steps: Sequence[RolloutStep], file: Where, environment: Mapping[str, str]) -> str | None:
    """A sentence that names every key that somebody changed, with the values that were expected and found.

    Args:
        steps: those of the rollout so far, at least one; if the last was interrupted, each file may hold the values
            from before it or from after it.

    Returns:
        ``None`` when the files hold what they should, or the rollout is over.
    """
    last = steps[-1]
    if last.phase is Phase.DONE and is_over(last.ring):
        return None
    held = [one for each in _files(last, file, environment) for one in _held(steps, each, file)]
    changed = [one for one in held if not one.is_kept]
    if not changed:
        return None
    how = "rolled back by hand" if all(one.is_undone for one in changed) else "changed by hand"
    edits = [f"{one.file}: {one.key}: expected {_text(one.expected)}, found {_text(one.found)}" for one in changed]
    stays = [f"{one.file}: {one.key} = {_text(one.found)}" for one in held if one.is_kept and not one.is_undone]
    return f"{how}: {'; '.join(edits)}" + (f"; left unchanged: {'; '.join(stays)}" if stays else "")


def _files(step: RolloutStep, file: Where, environment: Mapping[str, str]) -> list[Where]:
    return [file] if step.canary is None else [file, find_target(Path(step.canary), None, environment)]


def _held(steps: Sequence[RolloutStep], here: Where, file: Where) -> list[_Held]:
    last, everywhere = steps[-1], store_of(here).name == store_of(file).name
    possible = [last]
    if last.phase is Phase.BEGUN and not _was_carried_out(last, here):
        possible.append(replace(step_before_last(steps, file), canary_changes=last.canary_changes))
    target = read_target(here)
    values_in = _in_target if everywhere else _in_canary
    before = values_in(last, Ring.ROLLED_BACK)
    # A file is replaced as a whole: all its values are of one step.
    readings = [
        [
            _Held(target.store.name, key, value, target.conf.get(key), before.get(key))
            for key, value in values_in(step, step.ring).items()
        ]
        for step in possible
    ]
    return min(readings, key=lambda reading: sum(not one.is_kept for one in reading))


def _was_carried_out(step: RolloutStep, file: Where) -> bool:
    """Whether, by the file's journal, ``step`` changed the file before it was interrupted."""
    return any(
        record.action is Action.TUNE
        and record.phase is Phase.DONE
        and datetime.fromisoformat(record.at).timestamp() >= step.at_millis // 1000
        and record.why.endswith(f": {step.why}")
        for record in journal_of(file).records
    )


def _in_target(step: RolloutStep, ring: Ring) -> Values:
    """The values in ``ring`` in the file that all applications read."""
    old: Values = {change.key: change.old for change in step.changes}
    if ring is Ring.OBSERVE:
        return old
    tried = {} if step.canary_share is None else keys_of(step.changes, step.canary_share)
    if ring is Ring.CANARY:
        return {**old, **tried}
    values = {change.key: change.new for change in step.changes} if ring in (Ring.ALL, Ring.SETTLED) else old
    return {**values, **dict.fromkeys(tried)}


def _in_canary(step: RolloutStep, ring: Ring) -> Values:
    """The values in ``ring`` in the canary's file, before the rollout only those of changed keys."""
    if ring in (Ring.OBSERVE, Ring.ROLLED_BACK):
        return {change.key: change.old for change in step.canary_changes}
    return {change.key: change.new for change in step.changes}


def _same(key: str, one: str | None, other: str | None) -> bool:
    if one is None or other is None or one == other:
        return one == other
    first, second = number_of(key, one), number_of(key, other)
    if key == CANARY_SHARE:
        # Whoever runs the cluster may change the share, as long as it is above 0.
        return bool(first) and bool(second)
    return first is not None and first == second


def _text(value: str | None) -> str:
    return "(not set)" if value is None else value
