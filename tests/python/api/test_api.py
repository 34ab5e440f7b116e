"""What the Python interface shows, as far as no session is needed to see it."""

from __future__ import annotations

import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.api.analysis import Analysis
from aqe_plugin.api.decided import stories_of
from aqe_plugin.api.explanation import explained
from aqe_plugin.api.plugin import AqePlugin
from aqe_plugin.api.session_confs import set_for_a_while
from aqe_plugin.api.tables import Table, html_of, text_of
from aqe_plugin.api.thresholds import threshold_keys
from aqe_plugin.api.what_if import JoinReplayed, WhatIf, replayable_values
from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.errors import ConfError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.queries import JoinStory, QueryStory
from confs_in_memory import Confs
from opened_page import opened
from samples import DECISION, FACTS, OUTCOME, PLANNED, SAVING, ended

HOSTILE = "<script>alert(1)</script> & \"'\x1b[2J\u202e"


# Rows of the table of decisions


def decision_row(execution_id: int = 7, join: JoinStory | None = None, **changes: Any) -> dict[str, Any]:
    """A row of ``aqe_decisions()`` with the columns that are read."""
    events = encode(join or JoinStory(DECISION, (PLANNED,), (OUTCOME,)))
    # Only Python knows a join's neighbours.
    del events["isBesideOthers"]
    return {
        "execution_id": execution_id,
        "mode": "apply",
        "arm": None,
        "query_status": "succeeded",
        "query_millis": 900,
        "query_rule_millis": 3,
        "query_errors": 0,
        "events": json.dumps(events),
        **changes,
    }


def test_rows_of_the_table_become_one_story_for_each_query() -> None:
    first, second = stories_of([decision_row(), decision_row(), decision_row(9)])
    assert (first.execution_id, len(first.joins), second.execution_id) == (7, 2, 9)
    assert first.joins[0] == JoinStory(DECISION, (PLANNED,), (OUTCOME,), is_beside_others=True)
    assert second.joins[0] == JoinStory(DECISION, (PLANNED,), (OUTCOME,))


def test_an_analysis_shows_the_arm_of_a_query() -> None:
    plain, tried = stories_of([decision_row(), decision_row(8, arm="canary")])
    assert (plain.arm, tried.arm) == (None, "canary")
    assert "[apply, canary]" in repr(Analysis("", (tried,)))
    assert "[apply]" in repr(Analysis("", (plain,)))


def test_an_analysis_begins_with_what_was_saved_as_a_table_and_in_a_notebook_with_bars() -> None:
    analysis = Analysis(
        "Ran it.", stories_of([decision_row(join=JoinStory(DECISION, (PLANNED,), (OUTCOME,), saving=SAVING))])
    )
    head = "1 query: 1 join decided, 1 changed against Spark's own choice"
    shown = repr(analysis)
    assert head in " ".join(shown.split())
    assert shown.index("3.4 s predicted by price") < shown.index("query 7")
    page = opened(analysis._repr_html_())
    assert (head in page.text, "3.4 s predicted by price" in page.text) == (True, True)
    assert (page.tags >= {"svg", "rect", "table"}, page.unclosed) == (True, [])
    assert "aqe-plugin explain" not in page.text


def test_a_running_query_has_no_outcome_and_a_failed_one_an_error() -> None:
    without_outcome = JoinStory(DECISION, (PLANNED,), ())
    running, failed = stories_of(
        [decision_row(join=without_outcome, query_millis=None), decision_row(8, query_status="failed")]
    )
    assert (running.ended, running.error, running.joins[0].outcomes) == (None, None, ())
    assert failed.error == "the query failed or was cancelled"


def test_a_filter_that_its_scan_did_not_find_is_planned_and_not_applied() -> None:
    missing = replace(OUTCOME, filter_id="missing", kind="missing")
    (story,) = stories_of([decision_row(join=JoinStory(DECISION, (PLANNED,), (OUTCOME, missing)))])
    assert story.ended is not None
    assert (story.ended.planned, story.ended.applied) == (2, 1)


@pytest.mark.parametrize("spark", [None, "x"])
def test_a_session_is_asked_for_by_the_type_that_was_given(spark: Any) -> None:
    with pytest.raises(TypeError) as error:
        AqePlugin(spark)
    assert str(error.value) == f"AqePlugin takes a SparkSession, not {type(spark).__name__}."


@pytest.mark.parametrize("columns", ["80", "200"])
def test_in_print_a_table_that_would_break_keys_is_a_paragraph_for_each_row(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    row = ("a join", f"first\nprice {'and so on ' * 8}(spark.aqePlugin.wait.savingShare)", "why it is so")
    told = text_of(Table("Ran.", ("join", "choice", "filters"), (row,)))
    assert max(map(len, told.splitlines())) <= int(columns)
    assert "spark.aqePlugin.wait.savingShare" in told
    assert ("\n  a join\n    first\n" in told, "    filters: why it is so" in told) == (columns == "80",) * 2


@pytest.mark.parametrize("method", ["analyze", "explain"])
def test_what_is_no_frame_is_refused(method: str) -> None:
    aqe = object.__new__(AqePlugin)  # without a session, which nothing is asked of
    with pytest.raises(TypeError) as error:
        getattr(aqe, method)("SELECT 1")
    assert (method in str(error.value), "DataFrame" in str(error.value)) == (True, True)


class Explained:
    """A frame that begins its EXPLAIN by setting one event, and prints when another is set."""

    def __init__(self, name: str, begun: threading.Event, turn: threading.Event) -> None:
        self._name, self._begun, self._turn = name, begun, turn

    def explain(self, _: bool) -> None:
        self._begun.set()
        self._turn.wait(9)
        sys.stdout.write(f"the plan\n== Extended Information (aqe-plugin) ==\n{self._name}\n")


def test_two_threads_that_explain_at_once_get_their_own_and_leave_stdout_as_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sys.stdout
    first_begun, second_begun, first_ended = (threading.Event() for _ in range(3))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(explained, cast(Any, Explained("first", first_begun, second_begun)))
        first_begun.wait(9)
        second = pool.submit(explained, cast(Any, Explained("second", second_begun, first_ended)))
        lines = [one and one.lines for one in (first.result(),)]
        sys.stdout.write("another thread's line\n")
        first_ended.set()
        lines += [one and one.lines for one in (second.result(),)]
    assert lines == [("first",), ("second",)]
    assert sys.stdout is before
    assert capsys.readouterr().out == "another thread's line\n"


# Replays


@pytest.mark.parametrize("name", ["wait_max_idle", "filter_self_disable_max_pass_rate", "cost_scan_nanos_per_byte"])
def test_a_threshold_that_no_decision_uses_cannot_be_replayed(name: str) -> None:
    value = threshold_keys()[name].limits[0]
    with pytest.raises(ConfError, match=re.escape(f"with aqe.override({name}={value!r}): aqe.analyze(frame)")):
        replayable_values({name: value})


def test_a_replay_without_thresholds_is_refused_with_an_example() -> None:
    with pytest.raises(ConfError, match="No threshold was given"):
        replayable_values({})


BROADCAST = replace(DECISION, choice="broadcast", build_filter=False)


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
def test_a_join_changes_when_its_replay_differs(
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
    return QueryStory(text, text, 7, text, "apply", 900, (join,), ended(), text)


def shown_with(text: str) -> tuple[Any, ...]:
    decision = replace(DECISION, facts=replace(FACTS, keys=(text,)))
    return (
        Analysis(text, (story(text),)),
        WhatIf(text, {text: text}, (JoinReplayed(decision, decision, BROADCAST),)),
        set_for_a_while(Confs({text: text}), {text: text}, text),
    )


@given(st.text(alphabet=st.sampled_from([*HOSTILE, "[", "]", "/", "b", "é", "漢", "\n", "\x9b"]), max_size=40))
def test_content_of_a_query_is_shown_as_text_alone(text: str) -> None:
    for one in shown_with(text):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", repr(one))
        page = one._repr_html_()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        assert set(re.findall(r"</?(\w+)", page)) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def test_hostile_text_is_escaped() -> None:
    page = html_of(Table(HOSTILE, ("a",), ((HOSTILE,),), (HOSTILE,)))
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;&#x27;\\x1b[2J\\u202e") == 3
    assert "<script>alert(1)</script> & \"'\\x1b[2J\\u202e" in text_of(Table(HOSTILE))


def test_an_analysis_without_decisions_gives_the_reason() -> None:
    shown = Analysis("The frame was run.", ())
    assert " ".join(repr(shown).split()) == (
        "The frame was run. AqePlugin.decisions() has no join of it. limits() has limits, predicates() predicates "
        "across joins."
    )
    assert "has no join of it" in shown._repr_html_()
    assert shown.decisions == ()
