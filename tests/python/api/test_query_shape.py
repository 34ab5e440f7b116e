"""What EXPLAIN EXTENDED says of a query's rows."""

from __future__ import annotations

import pytest

from aqe_plugin.api.query_shape import QueryShape, shape_of

JOIN = """Join Inner, (a#1L = b#2L)
:- Relation [a#1L] parquet
+- GlobalLimit 5
   +- LocalLimit 5
      +- Relation [b#2L] parquet"""


def shape(optimized: str, analyzed: str = "Relation [a#1L] parquet") -> QueryShape:
    return shape_of(
        "== Parsed Logical Plan ==\n'Sort ['rand() ASC NULLS FIRST], true\n\n== Analyzed Logical Plan ==\n"
        f"a: bigint\n{analyzed}\n\n== Optimized Logical Plan ==\n{optimized}\n\n"
        "== Physical Plan ==\nAdaptiveSparkPlan isFinalPlan=false\n+- Sort [z#9 ASC NULLS FIRST], true, 0\n"
    )


@pytest.mark.parametrize(
    ("plan", "ordered", "keys", "limits"),
    [
        ("Relation [a#1L] parquet", False, (), False),
        ("Sort [a#1L ASC NULLS FIRST], true\n+- Relation [a#1L] parquet", True, ("a",), False),
        ("Sort [a b#1 DESC NULLS LAST, c#2 ASC NULLS FIRST], true\n+- R", True, ("a b", "c"), False),
        ("Sort [a#1 ASC NULLS FIRST, lower(b#2) ASC NULLS FIRST, c#3 ASC NULLS LAST], true\n+- R", True, ("a",), False),
        ("Sort [(a#1 + 1) ASC NULLS FIRST], true\n+- R", True, (), False),
        ("GlobalLimit 3\n+- LocalLimit 3\n   +- Sort [a#1L ASC NULLS FIRST], true\n      +- R", True, ("a",), True),
        ("Project [b#2 AS a#3]\n+- Sort [a#1L ASC NULLS FIRST], true\n   +- R", True, (), False),
        ("Aggregate [a#1L], [a#1L]\n+- Sort [a#1L ASC NULLS FIRST], true\n   +- R", False, (), False),
    ],
)
def test_rows_are_ordered_by_the_sort_above_which_nothing_changes_their_order(
    plan: str, ordered: bool, keys: tuple[str, ...], limits: bool
) -> None:
    found = shape(plan)
    assert (found.is_ordered, found.ordered_by, found.limits_ordered, found.unstable) == (ordered, keys, limits, ())


@pytest.mark.parametrize(
    ("plan", "analyzed", "unstable"),
    [
        (JOIN, "", ("LIMIT without ORDER BY",)),
        ("GlobalLimit 5\n+- LocalLimit 5\n   +- Relation [b#2L] parquet", "", ("LIMIT without ORDER BY",)),
        ("Sample 0.0, 0.1, false, 7\n+- R", "", ("TABLESAMPLE",)),
        ("R", "Project [rand(7) AS r#1, first(a#2, false) AS f#3, RAND(8) AS s#4]", ("first()", "rand()")),
        ("R", "Window [row_number() windowspecdefinition(a#1 ASC NULLS FIRST)]", ("row_number()",)),
        ("R", "Project [brand(7) AS b#1, first#2, last AS x#3, lag_days#4]", ()),
    ],
)
def test_what_leaves_rows_open_is_found(plan: str, analyzed: str, unstable: tuple[str, ...]) -> None:
    assert shape(plan, analyzed).unstable == unstable


def test_caches_and_commands_that_have_run_are_seen() -> None:
    cached = shape("Project [a#1]\n+- InMemoryRelation [a#1], StorageLevel(disk, memory, deserialized, 1 replicas)")
    assert (cached.reads_cache, cached.is_command) == (True, False)
    assert shape("LocalRelation [a#1]", "Project [a#1]\n+- CommandResult [a#1], Execute CreateViewCommand").is_command
    assert shape_of("no plan at all") == QueryShape()
