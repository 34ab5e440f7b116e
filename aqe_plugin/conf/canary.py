"""The canary: values that a share of the applications tries, and the keys that ask for it.

The plugin reads the keys when an application starts. It gives an application in the canary the values as defaults of its
sessions, and reports each query's arm in its events (:class:`~aqe_plugin.events.model.TrialArm`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.keys import CANARY, CANARY_REPLACES, CANARY_SET, CANARY_SHARE, PREFIX, number_of, problem_of


@dataclass(frozen=True, slots=True)
class Canary:
    """A canary that a conf asks for.

    Attributes:
        share: the share of the applications, above 0 and at most 1.
        tried: for each key of the plugin, the change from the common value to the tried one.
    """

    share: float
    tried: tuple[Change, ...]


def keys_of(changes: Iterable[Change], share: float) -> dict[str, str]:
    """The keys and values that make ``share`` of a conf's applications try ``changes``."""
    keys = {CANARY_SHARE: f"{share:.10g}"}
    for change in changes:
        name = change.key.removeprefix(PREFIX)
        if change.new is not None:
            keys[CANARY_SET + name] = change.new
            if change.old is not None:
                keys[CANARY_REPLACES + name] = change.old
    return keys


def canary_in(conf: Mapping[str, str]) -> Canary | None:
    """The canary that ``conf`` asks for, ``None`` when it asks for none or the plugin would refuse it."""
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
