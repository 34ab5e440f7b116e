"""The thresholds of a session: their names in Python, and the values they take.

``spark.aqePlugin.filter.maxPassRate`` is ``filter_max_pass_rate``. The table that the Scala side generates has every
key with its name and what it allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from aqe_plugin.conf.keys import ConfKey, conf_keys, number_of, problem_of, sentence
from aqe_plugin.errors import ConfError


@cache
def threshold_keys() -> Mapping[str, ConfKey]:
    """Name → key, of every threshold that a user may set, in the order of the conf's documentation."""
    return MappingProxyType({known.threshold: known for known in conf_keys().values() if known.threshold is not None})


def conf_values(changes: Mapping[str, object]) -> dict[str, str]:
    """Full key → value as a conf writes it.

    Raises:
        ConfError: a name is no threshold, or a value is not allowed; nothing is taken over then.
    """
    return {_key_named(name).key: _text(_key_named(name), value) for name, value in changes.items()}


def value_of(key: ConfKey, text: str | None) -> float:
    """What ``text`` comes to in the key's unit; its default when it is ``None``.

    Raises:
        ConfError: it is not allowed, so that the plugin stands aside until it is fixed.
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
        raise ConfError(no_threshold(name))
    return known


def no_threshold(name: str) -> str:
    """What is wrong with a name that no threshold has."""
    close = get_close_matches(name, threshold_keys(), n=1)
    return f"{name!r} is no threshold{f'; did you mean {close[0]!r}?' if close else '.'}"


def _text(key: ConfKey, value: object) -> str:
    text = _written(value)
    problem = problem_of(key.key, text) if text else "not allowed: expected a number, or text as in a conf"
    if problem:
        raise ConfError(sentence(f"{key.key} = {value!r} is {problem}"))
    return text


def _written(value: object) -> str:
    """As a conf writes it, whole numbers without a point; empty for what is neither number nor text."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float | str) else ""
