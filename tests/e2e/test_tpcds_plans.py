"""Predicates that the plugin infers leave a TPC-DS plan its joins, its reuse and its dynamic pruning.

Adaptive execution is off: only then does a plan show, before it runs, what it reuses. `make test` compares every sixth
query, `make test-all` each.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from benchmarks.configs import Contender
from benchmarks.session import turn_of
from tests.extent import TRIES_ALL
from workloads.tpcds import Dataset, Query, queries
from workloads.tpcds.partitioned import ensure_partitioned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.e2e

_PLANNED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.sql.maxMetadataStringLength": "100000",
    # A plan shows its pruning also where the table is too small for it to pay.
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false",
}
_SPARK = Contender("spark", "", {**_PLANNED, "spark.aqePlugin.mode": "off"})
_PLUGIN = Contender("plugin", "", {**_PLANNED, "spark.aqePlugin.mode": "apply"})

_COLUMN_ID = re.compile(r"#\d+L?")
_PLAN_ID = re.compile(r"\[plan_id=\d+\]|\[id=#\d+\]")
_JOIN = re.compile(r"\w*Join\w*|CartesianProduct")
_PUSHED = re.compile(r"PushedFilters: \[(.*?)\], ReadSchema")


@dataclass(frozen=True)
class _Plan:
    joins: tuple[str, ...]
    reused: int
    pruned_by_joins: int
    filters: int


@pytest.fixture(scope="module")
def partitioned(spark: "SparkSession", dataset: Dataset) -> Iterator[None]:
    """One fact table in a partition for each day, so that plans have partitions to prune."""
    for table, folder in ensure_partitioned(dataset, tables=("store_sales",)).items():
        spark.read.parquet(str(folder)).createOrReplaceTempView(table)
    yield
    dataset.register(spark, ["store_sales"])


@pytest.fixture(scope="module")
def planned(spark: "SparkSession", partitioned: None) -> dict[str, tuple[_Plan, _Plan]]:
    tried = [query for number, query in enumerate(queries().values()) if TRIES_ALL or number % 6 == 0]
    return {query.name: (_plan(spark, query, _SPARK), _plan(spark, query, _PLUGIN)) for query in tried}


def test_joins_are_those_of_spark_in_the_same_order(planned: dict[str, tuple[_Plan, _Plan]]) -> None:
    changed = {name for name, (by_spark, by_plugin) in planned.items() if by_spark.joins != by_plugin.joins}
    assert not changed


def test_no_plan_loses_reuse_dynamic_pruning_or_a_filter(planned: dict[str, tuple[_Plan, _Plan]]) -> None:
    for name, (by_spark, by_plugin) in planned.items():
        assert by_plugin.reused >= by_spark.reused, name
        assert by_plugin.pruned_by_joins >= by_spark.pruned_by_joins, name
        assert by_plugin.filters >= by_spark.filters, name


def test_what_is_compared_occurs(planned: dict[str, tuple[_Plan, _Plan]]) -> None:
    found = Counter[str]()
    for by_spark, _ in planned.values():
        found.update(joins=len(by_spark.joins), reused=by_spark.reused, pruned=by_spark.pruned_by_joins)
    assert min(found[what] for what in ("joins", "reused", "pruned")) > 0, found


def _plan(spark: "SparkSession", query: Query, contender: Contender) -> _Plan:
    with turn_of(spark, contender):
        text = spark.sql(query.spark)._jdf.queryExecution().executedPlan().toString()
    lines = [_COLUMN_ID.sub("", _PLAN_ID.sub("", line)).lstrip(" :+-*()0123456789") for line in text.splitlines()]
    return _Plan(
        joins=tuple(line for line in lines if _JOIN.match(line)),
        reused=sum(line.startswith(("ReusedExchange", "ReusedSubquery")) for line in lines),
        pruned_by_joins=sum(line.count("dynamicpruning") for line in lines),
        filters=sum(_conjuncts(pushed) for line in lines for pushed in _PUSHED.findall(line) if pushed),
    )


def _conjuncts(pushed: str) -> int:
    """Commas outside brackets separate the filters of a scan."""
    depth, commas = 0, 0
    for character in pushed:
        depth += (character in "([") - (character in ")]")
        commas += character == "," and depth == 0
    return commas + 1
