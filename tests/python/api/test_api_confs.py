"""What the Python interface sets in a session, and how it is taken back, over confs in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin import api
from aqe_plugin.api.force import PluginPart, force_all, force_join, switch_off
from aqe_plugin.api.plugin import AqePlugin
from aqe_plugin.api.session_confs import ConfScope, set_for_a_while
from aqe_plugin.api.thresholds import SessionThresholds, conf_values, threshold_keys
from aqe_plugin.conf.keys import PREFIX, problem_of
from aqe_plugin.errors import ConfError, NotAvailableError
from confs_in_memory import Confs

FORCE_KEY = f"{PREFIX}force"
PASS_RATE_KEY = f"{PREFIX}filter.maxPassRate"


class Session:
    """A session of an application with the plugin, of which only the confs are used."""

    def __init__(self, conf: Confs) -> None:
        self.conf = conf

    @property
    def catalog(self) -> Session:
        return self

    def functionExists(self, _: str) -> bool:  # noqa: N802 - PySpark's name
        return True


def overridden(confs: Confs, **changes: Any) -> ConfScope:
    return AqePlugin(cast("Any", Session(confs))).override(**changes)


# Mode and thresholds


def test_a_mode_and_thresholds_are_set_together_or_not_at_all() -> None:
    confs = Confs()
    with overridden(confs, mode="observe", filter_max_pass_rate=0.3):
        assert confs.values == {f"{PREFIX}mode": "observe", PASS_RATE_KEY: "0.3"}
    assert confs.values == {}
    for bad in ({"mode": "on", "filter_max_pass_rate": 0.3}, {"mode": "off", "filter_max_pass_rate": 7}):
        with pytest.raises(ConfError):
            overridden(confs, **bad)
        assert confs.values == {}


def test_the_mode_stays_as_it_was_set() -> None:
    confs = Confs()
    plugin = AqePlugin(cast("Any", Session(confs)))
    plugin.mode = "observe"
    assert (plugin.mode, confs.values) == ("observe", {f"{PREFIX}mode": "observe"})


def test_every_threshold_is_an_attribute_and_an_argument_of_its_type() -> None:
    stub = Path(api.__file__).with_name("threshold_fields.pyi").read_text(encoding="utf-8")
    thresholds = SessionThresholds(Confs())
    arguments, attributes = [], []
    for name, key in threshold_keys().items():
        kind = int if key.type in ("integer", "bytes") else float
        arguments.append((name, f"{kind.__name__} | str"))
        attributes.append((name, f"Threshold[{kind.__name__}]"))
        assert type(getattr(thresholds, name)) is kind, name
        assert name in dir(thresholds)
    assert re.findall(r"^    (\w+): (.*)$", stub, re.MULTILINE) == [*arguments, *attributes]


def test_a_threshold_has_its_default_or_the_value_of_the_conf() -> None:
    thresholds = SessionThresholds(Confs({f"{PREFIX}broadcast.maxMemoryBytes": "1g"}))
    assert thresholds.filter_max_pass_rate == 0.7
    assert thresholds.broadcast_max_memory_bytes == 1024**3
    assert thresholds.as_dict()["cost_tie_ratio"] == 0.05


@pytest.mark.parametrize(
    ("value", "text"), [(0.3, "0.3"), (1, "1"), (1.0, "1"), ("0.25", "0.25"), (1e-05, "1e-05"), (0, "0")]
)
def test_a_value_is_written_as_a_conf_writes_it(value: float | str, text: str) -> None:
    confs = Confs()
    SessionThresholds(confs).filter_max_pass_rate = value
    assert confs.values == {PASS_RATE_KEY: text}


@pytest.mark.parametrize("value", [-0.001, 1.001, float("nan"), float("inf"), "much", "", True, None])
def test_a_value_out_of_range_is_refused_by_name_and_nothing_is_set(value: Any) -> None:
    confs = Confs()
    with pytest.raises(ConfError, match=re.escape(f"{PASS_RATE_KEY} = {value!r} is not allowed: expected")):
        overridden(confs, broadcast_max_rows=5, filter_max_pass_rate=value)
    assert confs.values == {}


@pytest.mark.parametrize("name", list(threshold_keys()))
def test_both_ends_of_every_range_are_allowed_and_nothing_beyond(name: str) -> None:
    least, most = threshold_keys()[name].limits
    assert len(conf_values({name: least})) == len(conf_values({name: most})) == 1
    with pytest.raises(ConfError):
        conf_values({name: most + 1})
    with pytest.raises(ConfError):
        conf_values({name: least - 1})


def test_a_misspelt_threshold_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfError) as error:
        overridden(Confs(), filter_max_pas_rate=0.3)
    assert "filter_max_pass_rate" in str(error.value)
    thresholds = cast("Any", SessionThresholds(Confs()))
    with pytest.raises(AttributeError) as assigned:
        thresholds.filter_max_pas_rate = 0.3
    with pytest.raises(AttributeError) as read:
        _ = thresholds.filter_max_pas_rate
    assert str(assigned.value) == str(read.value) == str(error.value)


def test_a_bad_value_in_the_session_is_reported_with_its_effect() -> None:
    with pytest.raises(ConfError) as error:
        _ = SessionThresholds(Confs({PASS_RATE_KEY: "7"})).filter_max_pass_rate
    assert (f"{PASS_RATE_KEY} = '7'" in str(error.value), "from 0 to 1" in str(error.value)) == (True, True)


def test_reset_unsets_all_thresholds_and_can_be_undone() -> None:
    before = {PASS_RATE_KEY: "0.3", "spark.sql.shuffle.partitions": "4"}
    confs = Confs(before)
    with SessionThresholds(confs).reset():
        assert confs.values == {"spark.sql.shuffle.partitions": "4"}
    assert confs.values == before


# Scopes

CONFS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(max_size=3))


@given(CONFS, st.lists(CONFS, max_size=4))
def test_nested_scopes_leave_the_confs_as_they_were(before: dict[str, str], nested: list[dict[str, str]]) -> None:
    confs = Confs(before)

    def enter(remaining: list[dict[str, str]]) -> None:
        if remaining:
            seen = dict(confs.values)
            with set_for_a_while(confs, remaining[0], "test") as scope:
                assert confs.values == {**seen, **remaining[0]}
                enter(remaining[1:])
                assert confs.values == {**seen, **remaining[0]}
            scope.restore()
            assert confs.values == seen

    enter(nested)
    assert confs.values == before


def test_a_scope_is_in_force_at_once_and_ends_when_its_block_fails() -> None:
    confs = Confs()
    scope = overridden(confs, filter_max_pass_rate=0.3)
    assert confs.values == {PASS_RATE_KEY: "0.3"}
    with pytest.raises(ZeroDivisionError), scope:
        _ = 1 / 0
    assert confs.values == {}


def test_when_the_session_refuses_one_key_none_is_set() -> None:
    confs = Confs({"a": "1"}, refused="b")
    with pytest.raises(OSError, match="connection lost"):
        set_for_a_while(confs, {"a": "2", "b": "3"}, "test")
    assert confs.values == {"a": "1"}


def test_a_scope_shows_what_it_changed() -> None:
    with set_for_a_while(Confs({"a": "1"}), {"a": "2", "b": "3"}, "a trial") as scope:
        lines = [line.split(maxsplit=3) for line in repr(scope).splitlines()]
        assert lines[0] == ["in", "force"]
        assert ["a", "1", "2", "a trial"] in lines
        assert "<td" in scope._repr_html_()
    assert repr(scope).startswith("restored")


# Forcing


def test_a_strategy_for_all_joins_sets_known_keys_and_restores_what_the_user_forced() -> None:
    before = {FORCE_KEY: "inner:a=b=broadcast"}
    confs = Confs(before)
    with force_all(confs, "plain_sort_merge"):
        ours = {key: value for key, value in confs.values.items() if key.startswith(PREFIX)}
        assert ours == {FORCE_KEY: "*=plain_sort_merge"}
        assert problem_of(FORCE_KEY, ours[FORCE_KEY]) == ""
    assert confs.values == before


@pytest.mark.parametrize(("part", "key"), [("plugin", f"{PREFIX}mode"), ("filters", FORCE_KEY)])
def test_what_is_switched_off_sets_one_key_to_an_allowed_value(part: PluginPart, key: str) -> None:
    confs = Confs()
    with switch_off(confs, part):
        assert set(confs.values) == {key}
        assert problem_of(key, confs.values[key]) == ""
    assert confs.values == {}


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfError, match="'limits' cannot be switched off: expected one of plugin, filters"):
        switch_off(Confs(), "limits")


def _force_all(strategy: str) -> None:
    force_all(Confs(), strategy)


def _force_one(strategy: str) -> None:
    force_join(cast("Any", None), strategy)


@pytest.mark.parametrize(
    ("force", "strategy"),
    [
        *((_force_all, strategy) for strategy in ("broadcast", "shuffled_hash", "filtered_sort_merge")),
        (_force_one, "filtered_sort_merge"),
    ],
)
def test_a_refusal_names_the_key_and_an_entry_that_it_takes(force: Callable[[str], None], strategy: str) -> None:
    with pytest.raises(NotAvailableError) as refused:
        force(strategy)
    (entry,) = re.findall(rf"{re.escape(FORCE_KEY)} is '([^']+)'", str(refused.value))
    assert problem_of(FORCE_KEY, entry) == ""


@pytest.mark.parametrize(
    ("strategy", "instead"), [("broadcast", "aqe.force('broadcast', side)"), ("filtered_sort_merge", "aqe.override(")]
)
def test_a_strategy_that_not_every_join_can_follow_is_refused(strategy: str, instead: str) -> None:
    confs = Confs()
    with pytest.raises(NotAvailableError, match=re.escape(instead)):
        force_all(confs, strategy)
    assert confs.values == {}


@pytest.mark.parametrize("strategy", ["shuffle_hash", "spark", "no_filter"])
def test_an_unknown_strategy_is_refused_with_the_known_ones_and_what_switches_off(strategy: str) -> None:
    told = rf"'{strategy}' is no strategy: expected one of broadcast, .*aqe\.switch_off\('filters'\)"
    for force in (_force_one, _force_all):
        with pytest.raises(ConfError, match=told):
            force(strategy)


class RefusingOnce(Confs):
    """Refuses one write, as a server that is away for a moment."""

    refuses = False

    def set(self, key: str, value: str, /) -> None:
        if self.refuses:
            self.refuses = False
            raise ConnectionError("the server is away")
        super().set(key, value)


def test_a_refused_restore_restores_the_other_keys_and_can_be_tried_again() -> None:
    confs = RefusingOnce({"a": "1", "b": "2"})
    scope = set_for_a_while(confs, {"a": "10", "b": "20"}, "")
    confs.refuses = True
    with pytest.raises(ConnectionError):
        scope.restore()
    assert confs.values == {"a": "1", "b": "20"}
    assert repr(scope).startswith("in force")
    scope.restore()
    assert confs.values == {"a": "1", "b": "2"}
    scope.restore()
    assert repr(scope).startswith("restored")
