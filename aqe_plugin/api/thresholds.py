"""The thresholds of one session, as typed attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.api.threshold import conf_values, no_threshold, threshold_keys, value_of

if TYPE_CHECKING:
    from aqe_plugin.api.threshold_fields import ThresholdFields
else:
    # The names come from the table of keys; the stub tells type checkers and editors the same.
    ThresholdFields = object


class SessionThresholds(Shown, ThresholdFields):
    """Every threshold of the session by its name; units and ranges are those of ``docs/configuration.md``.

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
