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
from aqe_plugin.api.force import Choice, force_in_scope, force_join
from aqe_plugin.api.session_confs import set_for_a_while
from aqe_plugin.api.threshold import conf_values, threshold_keys
from aqe_plugin.api.thresholds import SessionThresholds
from aqe_plugin.conf.keys import PREFIX, conf_keys, problem_of
from aqe_plugin.errors import ConfError, NotAvailableError
from confs_in_memory import Confs

FORCE_KEY = f"{PREFIX}force"
PASS_RATE_KEY = f"{PREFIX}filter.maxPassRate"


# Thresholds


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
        SessionThresholds(confs)(broadcast_max_rows=5, filter_max_pass_rate=value)
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
        SessionThresholds(Confs())(**cast("Any", {"filter_max_pas_rate": 0.3}))
    assert str(error.value) == "'filter_max_pas_rate' is no threshold; did you mean 'filter_max_pass_rate'?"
    thresholds = cast("Any", SessionThresholds(Confs()))
    with pytest.raises(AttributeError) as assigned:
        thresholds.filter_max_pas_rate = 0.3
    with pytest.raises(AttributeError) as read:
        _ = thresholds.filter_max_pas_rate
    assert str(assigned.value) == str(read.value) == str(error.value)


def test_a_bad_value_in_the_session_is_reported_with_its_effect() -> None:
    with pytest.raises(ConfError) as error:
        _ = SessionThresholds(Confs({PASS_RATE_KEY: "7"})).filter_max_pass_rate
    assert str(error.value) == (
        f"{PASS_RATE_KEY} = '7' is not allowed: expected 0 to 1 ratio. "
        "Until it is changed or unset, queries run as if the plugin were off."
    )


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
    scope = SessionThresholds(confs)(filter_max_pass_rate=0.3)
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


@pytest.mark.parametrize("choice", ["spark", "no_filter", "plain_sort_merge"])
def test_a_forced_choice_sets_only_known_keys(choice: Choice) -> None:
    confs = Confs()
    with force_in_scope(confs, choice):
        ours = {key: value for key, value in confs.values.items() if key.startswith(PREFIX)}
        assert ours
        assert set(ours) <= set(conf_keys())
    assert confs.values == {}


@pytest.mark.parametrize("choice", ["no_filter", "plain_sort_merge"])
def test_a_scope_forces_all_joins_by_the_conf_and_restores_what_the_user_forced(choice: Choice) -> None:
    before = {FORCE_KEY: "inner:a=b=broadcast"}
    confs = Confs(before)
    with force_in_scope(confs, choice):
        ours = {key: value for key, value in confs.values.items() if key.startswith(PREFIX)}
        assert ours == {FORCE_KEY: f"*={choice}"}
        assert problem_of(FORCE_KEY, ours[FORCE_KEY]) == ""
    assert confs.values == before


def _force_scope(choice: str) -> None:
    force_in_scope(Confs(), choice)


def _force_one(choice: str) -> None:
    force_join(cast("Any", None), choice)


@pytest.mark.parametrize(
    ("force", "choice"),
    [
        *((_force_scope, choice) for choice in ("broadcast", "filtered_sort_merge")),
        *((_force_one, choice) for choice in ("spark", "no_filter", "filtered_sort_merge")),
    ],
)
def test_a_refusal_names_the_key_and_an_entry_that_it_takes(force: Callable[[str], None], choice: str) -> None:
    with pytest.raises(NotAvailableError) as refused:
        force(choice)
    (entry,) = re.findall(rf"{re.escape(FORCE_KEY)} is '([^']+)'", str(refused.value))
    assert problem_of(FORCE_KEY, entry) == ""


@pytest.mark.parametrize(
    ("choice", "instead"), [("broadcast", "aqe.force('broadcast', side)"), ("filtered_sort_merge", "aqe.thresholds(")]
)
def test_a_choice_that_not_every_join_can_follow_is_refused(choice: Choice, instead: str) -> None:
    confs = Confs()
    with pytest.raises(NotAvailableError, match=re.escape(instead)):
        force_in_scope(confs, choice)
    assert confs.values == {}


@pytest.mark.parametrize("choice", ["spark", "no_filter", "filtered_sort_merge"])
def test_a_choice_that_one_join_cannot_follow_is_refused(choice: str) -> None:
    with pytest.raises(NotAvailableError, match=r"cannot be forced for one join: .*aqe\.force\("):
        force_join(cast("Any", None), choice)


def test_an_unknown_choice_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfError, match="'shuffle_hash' is not a choice: expected one of broadcast, "):
        force_join(cast("Any", None), "shuffle_hash")
