"""The page of the pipeline, without Spark: any content of a log stays text."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import date
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.model import JoinDecided, QueryEnded
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.events.savings import savings_of
from aqe_plugin.pipeline.report_page import Summary, page
from aqe_plugin.pipeline.required_members import rules_of
from opened_page import opened
from samples import DECISION, OUTCOME, PLANNED, ended

TOTALS: dict[str, Any] = dict.fromkeys(("fingerprints", "filtered", "waited", "regretMillis"), 3)
DAY: dict[str, Any] = {"date": date(2026, 11, 21), "savedMillis": 5e3, "regretMillis": -1e3, "waitMillis": 10.0}
NUMBERS = st.one_of(st.none(), st.floats(), st.integers(0, 2**63))


def summary(text: str = "a", number: Any = 1.0) -> Summary:
    compared = {
        "joinConditions": text,
        "applied": 6,
        "observedMillis": number,
        "appliedMillis": number,
        "savedMillis": number,
    }
    join_row = {
        "join": text,
        "mode": text,
        "joins": 2,
        "regretMillis": number,
        "predictedPass": number,
        "measuredPass": number,
    }
    facts = replace(DECISION.facts, keys=(text,))
    outcome = replace(OUTCOME, table=text)
    join = JoinStory(replace(DECISION, facts=facts), (PLANNED,), (outcome,))
    query = QueryStory("app-1", "", 7, text, "apply", 3400, (join,), ended(outcomes=(outcome,)), None)
    return Summary(
        savings=savings_of([query]),
        totals={**TOTALS, "since": date(2026, 11, 20), "until": date(2026, 11, 21)},
        days=[DAY, {**DAY, "savedMillis": number}],
        faster=[compared],
        slower=[compared],
        joins=[join_row],
        rejected=[{"why": text, "lines": 2, "logs": 1}],
    )


def empty() -> Summary:
    lists: dict[str, Any] = {field.name: [] for field in fields(Summary)}
    return Summary(**{**lists, "savings": savings_of([]), "totals": {**TOTALS, "since": None, "until": None}})


@given(text=st.text(), number=NUMBERS)
def test_no_text_or_number_of_a_log_becomes_an_html_element(text: str, number: Any) -> None:
    made = opened(page(summary(text, number), text))
    plain = opened(page(summary(), "a"))
    assert made.tags == plain.tags
    assert made.loads == []
    assert made.unclosed == []


@given(text=st.text())
def test_the_page_can_always_be_written_as_utf_8(text: str) -> None:
    assert page(summary(text), text).encode()


def test_tabs_and_line_ends_stay_as_they_are_and_control_characters_become_escapes() -> None:
    assert "a\tb\r\nc\\x1b\\u200bd" in page(summary("a\tb\r\nc\x1b\u200bd"), "a")


def test_a_page_without_data_says_so() -> None:
    text = opened(page(empty(), "/tables")).text
    for told in ("No query ran in mode apply.", "No join has any regret."):
        assert told in text


def test_the_page_forbids_scripts_and_external_resources() -> None:
    assert "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"" in page(empty(), "")


@given(number=NUMBERS)
def test_every_bar_is_inside_its_scale(number: Any) -> None:
    bars = re.findall(r'<meter max="([\d.]+)" value="([\d.]+)">', page(summary(number=number), "a"))
    assert len(bars) == 6
    assert all(0 <= float(value) <= float(most) for most, value in bars)


def test_every_required_member_of_an_event_has_a_rule() -> None:
    members = {member for shape in (JoinDecided, QueryEnded) for member, _ in rules_of(shape, "event")}
    for member in (
        "JoinDecided.decision.facts.build.keys.histogram[].low",
        "JoinDecided.decision.options[].reason.code",
        "JoinDecided.decision.facts.waiting.savingMillis",
        "JoinDecided.filters[].scanColumns[]",
        "QueryEnded.outcomes[].reason.code",
        "QueryEnded.outcomes[].rowsIn",
    ):
        assert member in members
    assert "JoinDecided.decision.facts.hint" not in members
    conditions = dict(rules_of(JoinDecided, "event"))
    waits = conditions["JoinDecided.decision.facts.waiting.waits"]
    waiting = "event.`decision`.`facts`.`waiting`"
    assert waits == f"({waiting} IS NULL OR {waiting}.`waits` IS NOT NULL)"
