"""What a rollout changes in the conf when it goes from ring to ring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY, CANARY_REPLACES, CANARY_SET, CANARY_SHARE, PREFIX
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import ConflictError
from aqe_plugin.install.controller import Proposal, propose_tuning
from aqe_plugin.tuning.rollout.ledger import RolloutStep
from aqe_plugin.tuning.rollout.rings import Ring


def canary_keys(changes: Iterable[Change], share: float | None) -> dict[str, str]:
    """The keys and values that make ``share`` of the applications try ``changes``; none without a share.

    The plugin reads the keys when an application starts. It gives a drawn application the values as defaults of its
    sessions, and reports each query's arm in its events (:class:`~aqe_plugin.events.model.TrialArm`).
    """
    if share is None:
        return {}
    keys = {CANARY_SHARE: f"{share:.10g}"}
    for change in changes:
        name = change.key.removeprefix(PREFIX)
        if change.new is not None:
            keys[CANARY_SET + name] = change.new
            if change.old is not None:
                keys[CANARY_REPLACES + name] = change.old
    return keys


def file_change(step: RolloutStep, ring: Ring, file: ConfStore) -> Proposal | None:
    """The change that takes a rollout at ``step`` into ``ring``; ``None`` when nothing changes in ``file``."""
    if ring is step.ring:
        return None
    tried = canary_keys(step.changes, step.canary_share)
    why = step.changes[0].why if step.changes else step.why
    if ring is Ring.CANARY:
        require_no_other_canary(file, tried)
        return propose_tuning(file, tried, f"rollout no. {step.number}, {tried[CANARY_SHARE]}: {why}")
    if ring is Ring.ALL:
        new = {change.key: change.new for change in step.changes}
        return propose_tuning(file, {**dict.fromkeys(tried), **new}, f"rollout no. {step.number}, all: {why}")
    back = f"rollout no. {step.number} goes back"
    if ring is Ring.ROLLED_BACK and step.ring is Ring.ALL:
        return propose_tuning(file, {change.key: change.old for change in step.changes}, back)
    if ring is Ring.ROLLED_BACK and step.ring is Ring.CANARY:
        return propose_tuning(file, dict.fromkeys(tried), back)
    return None


def require_no_other_canary(file: ConfStore, ours: Mapping[str, str]) -> None:
    """Refuses a target with keys of a canary that are not ``ours``.

    Raises:
        ConflictError: it has some.
    """
    target = read_target(file)
    for key, value in target.conf.items().items():
        if key.startswith(CANARY) and ours.get(key) != value:
            raise ConflictError(
                f"{target.store.name}: {key} = {value} belongs to another canary, and two canaries cannot be told "
                f"apart. No rollout under way in {target.store.journal_folder} has it: go on on the machine that began "
                "it, or remove the canary.* keys, and try again."
            )
