"""Answers are compared as multisets: order never matters, duplicates always do."""

import random
from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.api.row_difference import OTHER_ENGINE, SAME_ENGINE, Row, difference

_CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.text(max_size=3),
    st.dates(date(2000, 1, 1), date(2000, 1, 9)),
    st.floats(allow_nan=True, allow_infinity=True),
    st.decimals(-1000, 1000, places=2),
)
_ANSWERS = st.lists(st.tuples(_CELLS, _CELLS, _CELLS), max_size=20)


@given(_ANSWERS, st.randoms(use_true_random=False))
def test_an_answer_equals_itself_in_any_order(rows: list[Row], shuffler: random.Random) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    assert not difference(rows, shuffled)


@given(_ANSWERS, st.tuples(_CELLS, _CELLS, _CELLS))
def test_an_extra_row_is_found(rows: list[Row], extra: Row) -> None:
    delta = difference([*rows, extra], rows)
    assert len(delta.only_left) == 1
    assert not delta.only_right


def test_duplicates_are_counted() -> None:
    assert difference([(1,), (1,)], [(1,)]).only_left == [(1,)]


def test_a_null_is_not_zero() -> None:
    assert difference([(None,)], [(0,)])


def test_columns_are_compared_in_place() -> None:
    assert difference([(1, None)], [(None, 1)])


def test_another_engine_may_round_the_last_digits_of_an_average() -> None:
    spark, duckdb = [(1, Decimal("33.333333"))], [(1, 33.33333333333333)]
    assert not difference(spark, duckdb, OTHER_ENGINE)
    assert difference(spark, duckdb, SAME_ENGINE)


def test_numbers_that_are_close_do_not_hide_a_wrong_neighbour() -> None:
    left = [("a", 1.0), ("a", 2.0), ("a", 3.0)]
    right = [("a", 1.0), ("a", 2.5), ("a", 3.0)]
    delta = difference(left, right, OTHER_ENGINE)
    assert delta.only_left == [("a", 2.0)]
    assert delta.only_right == [("a", 2.5)]


def test_a_difference_is_described_and_shortened() -> None:
    told = difference([(n,) for n in range(9)], [(100,)]).describe("off", "apply", shown=2)
    assert told == "9 row(s) only in off: [('0',), ('1',)]\n1 row(s) only in apply: [('100',)]"
