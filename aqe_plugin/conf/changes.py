"""One change of a conf key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Change", "changes_between", "merged"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to ``key``; ``None`` stands for a key that is not set."""

    key: str
    old: str | None
    new: str | None
    why: str


def changes_between(before: Mapping[str, str], after: Mapping[str, str], why: str) -> tuple[Change, ...]:
    """Every key that reads differently, in alphabetical order."""
    keys = sorted({*before, *after})
    return tuple(Change(key, before.get(key), after.get(key), why) for key in keys if before.get(key) != after.get(key))


def merged(changes: tuple[Change, ...]) -> dict[str, Change]:
    """Key → what all of its changes, in order, come to: the first's old value and the last's new one."""
    found: dict[str, Change] = {}
    for change in changes:
        first = found.get(change.key, change)
        found[change.key] = Change(change.key, first.old, change.new, change.why)
    return found
