"""What the plugin says it saved is held against what was measured."""

import pytest

from benchmarks.accounts import Account
from benchmarks.bill import Bill, bill_lines, bills
from benchmarks.measure import QueryResult, Timing


def result(query: str, default: tuple[float, ...], plugin: tuple[float, ...]) -> QueryResult:
    timings = (
        Timing(name, tuple(1.0 for _ in runs), 1, processor_seconds=runs)
        for name, runs in (("default", default), ("plugin", plugin))
    )
    return QueryResult(query, tuple(timings), {})


def test_a_bill_has_the_difference_of_means_with_its_standard_error() -> None:
    accounts = {"q1 plugin 1": Account(1, 1, 0, 0.0, 9.0)}
    (bill,) = bills([result("q1", (12.0, 14.0), (2.0, 4.0))], "default", "plugin", accounts)
    assert (bill.query, bill.measured, bill.predicted) == ("q1", 10.0, 9.0)
    assert bill.error == pytest.approx(2**0.5)


def test_a_query_without_an_account_or_without_processor_times_has_no_bill() -> None:
    accounts = {"q2 plugin 1": Account(1, 1, 0, 0.0, 9.0)}
    without = [result("q1", (12.0,), (2.0,)), result("q2", (0.0,), (2.0,)), result("q2", (), (2.0,))]
    assert bills(without, "default", "plugin", accounts) == []


def test_only_a_sure_saving_can_be_missed() -> None:
    assert Bill("q1", 10.0, 1.0, 12.9).is_near
    assert not Bill("q1", 10.0, 1.0, 13.1).is_near
    assert not Bill("q1", 1.0, 1.0, 13.1).is_sure
    assert not Bill("q1", 1.0, 1.0, 13.1).is_near


def test_the_sum_of_one_run_each_is_told_without_errors() -> None:
    lines = list(bill_lines([Bill("q1", 10.0, float("inf"), 9.0), Bill("q2", 30.0, 1.0, 31.0)]))
    assert "±" not in lines[1]
    assert "± 1.0" in lines[2]
    assert lines[3] == "  all       40.0     40.0, 1.00 of it; of 1 sure savings 1 within 30%"
    assert list(bill_lines([])) == []
