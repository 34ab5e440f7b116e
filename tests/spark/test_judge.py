"""A run of Spark's suites is right only when what fails is exactly what is listed, and the plugin was really there."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.spark import expected, junit, report
from tests.spark.expected import Expected, ListError
from tests.spark.judge import problems
from tests.spark.report import Counters, Report
from tests.spark.report import Test as SuiteTest
from tests.spark.suites import SUITES, Mode, Suite, Turn

_SUITE = Suite("org.apache.spark.sql.JoinSuite", min_filters=3)
_OPEN = Turn(_SUITE, Mode.OPEN)
_LISTED = Expected("JoinSuite", "counts exchanges", frozenset({Mode.OPEN}), "one more for the filter")


def _counters(**changes: Any) -> Counters:
    metrics = {"filters.applied": 3, "filters.notApplied": 0, **changes.pop("metrics", {})}
    values = {"queries": 7, "queries_with_rules": 7, "faults": 0, **changes}
    return Counters(**values, metrics=metrics)


def _report(counters: Counters | None, **results: str) -> Report:
    tests = tuple(SuiteTest(name.replace("_", " "), result, 5, "why") for name, result in results.items())
    return Report(tests, counters)


def _said(turn: Turn, found: Report, *listed: Expected) -> list[str]:
    return [f"{p.test}: {p.what}" for p in problems(turn, found, listed)]


def test_a_listed_failure_is_no_problem() -> None:
    assert _said(_OPEN, _report(_counters(), joins="passed", counts_exchanges="failed"), _LISTED) == []


def test_a_failure_counts_in_every_mode_for_which_it_is_not_listed() -> None:
    normal = Turn(_SUITE, Mode.NORMAL)
    found = _report(_counters(), counts_exchanges="failed")
    assert _said(normal, found, _LISTED) == ["counts exchanges: failed and is not listed"]


def test_a_listed_failure_that_passes_is_a_problem() -> None:
    found = _report(_counters(), counts_exchanges="passed")
    assert _said(_OPEN, found, _LISTED) == ["counts exchanges: is listed as failing and passed"]


def test_an_occasionally_failing_test_may_pass_but_must_run() -> None:
    at_times = Expected("JoinSuite", "counts exchanges", frozenset({Mode.OPEN}), "a race", frozenset({Mode.OPEN}))
    assert _said(_OPEN, _report(_counters(), counts_exchanges="passed"), at_times) == []
    assert _said(_OPEN, _report(_counters(), counts_exchanges="failed"), at_times) == []
    assert _said(_OPEN, _report(_counters(), counts_exchanges="ignored"), at_times) == [
        "counts exchanges: is listed as failing and is ignored"
    ]


def test_a_mode_with_a_question_mark_allows_occasional_failures() -> None:
    (entry,) = expected.parse(["JoinSuite | normal?, open | counts exchanges | one more for the filter"], "list")
    assert entry.modes == {Mode.NORMAL, Mode.OPEN}
    assert entry.at_times == {Mode.NORMAL}


def test_a_listed_failure_that_does_not_exist_is_a_problem() -> None:
    assert _said(_OPEN, _report(_counters(), joins="passed"), _LISTED) == [
        "counts exchanges: is listed and there is no such test"
    ]


def test_an_aborted_run_is_a_problem() -> None:
    assert _said(_OPEN, _report(None, joins="passed"), _LISTED) == [": the run did not come to its end"]


@pytest.mark.parametrize(
    ("counters", "what"),
    [
        (_counters(queries_with_rules=6), "only 6 of 7 queries had the plugin's rules"),
        (_counters(faults=1), "1 faults inside the plugin"),
        (_counters(metrics={"filters.notApplied": 2}), "2 filters were planned and not applied"),
        (_counters(metrics={"filters.applied": 2}), "2 filters were applied, at least 3 are expected"),
    ],
)
def test_what_the_plugin_counted_must_be_right(counters: Counters, what: str) -> None:
    assert _said(_OPEN, _report(counters, joins="passed")) == [f": {what}"]


def test_without_the_plugin_no_query_may_have_its_rules() -> None:
    plain = Turn(_SUITE, Mode.PLAIN)
    assert _said(plain, _report(_counters(), joins="passed")) == [
        ": 7 queries had the plugin's rules without the plugin"
    ]
    assert _said(plain, _report(_counters(queries_with_rules=0), joins="passed")) == []


def test_a_suite_without_tests_is_a_problem() -> None:
    assert _said(_OPEN, _report(_counters())) == [": no test was run"]


def test_the_list_in_the_repository_can_be_read_and_names_each_test_once_a_mode() -> None:
    listed = [(e.suite, e.test, mode) for e in expected.read() for mode in e.modes]
    assert len(listed) == len(set(listed))


def test_a_line_of_the_list_is_suite_modes_test_and_reason() -> None:
    lines = ["# comment", "", "JoinSuite | normal, open | a | b is a name | it counts exchanges"]
    assert expected.parse(lines, "f") == (
        Expected("JoinSuite", "a | b is a name", frozenset({Mode.NORMAL, Mode.OPEN}), "it counts exchanges"),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("JoinSuite | open | no reason", "f:1: `suite | modes | test | reason` is expected"),
        ("NoSuite | open | a | b", "f:1: no such suite: NoSuite"),
        ("JoinSuite | shut | a | b", "f:1: 'shut' is not a valid Mode; modes are plain, normal, open"),
    ],
)
def test_a_bad_line_of_the_list_is_named(line: str, message: str) -> None:
    with pytest.raises(ListError) as error:
        expected.parse([line], "f")
    assert str(error.value) == message


def test_a_report_is_read_up_to_the_line_that_is_still_being_written(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    line = json.dumps({"test": "a", "result": "passed", "millis": 5, "message": ""})
    path.write_text(f"{line}\n{line[:20]}")
    found = report.read(path)
    assert [test.name for test in found.tests] == ["a"]
    assert found.counters is None


def test_a_complete_report_has_its_counters(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    metrics = {"filters.applied": 4, "filters.notApplied": 1}
    path.write_text(
        json.dumps({"done": True, "queries": 9, "queriesWithRules": 8, "faults": 2, "metrics": metrics}) + "\n"
    )
    counters = report.read(path).counters
    assert counters is not None
    assert (counters.queries, counters.queries_with_rules, counters.faults) == (9, 8, 2)
    assert (counters.filters_applied, counters.filters_not_applied) == (4, 1)


def test_junit_counts_a_listed_failure_as_passed_and_a_run_fault_as_a_test() -> None:
    found = _report(_counters(faults=1), joins="passed", counts_exchanges="failed", skipped="ignored", broken="failed")
    element = junit.suite(_OPEN, found, problems(_OPEN, found, [_LISTED]))
    assert {name: element.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "skipped": "1",
    }
    failed = [case.get("name") for case in element if case.find("failure") is not None]
    assert failed == ["broken", "(the run)"]


def test_junit_leaves_out_what_xml_cannot_hold() -> None:
    found = Report((SuiteTest("a", "failed", 1, "escape \x1b[31m and \x00 nothing"),), _counters())
    element = junit.suite(_OPEN, found, problems(_OPEN, found, []))
    failure = ElementTree.fromstring(ElementTree.tostring(element)).find("testcase/failure")
    assert failure is not None
    assert failure.text == "escape [31m and  nothing"


def test_each_suite_is_listed_once() -> None:
    names = [suite.name for suite in SUITES]
    assert len(names) == len(set(names))
