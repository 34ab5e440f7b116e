"""The thresholds of a session as typed attributes: their names in Python, and the values they take.

``spark.aqePlugin.filter.maxPassRate`` is ``filter_max_pass_rate``. The table that the Scala side generates has every
key with its name and what it allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.conf.keys import ConfKey, conf_keys, number_of, problem_of, sentence
from aqe_plugin.errors import ConfError

if TYPE_CHECKING:
    from aqe_plugin.api.threshold_fields import ThresholdFields
else:
    # The names come from the table of keys; the stub tells type checkers and editors the same.
    ThresholdFields = object


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


class SessionThresholds(Shown, ThresholdFields):
    """Every threshold of the session by its name; units and ranges are those of ``docs/reference/configuration.md``.

    An attribute that is set stays set until the session ends or :meth:`reset`; ``AqePlugin.override`` sets several for
    a while. A query uses the values it was first planned with.

    Raises:
        ConfError: on reading, when the session's conf has a value that is not allowed; on setting, before anything is
            set, when a name is no threshold or a value is out of range.
    """

    __slots__ = ("session_conf",)

    def __init__(self, session_conf: SessionConf) -> None:
        self.session_conf = session_conf

    # The generated stub has every threshold, so a type checker finds a misspelt one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> float:
            key = threshold_keys().get(name)
            if key is None:
                raise AttributeError(no_threshold(name))
            value = value_of(key, self.session_conf.get(key.key, None))
            return value if key.type == "number" else int(value)

        def __setattr__(self, name: str, value: float | str | SessionConf) -> None:
            if name in self.__slots__:
                object.__setattr__(self, name, value)
                return
            if name not in threshold_keys():
                raise AttributeError(no_threshold(name))
            for key, text in conf_values({name: value}).items():
                self.session_conf.set(key, text)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *threshold_keys()]

    def as_dict(self) -> dict[str, float]:
        """Name → value of all of them, in the unit of each."""
        return {name: value_of(key, self.session_conf.get(key.key, None)) for name, key in threshold_keys().items()}

    def reset(self) -> ConfScope:
        """Unsets all, so that each has the default in its documentation; gives back what undoes it."""
        ours = (key.key for key in threshold_keys().values())
        present = {key: None for key in ours if self.session_conf.get(key, None) is not None}
        return set_for_a_while(self.session_conf, present, "back to its default")

    def _tables(self) -> tuple[Table, ...]:
        rows = []
        for name, key in threshold_keys().items():
            text = self.session_conf.get(key.key, None)
            rows.append((name, key.default if text is None else text, key.default, key.unit, key.allowed))
        return (Table("Thresholds of this session", ("name", "value", "default", "unit", "allowed"), tuple(rows)),)
