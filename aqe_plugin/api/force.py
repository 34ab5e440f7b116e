"""Choices that a user forces, by Spark's hints and by confs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.errors import ConfError, NotAvailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Choice = Literal["spark", "no_filter", "plain_sort_merge", "broadcast", "filtered_sort_merge"]

_JOIN_HINTS = MappingProxyType({"broadcast": "broadcast", "plain_sort_merge": "merge"})
_PROBE_ROWS_KEY = f"{PREFIX}filter.minProbeRows"
_NO_FILTER = MappingProxyType({_PROBE_ROWS_KEY: str(int(conf_keys()[_PROBE_ROWS_KEY].limits[1]))})
_SCOPES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "spark": {f"{PREFIX}mode": "off"},
        "no_filter": _NO_FILTER,
        "plain_sort_merge": {
            **_NO_FILTER,
            f"{PREFIX}broadcast.maxMemoryBytes": "0",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
        },
    }
)
_WHY_NOT_IN_SCOPE = MappingProxyType(
    {
        "broadcast": "a build side that is too large would fail its query. "
        "Force one join: aqe.force('broadcast', side), where side is the frame to broadcast",
        "filtered_sort_merge": "a filter is built only where it cannot change the answer. "
        "Make filters cheap instead: aqe.thresholds(filter_max_pass_rate=1, cost_filter_check_nanos_per_row=0)",
    }
)
_WHY_NOT_FOR_A_JOIN = MappingProxyType(
    {
        "spark": "one join has no such switch. Force all joins: with aqe.force('spark')",
        "no_filter": "one join has no such switch. Force all joins: with aqe.force('no_filter')",
        "filtered_sort_merge": "Spark has no hint for a filter. After aqe.force('plain_sort_merge', side) "
        "the plugin still adds one where it pays",
    }
)


def force_join(side: DataFrame, choice: str) -> DataFrame:
    """``side`` with the join hint for ``choice``; Spark and the plugin follow it in its next join."""
    _require_known(choice)
    if choice not in _JOIN_HINTS:
        raise NotAvailableError(f"{choice!r} cannot be forced for one join: {_WHY_NOT_FOR_A_JOIN[choice]}.")
    return side.hint(_JOIN_HINTS[choice])


def force_in_scope(conf: SessionConf, choice: str) -> ConfScope:
    """Sets the confs that force ``choice`` on every join of the session that has no hint."""
    _require_known(choice)
    if choice not in _SCOPES:
        raise NotAvailableError(f"{choice!r} cannot be forced for every join: {_WHY_NOT_IN_SCOPE[choice]}.")
    return set_for_a_while(conf, _SCOPES[choice], f"force {choice}")


def _require_known(choice: str) -> None:
    known = sorted({*_SCOPES, *_WHY_NOT_IN_SCOPE})
    if choice not in known:
        raise ConfError(f"{choice!r} is not a choice: expected one of {', '.join(known)}.")
