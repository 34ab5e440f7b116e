"""What a user can decide instead of the plugin, by the ways that Spark and the plugin have for it: hints and confs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.conf.keys import PREFIX, conf_keys
from aqe_plugin.errors import ConfError, NotAvailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Choice", "force_in_scope", "force_join"]

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
        "Force one join: aqe.force('broadcast', side), with the frame to be broadcast",
        "filtered_sort_merge": "a filter is built only where it cannot change the answer. "
        "Make filters cheap instead: aqe.thresholds(filter_max_pass_rate=1, cost_filter_check_nanos_per_row=0)",
    }
)
_WHY_NOT_FOR_A_JOIN = MappingProxyType(
    {
        "spark": "a join has no switch of its own. Force it for all: with aqe.force('spark')",
        "no_filter": "a join has no switch of its own. Force it for all: with aqe.force('no_filter')",
        "filtered_sort_merge": "Spark has no hint for a filter. After aqe.force('plain_sort_merge', side) "
        "the plugin still adds one where it pays",
    }
)


def force_join(side: DataFrame, choice: str) -> DataFrame:
    """``side`` with the join hint for ``choice``; the next join of it follows the hint, as the plugin does."""
    _require_known(choice)
    if choice not in _JOIN_HINTS:
        raise NotAvailableError(f"{choice!r} cannot be forced for one join: {_WHY_NOT_FOR_A_JOIN[choice]}.")
    return side.hint(_JOIN_HINTS[choice])


def force_in_scope(conf: SessionConf, choice: str) -> ConfScope:
    """Sets what makes every join of the session go by ``choice``, hinted ones apart."""
    _require_known(choice)
    if choice not in _SCOPES:
        raise NotAvailableError(f"{choice!r} cannot be forced for every join: {_WHY_NOT_IN_SCOPE[choice]}.")
    return set_for_a_while(conf, _SCOPES[choice], f"force {choice}")


def _require_known(choice: str) -> None:
    known = sorted({*_SCOPES, *_WHY_NOT_IN_SCOPE})
    if choice not in known:
        raise ConfError(f"{choice!r} is no choice: expected one of {', '.join(known)}.")
