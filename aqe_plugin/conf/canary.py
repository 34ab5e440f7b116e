"""Values that a share of the applications tries: the conf keys that ask for it, and which applications are drawn.

The plugin reads the keys when an application starts, gives those that are drawn the values as defaults of their
sessions, and says in each of its events on which side the query was (:class:`~aqe_plugin.events.model.TrialArm`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY, CANARY_REPLACES, CANARY_SET, CANARY_SHARE, PREFIX, number_of, problem_of

__all__ = ["Canary", "canary_in", "draws", "keys_of", "position"]

_DOUBLE_BITS = 53


@dataclass(frozen=True, slots=True)
class Canary:
    """What a conf has some of the applications try.

    Attributes:
        share: of the applications, more than 0 and at most 1.
        tried: a change for each key of the plugin, from the value of all applications to the one that is tried.
    """

    share: float
    tried: tuple[Change, ...]


def position(application_id: str) -> float:
    """Where an application is drawn, from 0 on and below 1; the plugin computes the same (``tests/vectors/canary``).

    It is the first 53 bits of the SHA-256 of the id in UTF-8, as a fraction: as good as uniform also for ids that are
    counted up, and a double without rounding.
    """
    digest = int.from_bytes(sha256(application_id.encode()).digest()[:8], "big")
    return (digest >> (64 - _DOUBLE_BITS)) / (1 << _DOUBLE_BITS)


def draws(application_id: str, share: float) -> bool:
    """Whether an application is drawn; one that is stays so with every larger share."""
    return position(application_id) < share


def keys_of(changes: Iterable[Change], share: float) -> dict[str, str]:
    """Key → value, of what a conf has to hold for ``share`` of its applications to try ``changes``."""
    keys = {CANARY_SHARE: f"{share:.10g}"}
    for change in changes:
        name = change.key.removeprefix(PREFIX)
        if change.new is not None:
            keys[CANARY_SET + name] = change.new
            if change.old is not None:
                keys[CANARY_REPLACES + name] = change.old
    return keys


def canary_in(conf: Mapping[str, str]) -> Canary | None:
    """The canary that ``conf`` asks for; ``None`` when that is none, or the plugin would not take it."""
    keys = {key: value for key, value in conf.items() if key.startswith(CANARY)}
    if any(problem_of(key, value) for key, value in keys.items()):
        return None
    named = {key.removeprefix(CANARY_SET) for key in keys if key.startswith(CANARY_SET)}
    replaced = {key.removeprefix(CANARY_REPLACES) for key in keys if key.startswith(CANARY_REPLACES)}
    share = number_of(CANARY_SHARE, keys.get(CANARY_SHARE, ""))
    if not share or not named or replaced - named:
        return None
    tried = (
        Change(PREFIX + name, keys.get(CANARY_REPLACES + name), keys[CANARY_SET + name], f"tried by {share:.3g}")
        for name in sorted(named)
    )
    return Canary(share, tuple(tried))
