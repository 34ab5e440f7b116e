"""What a rollout changes in conf files when it goes from ring to ring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aqe_plugin.conf.canary import keys_of
from aqe_plugin.conf.keys import CANARY
from aqe_plugin.conf.stores.file_store import Where
from aqe_plugin.conf.stores.locate import find_target, read_target
from aqe_plugin.errors import ConflictError
from aqe_plugin.install.controller import Proposal, propose_tuning
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring


def file_changes(step: RolloutStep, ring: Ring, file: Where, environment: Mapping[str, str]) -> tuple[Proposal, ...]:
    """The changes that take a rollout at ``step`` into ``ring``; none when it is there."""
    number, share = step.number, step.canary_share
    canary = None if step.canary is None else find_target(Path(step.canary), None, environment)
    if ring is step.ring:
        return ()
    new = {change.key: change.new for change in step.changes}
    why = step.changes[0].why if step.changes else step.why
    if ring is Ring.CANARY and canary is not None:
        return (propose_tuning(canary, new, f"rollout no. {number}, canary: {why}"),)
    if ring is Ring.CANARY and share is not None:
        tried = keys_of(step.changes, share)
        _require_no_other_canary(file, tried)
        return (propose_tuning(file, tried, f"rollout no. {number}, {share:.3g}: {why}"),)
    without_share: dict[str, str | None] = {} if share is None else dict.fromkeys(keys_of(step.changes, share))
    if ring is Ring.ALL:
        return (propose_tuning(file, {**without_share, **new}, f"rollout no. {number}, all: {why}"),)
    if ring is not Ring.ROLLED_BACK:
        return ()
    back = f"rollout no. {number} goes back"
    undone = []
    if step.ring is Ring.ALL:
        undone.append(propose_tuning(file, {change.key: change.old for change in step.changes}, back))
    if step.ring is Ring.CANARY and share is not None:
        undone.append(propose_tuning(file, without_share, back))
    if canary is not None and step.canary_changes:
        undone.append(propose_tuning(canary, {change.key: change.old for change in step.canary_changes}, back))
    return tuple(undone)


def _require_no_other_canary(file: Where, ours: Mapping[str, str]) -> None:
    target = read_target(file)
    for key, value in target.conf.items().items():
        if key.startswith(CANARY) and ours.get(key) != value:
            raise ConflictError(
                f"{target.store.name}: {key} = {value} belongs to another canary, and two canaries cannot be told "
                "apart. Remove the key and try again."
            )
