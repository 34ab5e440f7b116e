"""What a user decides instead of the plugin: the strategy of a join by Spark's hints or by confs, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.errors import ConfError, NotAvailableError
from aqe_plugin.events.lines import FORCE_KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PluginPart = Literal["plugin", "filters"]

_JOIN_HINTS = MappingProxyType({"broadcast": "broadcast", "shuffled_hash": "shuffle_hash", "plain_sort_merge": "merge"})
_FOR_ALL_JOINS: Mapping[str, str] = MappingProxyType(
    {
        FORCE_KEY: "*=plain_sort_merge",
        # Spark plans these before the plugin decides.
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    }
)
_PARTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"plugin": {f"{PREFIX}mode": "off"}, "filters": {FORCE_KEY: "*=no_filter"}}
)
_WHY_NOT_FOR_ALL = MappingProxyType(
    {
        "broadcast": "a build side may be too large. "
        "Force one join: aqe.force('broadcast', side), where side is the frame to broadcast. "
        f"Force those whose build side fits: {FORCE_KEY} is '*=broadcast'",
        "shuffled_hash": "a build side may be too large for a task. "
        "Force one join: aqe.force('shuffled_hash', side), where side is the frame to hash. "
        f"Force those whose build side fits: {FORCE_KEY} is '*=shuffled_hash'",
        "filtered_sort_merge": "a filter is built only where it cannot change the answer. "
        f"Force the joins that may have one: {FORCE_KEY} is '*=filtered_sort_merge'. "
        "Or make filters cheap: aqe.override(filter_max_pass_rate=1, cost_filter_check_nanos_per_row=0)",
    }
)
_WHY_NOT_FOR_ONE = MappingProxyType(
    {
        "filtered_sort_merge": "Spark has no hint for it. Force the join by the id that aqe.analyze(frame) shows: "
        f"{FORCE_KEY} is '<id>=filtered_sort_merge'. After aqe.force('plain_sort_merge', side) "
        "the plugin still adds a filter where it pays",
    }
)


def force_join(side: DataFrame, strategy: str) -> DataFrame:
    """``side`` with the join hint for ``strategy``; Spark and the plugin follow it in its next join."""
    _require_known(strategy)
    if strategy not in _JOIN_HINTS:
        raise NotAvailableError(f"{strategy!r} cannot be forced for one join: {_WHY_NOT_FOR_ONE[strategy]}.")
    return side.hint(_JOIN_HINTS[strategy])


def force_all(conf: SessionConf, strategy: str) -> ConfScope:
    """Sets the confs that force ``strategy`` on every join of the session that has no hint."""
    _require_known(strategy)
    if strategy in _WHY_NOT_FOR_ALL:
        raise NotAvailableError(f"{strategy!r} cannot be forced for every join: {_WHY_NOT_FOR_ALL[strategy]}.")
    return set_for_a_while(conf, _FOR_ALL_JOINS, f"force {strategy}")


def switch_off(conf: SessionConf, part: str) -> ConfScope:
    """Sets the conf that switches ``part`` off."""
    if part not in _PARTS:
        raise ConfError(f"{part!r} cannot be switched off: expected one of {', '.join(_PARTS)}.")
    return set_for_a_while(conf, _PARTS[part], f"switch off the {part}")


def _require_known(strategy: str) -> None:
    known = sorted({"plain_sort_merge", *_WHY_NOT_FOR_ALL})
    if strategy not in known:
        raise ConfError(
            f"{strategy!r} is no strategy: expected one of {', '.join(known)}. Without filters: "
            "aqe.switch_off('filters'); Spark alone: aqe.switch_off()."
        )
