"""What thresholds are called in Python, and the values they take.

``spark.aqePlugin.filter.maxPassRate`` is ``filter_max_pass_rate``; which keys there are, and what each allows, is in
the table that the Scala side generates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import TypedDict

from aqe_plugin.conf.keys import PREFIX, ConfKey, conf_keys, number_of, problem_of
from aqe_plugin.errors import ConfError

__all__ = ["ThresholdChanges", "conf_values", "threshold_keys", "value_of"]

_NO_THRESHOLDS = ("mode", "decisions.", "canary.", "test.")
_HUMP = re.compile(r"(?=[A-Z])")


class ThresholdChanges(TypedDict, total=False):
    """New values by name. Text is read as a conf would be, ``"256m"`` for bytes."""

    filter_false_positive_rate: float | str
    filter_max_bytes: int | str
    filter_exact_max_keys: int | str
    filter_in_list_max_keys: int | str
    filter_build_timeout: int | str
    filter_max_pass_rate: float | str
    filter_max_per_scan: int | str
    filter_min_probe_rows: int | str
    filter_composite_factor: float | str
    filter_self_disable_sample_batches: int | str
    filter_self_disable_max_pass_rate: float | str
    filter_self_disable_skip_batches: int | str
    broadcast_max_memory_bytes: int | str
    broadcast_max_rows: int | str
    broadcast_hash_bytes_per_row: int | str
    wait_saving_share: float | str
    wait_kept_per_predicate: float | str
    wait_max_idle: int | str
    cost_shuffle_nanos_per_byte: float | str
    cost_shuffle_nanos_per_row: float | str
    cost_sort_nanos_per_comparison: float | str
    cost_merge_nanos_per_row: float | str
    cost_hash_build_nanos_per_row: float | str
    cost_hash_probe_nanos_per_row: float | str
    cost_collect_nanos_per_byte: float | str
    cost_broadcast_nanos_per_byte: float | str
    cost_filter_build_nanos_per_row: float | str
    cost_filter_check_nanos_per_row: float | str
    cost_filter_hash_nanos_per_column: float | str
    cost_row_pipeline_nanos_per_row: float | str
    cost_scan_nanos_per_byte: float | str
    cost_job_launch_nanos: float | str
    cost_tie_ratio: float | str


@cache
def threshold_keys() -> Mapping[str, ConfKey]:
    """Name → key, of every threshold that a user may set, in the order of the conf's documentation."""
    return MappingProxyType(
        {
            _HUMP.sub("_", key.removeprefix(PREFIX)).replace(".", "_").lower(): known
            for key, known in conf_keys().items()
            if not key.removeprefix(PREFIX).startswith(_NO_THRESHOLDS)
        }
    )


def conf_values(changes: Mapping[str, object]) -> dict[str, str]:
    """Full key → value as a conf writes it.

    Raises:
        ConfError: a name is no threshold, or a value is not allowed; nothing is taken over then.
    """
    return {_key_named(name).key: _text(_key_named(name), value) for name, value in changes.items()}


def value_of(key: ConfKey, text: str | None) -> float:
    """What ``text`` comes to in the key's unit; its default when it is ``None``.

    Raises:
        ConfError: it is not allowed, so that the plugin stands aside until it is mended.
    """
    number = number_of(key.key, key.default if text is None else text)
    if number is None:
        raise ConfError(
            f"{key.key} = {text!r} is {problem_of(key.key, text or '')}. "
            "Until it is changed or unset, queries run as if the plugin were off."
        )
    return number


def _key_named(name: str) -> ConfKey:
    known = threshold_keys().get(name)
    if known is None:
        close = get_close_matches(name, threshold_keys(), n=1)
        raise ConfError(f"{name!r} is no threshold{f'; meant was {close[0]!r}?' if close else '.'}")
    return known


def _text(key: ConfKey, value: object) -> str:
    text = _written(value)
    problem = problem_of(key.key, text) if text else "not allowed: expected a number, or text as in a conf"
    if problem:
        raise ConfError(f"{key.key} = {value!r} is {problem}.")
    return text


def _written(value: object) -> str:
    """As a conf writes it, whole numbers without a point; empty for what is neither number nor text."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float | str) else ""
