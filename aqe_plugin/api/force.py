"""Choices that a user forces, by Spark's hints and by confs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.errors import ConfError, NotAvailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Choice = Literal["spark", "no_filter", "plain_sort_merge", "shuffled_hash", "broadcast", "filtered_sort_merge"]

_JOIN_HINTS = MappingProxyType({"broadcast": "broadcast", "shuffled_hash": "shuffle_hash", "plain_sort_merge": "merge"})
_FORCE_KEY = f"{PREFIX}force"
_SCOPES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "spark": {f"{PREFIX}mode": "off"},
        "no_filter": {_FORCE_KEY: "*=no_filter"},
        "plain_sort_merge": {
            _FORCE_KEY: "*=plain_sort_merge",
            # Spark plans these before the plugin decides.
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
        },
    }
)
_WHY_NOT_IN_SCOPE = MappingProxyType(
    {
        "broadcast": "a build side may be too large. "
        "Force one join: aqe.force('broadcast', side), where side is the frame to broadcast. "
        f"Force those whose build side fits: {_FORCE_KEY} is '*=broadcast'",
        "shuffled_hash": "a build side may be too large for a task. "
        "Force one join: aqe.force('shuffled_hash', side), where side is the frame to hash. "
        f"Force those whose build side fits: {_FORCE_KEY} is '*=shuffled_hash'",
        "filtered_sort_merge": "a filter is built only where it cannot change the answer. "
        f"Force the joins that may have one: {_FORCE_KEY} is '*=filtered_sort_merge'. "
        "Or make filters cheap: aqe.thresholds(filter_max_pass_rate=1, cost_filter_check_nanos_per_row=0)",
    }
)


def _by_id(option: str) -> str:
    return (
        "Spark has no hint for it. "
        f"Force the join by the id that aqe.explain(frame) shows: {_FORCE_KEY} is '<id>={option}'"
    )


_WHY_NOT_FOR_A_JOIN = MappingProxyType(
    {
        "spark": f"{_by_id('leave_to_spark')}. Force all joins: with aqe.force('spark')",
        "no_filter": f"{_by_id('no_filter')}. Force all joins: with aqe.force('no_filter')",
        "filtered_sort_merge": f"{_by_id('filtered_sort_merge')}. After aqe.force('plain_sort_merge', side) "
        "the plugin still adds a filter where it pays",
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
