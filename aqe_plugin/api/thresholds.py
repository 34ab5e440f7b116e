"""The thresholds of one session, as typed attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from aqe_plugin.api.session_confs import ConfScope, SessionConf, set_for_a_while
from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.api.threshold_names import ThresholdChanges, conf_values, threshold_keys, value_of
from aqe_plugin.conf.keys import ConfKey

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SessionThresholds", "Threshold"]

N = TypeVar("N", bound=float)


class Threshold(Generic[N]):
    """One of them: reading it asks the session, setting it checks the value and sets the session's conf."""

    def __init__(self, kind: Callable[[float], N]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type[SessionThresholds], name: str) -> None:
        self._name = name

    @property
    def key(self) -> ConfKey:
        """The conf key behind it, with default, unit and range."""
        return threshold_keys()[self._name]

    @overload
    def __get__(self, thresholds: None, owner: type[SessionThresholds]) -> Threshold[N]: ...

    @overload
    def __get__(self, thresholds: SessionThresholds, owner: type[SessionThresholds]) -> N: ...

    def __get__(self, thresholds: SessionThresholds | None, owner: type[SessionThresholds]) -> Threshold[N] | N:
        if thresholds is None:
            return self
        return self._kind(value_of(self.key, thresholds.session_conf.get(self.key.key, None)))

    def __set__(self, thresholds: SessionThresholds, value: N | str) -> None:
        for key, text in conf_values({self._name: value}).items():
            thresholds.session_conf.set(key, text)


class SessionThresholds:
    """Every threshold of the session by its name; units and ranges are those of ``docs/configuration.md``.

    An attribute that is set stays set until the session ends or :meth:`reset`. Calling the object sets several and
    gives back what undoes it, best with ``with``. A query uses the values it was first planned with.

    Raises:
        ConfError: on reading, when the session's conf has a value that is not allowed; on setting, before anything is
            set, when a name is no threshold or a value is out of range.
    """

    __slots__ = ("session_conf",)

    filter_false_positive_rate = Threshold(float)
    filter_max_bytes = Threshold(int)
    filter_exact_max_keys = Threshold(int)
    filter_in_list_max_keys = Threshold(int)
    filter_build_timeout = Threshold(int)
    filter_max_pass_rate = Threshold(float)
    filter_max_per_scan = Threshold(int)
    filter_min_probe_rows = Threshold(int)
    filter_composite_factor = Threshold(float)
    filter_self_disable_sample_batches = Threshold(int)
    filter_self_disable_max_pass_rate = Threshold(float)
    filter_self_disable_skip_batches = Threshold(int)
    broadcast_max_memory_bytes = Threshold(int)
    broadcast_max_rows = Threshold(int)
    broadcast_hash_bytes_per_row = Threshold(int)
    wait_saving_share = Threshold(float)
    wait_kept_per_predicate = Threshold(float)
    wait_max_idle = Threshold(int)
    cost_shuffle_nanos_per_byte = Threshold(float)
    cost_shuffle_nanos_per_row = Threshold(float)
    cost_sort_nanos_per_comparison = Threshold(float)
    cost_merge_nanos_per_row = Threshold(float)
    cost_hash_build_nanos_per_row = Threshold(float)
    cost_hash_probe_nanos_per_row = Threshold(float)
    cost_collect_nanos_per_byte = Threshold(float)
    cost_broadcast_nanos_per_byte = Threshold(float)
    cost_filter_build_nanos_per_row = Threshold(float)
    cost_filter_check_nanos_per_row = Threshold(float)
    cost_filter_hash_nanos_per_column = Threshold(float)
    cost_row_pipeline_nanos_per_row = Threshold(float)
    cost_scan_nanos_per_byte = Threshold(float)
    cost_job_launch_nanos = Threshold(float)
    cost_tie_ratio = Threshold(float)

    def __init__(self, session_conf: SessionConf) -> None:
        self.session_conf = session_conf

    def __call__(self, **changes: Unpack[ThresholdChanges]) -> ConfScope:
        """Sets ``changes`` at once; all of them or none."""
        return set_for_a_while(self.session_conf, conf_values(changes), "threshold of the session")

    def as_dict(self) -> dict[str, float]:
        """Name → value of all of them, in the unit of each."""
        return {name: value_of(key, self.session_conf.get(key.key, None)) for name, key in threshold_keys().items()}

    def reset(self) -> ConfScope:
        """Unsets all, so that each has the default in its documentation; gives back what undoes it."""
        ours = (key.key for key in threshold_keys().values())
        present = {key: None for key in ours if self.session_conf.get(key, None) is not None}
        return set_for_a_while(self.session_conf, present, "back to its default")

    def __repr__(self) -> str:
        return text_of(self._table())

    def _repr_html_(self) -> str:
        return html_of(self._table())

    def _table(self) -> Table:
        rows = []
        for name, key in threshold_keys().items():
            text = self.session_conf.get(key.key, None)
            rows.append((name, key.default if text is None else text, key.default, key.unit, key.allowed))
        return Table("Thresholds of this session", ("name", "value", "default", "unit", "allowed"), tuple(rows))
