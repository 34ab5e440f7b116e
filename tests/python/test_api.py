"""The Python interface as far as no session is needed to see what it does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.api.decided import stories_of
from aqe_plugin.api.explanation import Explanation
from aqe_plugin.api.force import Choice, force_in_scope, force_join
from aqe_plugin.api.journal import JournaledConf
from aqe_plugin.api.session_check import Checks, checked_confs
from aqe_plugin.api.session_confs import put, set_for_a_while
from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.api.threshold_names import ThresholdChanges, conf_values, threshold_keys
from aqe_plugin.api.thresholds import SessionThresholds, Threshold
from aqe_plugin.api.what_if import JoinReplayed, WhatIf, replayable_values
from aqe_plugin.codec import encode
from aqe_plugin.conf_keys import PREFIX, conf_keys
from aqe_plugin.errors import ConfError, ConflictError, NotAvailableError
from aqe_plugin.model import JoinCost, PluginMode, Strategy
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


# The journal


@given(CONFS, st.lists(st.tuples(st.sampled_from(["a", "b"]), st.none() | st.text(max_size=3)), max_size=6))
def test_a_rollback_leaves_the_confs_as_they_were_and_the_journal_tells_all(
    before: dict[str, str], steps: list[tuple[str, str | None]]
) -> None:
    confs = Confs(before)
    journaled = JournaledConf(confs)
    for key, value in steps:
        put(journaled, key, value)
    assert [(one.key, one.new) for one in journaled.history().changes] == steps
    assert {one.key for one in journaled.rollback(force=False).changes} <= {key for key, _ in steps}
    assert confs.values == before
    assert journaled.rollback(force=False).changes == ()


def test_a_rollback_over_somebody_elses_change_is_refused_by_name_unless_forced() -> None:
    confs = Confs({"a": "1", "b": "1"})
    journaled = JournaledConf(confs)
    journaled.set("a", "2")
    journaled.set("b", "2")
    confs.set("b", "3")
    with pytest.raises(ConflictError, match=r"^b: changed since by somebody else .*rollback\(force=True\)"):
        journaled.rollback(force=False)
    assert confs.values == {"a": "2", "b": "3"}
    journaled.rollback(force=True)
    assert confs.values == {"a": "1", "b": "1"}


def test_what_is_set_in_a_block_and_put_back_is_in_the_journal_twice() -> None:
    journaled = JournaledConf(Confs())
    with SessionThresholds(journaled)(filter_max_pass_rate=0.3):
        pass
    changes = [(one.old, one.new, one.why) for one in journaled.history().changes]
    assert changes == [(None, "0.3", "set"), ("0.3", None, "unset")]
    assert "0.3" in repr(journaled.history())


# The check


def test_every_key_of_ours_that_is_set_is_checked_and_no_other() -> None:
    bad = checked_confs({PASS_RATE_KEY: "7", f"{PREFIX}filter.maxByte": "1m", f"{PREFIX}mode": "apply", "spark.a": "b"})
    assert [(one.name.removeprefix(PREFIX), one.ok) for one in bad] == [
        ("filter.maxByte", False),
        ("filter.maxPassRate", False),
        ("mode", True),
    ]
    assert "meant was spark.aqePlugin.filter.maxBytes?" in bad[0].found
    assert bad[1].found == "7: not allowed: expected 0 to 1 ratio"
    assert not Checks("", bad).ok
    assert "wrong" in repr(Checks("", bad))


# Rows of the table of decisions


def reason(code: str, name: str = "reason") -> dict[str, Any]:
    return {name: code, f"{name}_measured": 1.0, f"{name}_limit": 2.0, f"{name}_unit": None, f"{name}_conf_key": None}


def filter_row(status: str, **ran: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(("kind", "rows_in", "rows_out", "batches_not_checked", "bytes", "build_millis"))
    place = {"filter_id": status, "table": "sales", "columns": ["item"], "wait_millis": None, "build_rows": None}
    return {**unknown, **place, "status": status, **reason("FILTER_PAYS"), **ran}


RAN = {"rows_in": 9, "rows_out": 4, "batches_not_checked": 0, "bytes": 1, "build_millis": 1, "wait_millis": 1}


def decision_row(**changes: Any) -> dict[str, Any]:
    """A row as ``aqe_decisions()`` has it, of the sample's facts."""
    option = {"strategy": "plain_sort_merge", "with_filter": False, "cost_millis": None, **reason("COSTLIER")}
    return {
        "execution_id": 7,
        "description": "q93",
        "mode": "apply",
        "query_status": "succeeded",
        "query_millis": 900,
        "query_rule_millis": 3,
        "query_errors": 0,
        "join_id": "j1",
        "facts": json.dumps(encode(FACTS)),
        "choice": "broadcast",
        "with_filter": True,
        "predicted_pass_rate": 0.04,
        "predicted_cost_millis": 812.0,
        "options_not_taken": [option],
        "filters": [],
        "ran_as": "broadcast",
        "ran_with_filter": True,
        "ran_predicted_millis": 812.0,
        "measured_cost_millis": 900.0,
        "measured_task_millis": 1700.0,
        "measured_driver_millis": 50.0,
        "measured_shared": False,
        "measured_with_other_work": True,
        "not_measured": None,
        **reason("CHEAPEST"),
        **reason("FILTER_PAYS", "filter_reason"),
        **changes,
    }


def test_rows_of_the_table_become_one_story_for_each_query_in_their_order() -> None:
    first, second = stories_of([decision_row(execution_id=9), decision_row(), decision_row(join_id="j2")])
    assert (first.execution_id, len(first.joins), second.execution_id) == (7, 2, 9)
    decision = first.joins[0].decision
    assert decision.facts == FACTS
    assert [(one.strategy, one.cost_millis) for one in decision.options] == [
        (Strategy.BROADCAST, 812.0),
        (Strategy.PLAIN_SORT_MERGE, None),
    ]


def test_what_a_join_cost_or_why_that_is_not_known_is_read_back() -> None:
    unknown = dict.fromkeys(
        (
            *("ran_as", "ran_with_filter", "ran_predicted_millis", "measured_cost_millis", "measured_task_millis"),
            *("measured_driver_millis", "measured_shared", "measured_with_other_work"),
        )
    )
    (story,) = stories_of(
        [decision_row(), decision_row(**unknown, not_measured="query_failed"), decision_row(**unknown)]
    )
    costs = [join.cost for join in story.joins]
    assert costs == [
        JoinCost("j1", Strategy.BROADCAST, True, 812.0, 900.0, 1700.0, 50.0, False, True, None),
        JoinCost("j1", None, None, None, None, None, None, False, False, "query_failed"),
        None,
    ]
    assert story.ended is not None
    assert story.ended.join_costs == tuple(costs[:2])


def test_a_join_that_was_left_to_spark_has_no_option_of_its_own() -> None:
    (story,) = stories_of([decision_row(choice="leave_to_spark", predicted_cost_millis=None)])
    assert [one.strategy for one in story.joins[0].decision.options] == [Strategy.PLAIN_SORT_MERGE]


def test_a_query_that_runs_has_no_outcome_yet_and_a_failed_one_says_so() -> None:
    running, failed = stories_of(
        [decision_row(filters=None, query_millis=None), decision_row(execution_id=8, query_status="failed")]
    )
    assert (running.ended, running.error, running.joins[0].outcomes) == (None, None, ())
    assert failed.error == "it failed or was cancelled"


def test_each_status_of_a_filter_becomes_what_was_planned_or_what_it_did() -> None:
    filters = [
        filter_row("applied", kind="exact", build_rows=5, **RAN),
        filter_row("passed_all", kind="pass_all", build_rows=0, **RAN),
        filter_row("missing", kind="missing", build_rows=0, **RAN),
        filter_row("not_started"),
        filter_row("not_placed"),
    ]
    (story,) = stories_of([decision_row(filters=filters)])
    (join,) = story.joins
    assert [(one.filter_id, one.reason is None) for one in join.outcomes] == [
        ("applied", True),
        ("passed_all", False),
        ("missing", True),
    ]
    assert [(one.filter_id, one.applied) for one in join.filters] == [("not_started", True), ("not_placed", False)]
    assert story.ended is not None
    assert (story.ended.planned, story.ended.applied) == (3, 2)


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
    assert " ".join(repr(shown).split()) == (
        "The frame was run. aqe_decisions() has no join of it: there is none, or the plugin left the query alone."
    )
    assert "has no join of it" in shown._repr_html_()
    assert shown.decisions == ()
