"""What is wrong with a suite's report."""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.spark.expected import Expected
from tests.spark.report import Counters, Report
from tests.spark.suites import Mode, Turn


@dataclass(frozen=True)
class Problem:
    """Something that must not be.

    Attributes:
        test: the test it is about; empty when it is about the run as a whole.
        what: one line.
        detail: what the test said, over many lines.
    """

    test: str
    what: str
    detail: str = ""


def problems(turn: Turn, report: Report, expected: Iterable[Expected]) -> list[Problem]:
    """All that is wrong; nothing means that every failure is a listed one and that all listed ones failed.

    A listed test that fails only at times in this mode may have passed.
    """
    listed = {e.test: e for e in expected if e.suite == turn.suite.name and turn.mode in e.modes}
    found = [
        Problem(test.name, "failed and is not listed", test.message)
        for test in report.tests
        if test.result == "failed" and test.name not in listed
    ]
    results = {test.name: test.result for test in report.tests}
    found += [
        Problem(name, f"is listed as failing and {'passed' if results[name] == 'passed' else 'is ' + results[name]}")
        for name, entry in listed.items()
        if results.get(name, "failed") not in ({"failed", "passed"} if turn.mode in entry.at_times else {"failed"})
    ]
    if report.counters is None:
        return [*found, Problem("", "the run did not come to its end")]
    found += [Problem(name, "is listed and there is no such test") for name in listed if name not in results]
    if not report.tests:
        found.append(Problem("", "no test was run"))
    return found + [Problem("", what) for what in _of_counters(turn, report.counters)]


def _of_counters(turn: Turn, counters: Counters) -> Iterable[str]:
    if not turn.mode.has_plugin:
        if counters.queries_with_rules:
            yield f"{counters.queries_with_rules} queries had the plugin's rules without the plugin"
        return
    if counters.queries_with_rules < counters.queries:
        yield f"only {counters.queries_with_rules} of {counters.queries} queries had the plugin's rules"
    if counters.faults:
        yield f"{counters.faults} faults inside the plugin"
    if counters.filters_not_applied:
        yield f"{counters.filters_not_applied} filters were planned and not applied"
    if turn.mode is Mode.OPEN and counters.filters_applied < turn.suite.min_filters:
        yield f"{counters.filters_applied} filters were applied, at least {turn.suite.min_filters} are expected"
