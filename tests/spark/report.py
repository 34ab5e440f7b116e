"""What a run of a suite left behind, as `io.aqeplugin.sparksuites.SuiteReport` writes it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Test:
    """One test that ended.

    Attributes:
        result: `passed`, `failed`, `canceled` or `ignored`.
        message: why it did not pass.
    """

    name: str
    result: str
    millis: int
    message: str


@dataclass(frozen=True)
class Counters:
    """What the plugin counted in the JVM of the suite.

    Attributes:
        queries: queries that ended.
        queries_with_rules: those of them whose session had the plugin's rules.
        faults: errors inside the plugin, none of which reaches a query.
        metrics: the plugin's own metrics by name.
    """

    queries: int
    queries_with_rules: int
    faults: int
    metrics: Mapping[str, int]

    @property
    def filters_applied(self) -> int:
        return self.metrics.get("filters.applied", 0)

    @property
    def filters_not_applied(self) -> int:
        return self.metrics.get("filters.notApplied", 0)


@dataclass(frozen=True)
class Report:
    """A suite's tests in the order in which they ended; without counters it was broken off."""

    tests: tuple[Test, ...] = ()
    counters: Counters | None = None

    def count(self, result: str) -> int:
        return sum(test.result == result for test in self.tests)


def read(path: Path) -> Report:
    """The report so far; a last line that is still being written is left out."""
    tests: list[Test] = []
    counters: Counters | None = None
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        value = json.loads(line)
        if "done" in value:
            counters = Counters(value["queries"], value["queriesWithRules"], value["faults"], dict(value["metrics"]))
        else:
            tests.append(Test(value["test"], value["result"], value["millis"], value["message"]))
    return Report(tuple(tests), counters)
