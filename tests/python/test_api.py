"""The Python interface as far as no session is needed to see what it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.api.explanation import Explanation
from aqe_plugin.api.force import Choice, force_in_scope, force_join
from aqe_plugin.api.session_confs import set_for_a_while
from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.api.threshold_names import ThresholdChanges, conf_values, threshold_keys
from aqe_plugin.api.thresholds import SessionThresholds, Threshold
from aqe_plugin.api.what_if import JoinReplayed, WhatIf, replayable_values
from aqe_plugin.conf_keys import PREFIX, conf_keys
from aqe_plugin.errors import ConfError, NotAvailableError
from aqe_plugin.model import PluginMode, Strategy
from aqe_plugin.stories import JoinStory, QueryStory
from samples import DECISION, FACTS, OUTCOME, PLANNED, ended

PASS_RATE_KEY = f"{PREFIX}filter.maxPassRate"
HOSTILE = "<script>alert(1)</script> & \"'\x1b[2J\u202e"


class Confs:
    """A session's confs in memory; refuses one key if told to."""

    def __init__(self, values: Mapping[str, str] | None = None, refused: str | None = None) -> None:
        self.values = dict(values or {})
        self._refused = refused

    def get(self, key: str, default: str | None = "", /) -> str | None:
        return self.values.get(key, default)

    def set(self, key: str, value: str, /) -> None:
        if key == self._refused:
            raise OSError("connection lost")
        self.values[key] = value

    def unset(self, key: str, /) -> None:
        self.values.pop(key, None)


# Thresholds


def test_every_threshold_of_the_conf_table_is_an_attribute_and_a_typed_argument_of_its_kind() -> None:
    attributes = {name: one for name, one in vars(SessionThresholds).items() if isinstance(one, Threshold)}
    arguments = get_type_hints(ThresholdChanges)
    assert list(attributes) == list(arguments) == list(threshold_keys())
    thresholds = SessionThresholds(Confs())
    for name, key in threshold_keys().items():
        whole = key.type in ("integer", "bytes")
        assert attributes[name].key == key
        assert arguments[name] == (int | str if whole else float | str), name
        assert type(getattr(thresholds, name)) is (int if whole else float), name


def test_a_threshold_nobody_set_has_its_default_and_bytes_are_read_as_a_conf_writes_them() -> None:
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
def test_a_value_just_outside_the_range_or_of_no_number_is_refused_by_name_and_nothing_is_set(value: Any) -> None:
    confs = Confs()
    with pytest.raises(ConfError, match=re.escape(f"{PASS_RATE_KEY} = {value!r} is not allowed: expected")):
        SessionThresholds(confs)(broadcast_max_rows=5, filter_max_pass_rate=value)
    assert confs.values == {}


@pytest.mark.parametrize("name", list(threshold_keys()))
def test_both_ends_of_every_range_are_allowed_and_what_lies_beyond_is_not(name: str) -> None:
    least, most = threshold_keys()[name].limits
    assert len(conf_values({name: least})) == len(conf_values({name: most})) == 1
    with pytest.raises(ConfError):
        conf_values({name: most + 1})
    with pytest.raises(ConfError):
        conf_values({name: least - 1})


def test_a_misspelt_threshold_is_told_which_was_meant() -> None:
    with pytest.raises(ConfError) as error:
        SessionThresholds(Confs())(**cast("Any", {"filter_max_pas_rate": 0.3}))
    assert str(error.value) == "'filter_max_pas_rate' is no threshold; meant was 'filter_max_pass_rate'?"
    with pytest.raises(AttributeError):
        cast("Any", SessionThresholds(Confs())).filter_max_pas_rate = 0.3


def test_a_bad_value_that_somebody_else_set_is_told_with_what_it_does() -> None:
    with pytest.raises(ConfError) as error:
        _ = SessionThresholds(Confs({PASS_RATE_KEY: "7"})).filter_max_pass_rate
    assert str(error.value) == (
        f"{PASS_RATE_KEY} = '7' is not allowed: expected 0 to 1 ratio. "
        "Until it is changed or unset, queries run as if the plugin were off."
    )


def test_reset_unsets_what_is_set_and_can_be_taken_back() -> None:
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


def test_a_scope_is_in_force_at_once_and_taken_back_when_its_block_fails() -> None:
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
    assert repr(scope).startswith("taken back")


# Forcing


@pytest.mark.parametrize("choice", ["spark", "no_filter", "plain_sort_merge"])
def test_a_choice_for_every_join_sets_only_values_that_the_conf_table_allows(choice: Choice) -> None:
    confs = Confs()
    with force_in_scope(confs, choice):
        ours = {key: value for key, value in confs.values.items() if key.startswith(PREFIX)}
        assert ours
        assert set(ours) <= set(conf_keys())
    assert confs.values == {}


@pytest.mark.parametrize(
    ("choice", "instead"), [("broadcast", "aqe.force('broadcast', side)"), ("filtered_sort_merge", "aqe.thresholds(")]
)
def test_what_cannot_be_forced_for_every_join_is_an_error_that_says_what_to_do(choice: Choice, instead: str) -> None:
    confs = Confs()
    with pytest.raises(NotAvailableError, match=re.escape(instead)):
        force_in_scope(confs, choice)
    assert confs.values == {}


@pytest.mark.parametrize("choice", ["spark", "no_filter", "filtered_sort_merge"])
def test_what_cannot_be_forced_for_one_join_is_an_error_that_says_what_to_do(choice: str) -> None:
    with pytest.raises(NotAvailableError, match=r"cannot be forced for one join: .*aqe\.force\("):
        force_join(cast("Any", None), choice)


def test_a_choice_there_is_not_is_told_which_there_are() -> None:
    with pytest.raises(ConfError, match="'shuffle_hash' is no choice: expected one of broadcast, "):
        force_join(cast("Any", None), "shuffle_hash")


# Replays


@pytest.mark.parametrize("name", ["wait_max_idle", "filter_self_disable_max_pass_rate", "cost_scan_nanos_per_byte"])
def test_a_threshold_that_no_decision_looks_at_is_not_replayed_but_to_be_tried(name: str) -> None:
    value = threshold_keys()[name].limits[0]
    with pytest.raises(ConfError, match=re.escape(f"with aqe.thresholds({name}={value!r}): aqe.explain(frame)")):
        replayable_values({name: value})


def test_a_replay_without_thresholds_says_how_to_give_them() -> None:
    with pytest.raises(ConfError, match="No threshold was given"):
        replayable_values({})


BROADCAST = replace(DECISION, choice=Strategy.BROADCAST, build_filter=False)


@pytest.mark.parametrize(
    ("decided", "now", "then", "replayed", "changes"),
    [
        (DECISION, DECISION, DECISION, True, False),
        (DECISION, DECISION, BROADCAST, True, True),
        (DECISION, DECISION, replace(DECISION, build_filter=False), True, True),
        # What a replay does not give again, it cannot say anything about.
        (BROADCAST, DECISION, BROADCAST, False, False),
    ],
)
def test_a_join_changes_when_a_faithful_replay_comes_out_otherwise(
    decided: Any, now: Any, then: Any, replayed: bool, changes: bool
) -> None:
    join = JoinReplayed(decided, now, then)
    assert (join.is_replayed, join.changes) == (replayed, changes)


def test_what_if_shows_both_choices_with_their_reasons() -> None:
    joins = (JoinReplayed(DECISION, DECISION, BROADCAST), JoinReplayed(BROADCAST, DECISION, BROADCAST))
    shown = WhatIf("It was run.", {f"{PREFIX}broadcast.maxMemoryBytes": "1g"}, joins)
    assert shown.changed == joins[:1]
    for text in (repr(shown), shown._repr_html_()):
        flat = " ".join(text.split())
        assert "1 of 2 joins would change with spark.aqePlugin.broadcast.maxMemoryBytes = 1g" in flat
        assert "filtered sort-merge" in flat
        assert "It was run." in flat
        assert "spark.driver.maxResultSize" in flat


# Strings from anywhere


def story(text: str) -> QueryStory:
    facts = replace(FACTS, keys=(text,))
    outcome = replace(OUTCOME, table=text)
    join = JoinStory(replace(DECISION, facts=facts), (replace(PLANNED, filter_id="f9", table=text),), (outcome,))
    return QueryStory(text, text, 7, text, PluginMode.APPLY, 900, (join,), ended(), text)


def shown_with(text: str) -> tuple[Any, ...]:
    decision = replace(DECISION, facts=replace(FACTS, keys=(text,)))
    return (
        Explanation(text, (story(text),)),
        WhatIf(text, {text: text}, (JoinReplayed(decision, decision, BROADCAST),)),
        set_for_a_while(Confs({text: text}), {text: text}, text),
    )


@given(st.text(alphabet=st.sampled_from([*HOSTILE, "[", "]", "/", "b", "é", "漢", "\n", "\x9b"]), max_size=40))
def test_nothing_a_query_holds_reaches_a_terminal_or_a_page_as_anything_but_text(text: str) -> None:
    for one in shown_with(text):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", repr(one))
        page = one._repr_html_()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        assert set(re.findall(r"</?(\w+)", page)) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def test_hostile_text_is_shown_as_what_it_is() -> None:
    page = html_of(Table(HOSTILE, ("a",), ((HOSTILE,),), (HOSTILE,)))
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;&#x27;\\x1b[2J\\u202e") == 3
    assert "<script>alert(1)</script> & \"'\\x1b[2J\\u202e" in text_of(Table(HOSTILE))


def test_a_frame_without_joins_is_said_to_have_had_none() -> None:
    shown = Explanation("The frame was run.", ())
    assert repr(shown) == "The frame was run. No join of it was there to decide."
    assert "No join of it" in shown._repr_html_()
    assert shown.decisions == ()
