"""One threshold of a session as a typed attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, overload

from aqe_plugin.api.session_confs import SessionConf
from aqe_plugin.api.threshold_names import conf_values, threshold_keys, value_of
from aqe_plugin.conf.keys import ConfKey

N = TypeVar("N", bound=float)


class HasSessionConf(Protocol):
    """What the attribute is of: something that reads and sets the conf of one session."""

    @property
    def session_conf(self) -> SessionConf:
        """The conf."""
        ...


class Threshold(Generic[N]):
    """One of them: reading it asks the session, setting it checks the value and sets the session's conf."""

    def __init__(self, kind: Callable[[float], N]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @property
    def key(self) -> ConfKey:
        """The conf key behind it, with default, unit and range."""
        return threshold_keys()[self._name]

    @overload
    def __get__(self, thresholds: None, owner: type) -> Threshold[N]: ...

    @overload
    def __get__(self, thresholds: HasSessionConf, owner: type) -> N: ...

    def __get__(self, thresholds: HasSessionConf | None, owner: type) -> Threshold[N] | N:
        if thresholds is None:
            return self
        return self._kind(value_of(self.key, thresholds.session_conf.get(self.key.key, None)))

    def __set__(self, thresholds: HasSessionConf, value: N | str) -> None:
        for key, text in conf_values({self._name: value}).items():
            thresholds.session_conf.set(key, text)
