"""What somebody else changed in a target, in words, without values that may be secret."""

from __future__ import annotations

import re
import shlex

from aqe_plugin.conf.changes import changes_between
from aqe_plugin.conf.keys import CANARY, problem_of_change
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import AqePluginError
from aqe_plugin.install.plan import is_ours


def items_in(store: ConfStore, content: bytes | None) -> dict[str, str]:
    """The keys in ``content``, none if it cannot be parsed: it is about to be replaced."""
    try:
        return store.parse(content).items()
    except AqePluginError:
        return {}


def how_to_keep(store: ConfStore, expected: bytes | None, found: bytes | None) -> str:
    """How to keep the plugin's own keys that somebody set by hand; empty where there are none."""
    changes = changes_between(items_in(store, expected), items_in(store, found), "")
    ours = [
        one
        for one in changes
        if is_ours(one.key) and not one.key.startswith(CANARY) and one.new and not problem_of_change(one.key, one.new)
    ]
    if not ours:
        return ""
    sets = " ".join(f"--set {shlex.quote(f'{one.key}={one.new}')}" for one in ours)
    target = shlex.quote(store.name)
    return f"To keep it, take it out, roll back, and then: aqe-plugin rollout --target {target} {sets} --yes."


def difference(store: ConfStore, expected: bytes | None, found: bytes | None) -> str:
    """The difference, without values, which may be secret."""
    if found is None:
        return "the file is gone"
    keys = [change.key for change in changes_between(items_in(store, expected), items_in(store, found), "")]
    lines = (found or b"").decode("utf-8", "replace").split("\n")
    # Of several lines of a key the last counts.
    at = {key: max((number for number, line in enumerate(lines, 1) if _sets(line, key)), default=0) for key in keys}
    named = [f"{key} (line {at[key]})" if at[key] else key for key in keys]
    return f"it differs in {', '.join(named)}" if keys else "it differs in comments or layout"


def _sets(line: str, key: str) -> bool:
    return re.match(rf"\s*{re.escape(key)}[\s:=]", line) is not None
