"""What `make demo` ends with."""

from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.events.queries import JoinStory, QueryStory
from benchmarks.demo import Places, faults, files, summary
from benchmarks.measure import QueryResult, Timing
from samples import DECISION, OUTCOME, PLANNED, ended

_NAMES = ("q93", "q50", "q40", "q25", "q29")


def _result(name: str, **more: dict[str, str]) -> QueryResult:
    timings = (Timing("default", (9.0, 7.0), 100), Timing("forced", (4.0, 4.0), 100), Timing("plugin", (2.0, 2.0), 100))
    return QueryResult(name, timings, more.get("rows_differ", {}))


def _story(name: str) -> QueryStory:
    outcome = replace(OUTCOME, table="store_sales", rows_in=5_000_000, rows_out=50_000)
    joins = (JoinStory(DECISION, (PLANNED,), (outcome,)), JoinStory(replace(DECISION, choice="broadcast"), (), ()))
    return QueryStory("app-1", "demo", 7, f"{name} plugin 1", "apply", 1000, joins, ended(), None)


def test_a_demo_ends_in_at_most_25_lines_of_120_columns_with_times_gain_rows_and_why() -> None:
    results, stories = [_result(name) for name in _NAMES], [_story(name) for name in _NAMES]
    shown = summary(results, stories, "TPC-DS scale 2")
    lines = [*shown, *files(Places(Path("/somewhere/rather/long/for/a/checkout/.build/demo")), [Path("plot.png")])]
    assert len(lines) <= 25
    assert max(map(len, shown)) <= 120
    (line,) = (line.split() for line in shown if line.startswith("q93"))
    assert line[:9] == ["q93", "8.00", "4.00", "2.00", "4.0x", "5.0", "M", "of", "5.0"]
    assert "1 % of store_sales match ss_item_sk = sr_item_sk, 1 hashed" in shown[2]
    assert shown[-1] == "All three gave the same 500 rows."
    assert list(faults(results, stories)) == []


@pytest.mark.parametrize(
    ("result", "story", "fault"),
    [
        (_result("q93", rows_differ={"plugin": "1 row"}), _story("q93"), "OTHER ROWS: q93"),
        (QueryResult("q93", (Timing("default", (), 0, "no memory"),), {}), _story("q93"), "FAILED: q93"),
        (
            _result("q93"),
            replace(_story("q93"), ended=replace(ended(), planned=3, applied=1)),
            "FILTERS PLANNED AND NOT APPLIED: 2",
        ),
    ],
)
def test_a_fault_stands_at_the_end(result: QueryResult, story: QueryStory, fault: str) -> None:
    assert fault in summary([result], [story], "")
