"""Which queries count as runs of the same shape."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.fingerprint import fingerprint, join_conditions
from aqe_plugin.events.model import JoinKind
from aqe_plugin.events.queries import JoinStory, QueryStory
from samples import DECISION, FACTS, OUTCOME, PLANNED

KINDS = st.sampled_from(get_args(JoinKind))
COLUMNS = st.from_regex(r"[a-z]{1,4}_?[0-9]?\.[a-z]{1,4}(_[0-9])?", fullmatch=True)
PAIRS = st.lists(st.tuples(COLUMNS, COLUMNS), min_size=1, max_size=3)
JOINS = st.lists(st.tuples(KINDS, PAIRS), min_size=1, max_size=5)


def query(*joins: tuple[JoinKind, list[tuple[str, str]]], sizes: int = 1) -> QueryStory:
    """A query of these joins; ``sizes`` stands for everything that another run has otherwise."""
    return QueryStory(
        application=f"app-{sizes}",
        application_name=f"nightly {sizes}",
        execution_id=sizes,
        description=f"run {sizes}",
        mode="apply" if sizes % 2 else "observe",
        duration_millis=sizes,
        joins=tuple(join(kind, [f"{left} = {right}" for left, right in pairs], sizes) for kind, pairs in joins),
        ended=None,
        error=None,
    )


def join(kind: JoinKind, keys: list[str], sizes: int = 1) -> JoinStory:
    facts = replace(
        FACTS,
        join_id=f"j{sizes}",
        kind=kind,
        keys=tuple(keys),
        build_side="left" if sizes % 2 else "right",
        build=replace(FACTS.build, rows=sizes),
        spark_strategy="broadcast" if sizes % 3 else "plain_sort_merge",
    )
    filtered = sizes % 2 == 0
    decision = replace(DECISION, facts=facts, build_filter=filtered)
    return JoinStory(decision, (PLANNED,) if filtered else (), (OUTCOME,) if filtered else ())


def of_keys(*keys: str) -> str:
    return fingerprint(replace(query(), joins=(join("inner", list(keys)),)))


@given(joins=JOINS, sizes=st.integers(1, 10**9))
def test_a_fingerprint_ignores_sizes_decisions_modes_and_names_of_runs(
    joins: list[tuple[JoinKind, list[tuple[str, str]]]], sizes: int
) -> None:
    assert fingerprint(query(*joins, sizes=sizes)) == fingerprint(query(*joins))


@given(joins=JOINS, data=st.data())
def test_a_fingerprint_ignores_the_order_of_joins_keys_and_sides(
    joins: list[tuple[JoinKind, list[tuple[str, str]]]], data: st.DataObject
) -> None:
    shuffled = [
        (kind, [data.draw(st.permutations(pair)) for pair in data.draw(st.permutations(pairs))])
        for kind, pairs in data.draw(st.permutations(joins))
    ]
    assert fingerprint(query(*((kind, [(a, b) for a, b in pairs]) for kind, pairs in shuffled))) == fingerprint(
        query(*joins)
    )


@given(joins=JOINS, again=st.integers(0, 4))
def test_a_join_that_is_decided_twice_counts_once(
    joins: list[tuple[JoinKind, list[tuple[str, str]]]], again: int
) -> None:
    assert fingerprint(query(*joins, joins[again % len(joins)])) == fingerprint(query(*joins))


@given(joins=JOINS, other=COLUMNS)
def test_another_column_gives_another_fingerprint(
    joins: list[tuple[JoinKind, list[tuple[str, str]]]], other: str
) -> None:
    (kind, ((left, _), *pairs)), *rest = joins
    changed = query((kind, [(left + "x", other), *pairs]), *rest)
    same = join_conditions(changed) == join_conditions(query(*joins))
    assert same == (fingerprint(changed) == fingerprint(query(*joins)))


@given(first=st.integers(-(10**12), 10**12), second=st.floats(allow_nan=False, allow_infinity=False))
def test_a_fingerprint_ignores_literals(first: int, second: float) -> None:
    key = "(sales.day + {}) = date_dim.day"
    assert of_keys(key.format(first)) == of_keys(key.format(second))


@given(first=st.text(max_size=20), second=st.text(max_size=20))
def test_a_fingerprint_ignores_quoted_text(first: str, second: str) -> None:
    def key(text: str) -> str:
        literal = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"concat(a.x, '{literal}') = b.y"

    assert of_keys(key(first)) == of_keys(key(second))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("t1.k = u.k", "t2.k = u.k"),
        ("t.k1 = u.k", "t.k2 = u.k"),
        ("t.`2026 sales` = u.k", "t.`2027 sales` = u.k"),
        ("CAST(t.k AS INT) = u.k", "CAST(t.k AS STRING) = u.k"),
    ],
)
def test_a_fingerprint_depends_on_digits_in_names(one: str, other: str) -> None:
    assert of_keys(one) != of_keys(other)


def test_a_right_outer_join_has_the_fingerprint_of_its_left_outer_mirror() -> None:
    one = query(("left_outer", [("a.k", "b.k")]))
    assert fingerprint(one) == fingerprint(query(("right_outer", [("b.k", "a.k")])))
    assert fingerprint(one) != fingerprint(query(("inner", [("a.k", "b.k")])))


def test_ranges_count_only_in_a_query_without_equalities() -> None:
    def of_joins(*keys: str) -> str:
        return fingerprint(replace(query(), joins=tuple(join("inner", [key]) for key in keys)))

    assert of_joins("(a.x >= b.lo)", "a.k = b.k") == of_keys("a.k = b.k")
    assert of_joins("(a.x >= b.lo)") != of_joins("(a.y >= b.lo)")


def test_join_conditions_and_the_fingerprint_never_change() -> None:
    story = query(("inner", [("sales.day_sk", "date_dim.d_date_sk")]))
    assert join_conditions(story) == ("inner: date_dim.d_date_sk = sales.day_sk",)
    assert fingerprint(story) == "f8e1208086868169"
