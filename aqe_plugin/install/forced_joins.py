"""What ``spark.aqePlugin.force`` forces on which join."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from aqe_plugin.conf.keys import forced_joins
from aqe_plugin.events.lines import FORCE_KEY

_ALL_OTHERS = "*"
_SHOWN = 3


def entry_for(value: str, join_id: str) -> str:
    """The entry of ``value`` that a join follows, ``inner:a=b=broadcast`` or ``*=no_filter``; empty without one."""
    entries = dict(forced_joins(value))
    named = next((join for join in (join_id, _ALL_OTHERS) if join in entries), None)
    return "" if named is None else f"{named}={entries[named]}"


def not_forced(value: str, decided: Collection[str]) -> str:
    """A sentence on the joins that ``value`` names and that are not among the ``decided``, with the ids that there are,
    the nearest first; empty without one."""
    absent = [join for join, _ in forced_joins(value) if join not in {*decided, _ALL_OTHERS}]
    if not absent:
        return ""
    nearest = [close for join in absent for close in get_close_matches(join, decided, n=_SHOWN, cutoff=0.6)]
    ids = list(dict.fromkeys([*nearest, *sorted(decided)]))
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    there = f" Ids that were decided{', the nearest first' if nearest else ''}: {', '.join(ids[:_SHOWN])}{more}."
    which = "this id" if len(absent) == 1 else "these ids"
    return f"{FORCE_KEY} names {', '.join(absent)}: no join with {which} was decided.{there if ids else ''}"
