"""Changes of conf keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aqe_plugin.conf.credentials import value_without_secrets


@dataclass(frozen=True, slots=True)
class Change:
    """A change of ``key``; ``None`` is a key that is not set."""

    key: str
    old: str | None
    new: str | None
    why: str


def as_kept(change: Change) -> Change:
    """``change`` as journals and screens have it: no password in an address, no value of a key named as a secret."""
    old, new = (value and value_without_secrets(change.key, value) for value in (change.old, change.new))
    return replace(change, old=old, new=new)


def changes_between(before: Mapping[str, str], after: Mapping[str, str], why: str) -> tuple[Change, ...]:
    """Every key whose value differs, in alphabetical order."""
    keys = sorted({*before, *after})
    return tuple(Change(key, before.get(key), after.get(key), why) for key in keys if before.get(key) != after.get(key))


def merged(changes: tuple[Change, ...]) -> dict[str, Change]:
    """By key, its changes as one: from the old value of the first to the new value of the last."""
    found: dict[str, Change] = {}
    for change in changes:
        first = found.get(change.key, change)
        found[change.key] = Change(change.key, first.old, change.new, change.why)
    return found
