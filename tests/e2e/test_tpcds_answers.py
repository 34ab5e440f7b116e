"""TPC-DS queries give DuckDB's rows: every second with the plugin and every gate open, every tenth with its own gates.

With its own gates the plugin places hardly a filter in tables this small. `make test-all` runs each query in five
settings, and compares its rows with those without the plugin too.
"""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aqe_plugin.api.row_difference import Row, difference
from aqe_plugin.conf.keys import conf_keys
from aqe_plugin.events.model import JoinDecision
from benchmarks.accounts import Account, accounts_of, logged_queries
from benchmarks.arms import has_counted_keys
from benchmarks.configs import CONTENDERS, Contender
from benchmarks.session import turn_of
from tests.extent import TRIES_ALL, cases
from workloads.tpcds import Dataset, Query, against_duckdb, queries, reference_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.e2e

# At this scale nearly every table is broadcast; without that the joins are those of large tables.
_NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
_SETTINGS = {
    name: Contender(name, "", {**CONTENDERS[contender].confs, **more})
    for name, contender, more in (
        ("off", "default", {}),
        ("apply", "plugin", {}),
        ("apply-no-broadcast", "plugin", _NO_BROADCAST),
        ("open", "open", {}),
        ("open-no-broadcast", "open", _NO_BROADCAST),
    )
}

# Of the settings in `make test`, one query in so many.
_EVERY = {"apply": 10, "open-no-broadcast": 2}
_TRIED = tuple(_SETTINGS if TRIES_ALL else _EVERY)
_CASES = [
    pytest.param(query, setting, id=f"{query.name}-{setting}")
    for number, query in enumerate(queries().values())
    for setting in _TRIED
    if TRIES_ALL or number % _EVERY[setting] == 0
]

# All tried queries together; fewer would mean that the gates are not open, and that the answers prove little.
_FILTERS_OF_OPEN_GATES = cases(75, whole=150)
_COUNTED_WITH_OWN_GATES = cases(20, whole=200)


@pytest.fixture(scope="module")
def answer_of_duckdb(dataset: Dataset) -> "Callable[[Query], list[Row]]":
    """DuckDB's rows, computed once per query."""
    return cache(lambda query: reference_answer(dataset, query.duckdb))


@pytest.fixture(scope="module")
def answer_of_spark(spark: "SparkSession") -> "Callable[[Query, str], list[Row]]":
    """Spark's rows of a query in a setting, computed once."""
    return cache(lambda query, setting: _answer(spark, query, _SETTINGS[setting]))


@pytest.mark.parametrize(("query", "setting"), _CASES)
def test_rows_are_those_of_duckdb_and_of_spark_without_the_plugin(
    query: Query,
    setting: str,
    answer_of_spark: "Callable[[Query, str], list[Row]]",
    answer_of_duckdb: "Callable[[Query], list[Row]]",
) -> None:
    rows = answer_of_spark(query, setting)
    from_duckdb = against_duckdb(query, answer_of_duckdb(query), rows)
    assert not from_duckdb, from_duckdb.describe("DuckDB", setting)
    if TRIES_ALL:
        from_off = difference(answer_of_spark(query, "off"), rows)
        assert not from_off, from_off.describe("off", setting)


def _answer(spark: "SparkSession", query: Query, contender: Contender) -> list[Row]:
    spark.sparkContext.setJobDescription(f"{query.name} {contender.name}")
    with turn_of(spark, contender):
        return [tuple(row) for row in spark.sql(query.spark).collect()]


def test_every_planned_filter_was_applied_and_no_fault_counted(spark: "SparkSession", event_log_folder: Path) -> None:
    """Ends the session, so that the event log is whole."""
    spark.stop()
    accounts = accounts_of(logged_queries(event_log_folder))
    applied = {setting: _sum(accounts, setting, "applied") for setting in _TRIED}
    planned = {setting: _sum(accounts, setting, "planned") for setting in _TRIED}
    assert applied == planned
    assert {setting: _sum(accounts, setting, "errors") for setting in _TRIED} == dict.fromkeys(_TRIED, 0)
    assert applied.get("off", 0) == 0
    assert applied["open-no-broadcast"] >= _FILTERS_OF_OPEN_GATES, applied


def test_filters_are_decided_on_measured_keys(event_log_folder: Path) -> None:
    """Needs the log of the tests above. No catalog has statistics, so no distinct keys of a probe side are known.

    A filter that was ready was decided on the keys of another copy of its build side.
    """
    decisions = _decisions(event_log_folder, "open-no-broadcast")
    filtered = [
        decision for decision in decisions if decision.build_filter and decision.filter_reason.code != "FILTER_READY"
    ]
    measured = [decision for decision in filtered if decision.facts.build.keys.distinct is not None]
    assert len(measured) >= 0.95 * len(filtered) >= _FILTERS_OF_OPEN_GATES, (len(measured), len(filtered))
    sources = Counter(decision.pass_rate_source for decision in decisions)
    assert set(sources) - {"no_build_rows"} == {"key_range", "distinct_keys", "composite_key", "rows"}, sources
    of_filters = Counter(decision.pass_rate_source for decision in filtered)
    assert of_filters["key_range"] + of_filters["distinct_keys"] > of_filters["rows"], of_filters


def test_with_its_own_gates_build_sides_have_their_keys_counted(event_log_folder: Path) -> None:
    """Needs the log of the tests above."""
    counted = [
        found for decision in _decisions(event_log_folder, "apply") if (found := has_counted_keys(decision)) is not None
    ]
    assert sum(counted) >= 0.95 * len(counted), Counter(counted)
    assert len(counted) >= _COUNTED_WITH_OWN_GATES


def test_a_hash_table_is_priced_by_the_share_of_the_largest_partition(event_log_folder: Path) -> None:
    """Needs the log of the tests above. The share is at least that of a slot, and of some joins it is more."""
    nanos_per_row = float(conf_keys()["spark.aqePlugin.cost.hashBuildNanosPerRow"].default)
    skewed = 0
    for decision in _decisions(event_log_folder, "open-no-broadcast"):
        build, slots = decision.facts.build, decision.facts.cluster.slots
        priced = [
            term.nanos
            for option in decision.options
            if option.strategy == "shuffled_hash" and option.cost_millis is not None
            for term in option.terms or ()
            if term.name == "hash build"
        ]
        share = max(1 / slots, build.max_partition_bytes / max(1, build.stage_bytes))
        assert priced == pytest.approx([build.rows * share * nanos_per_row] * len(priced)), decision.facts.join_id
        skewed += bool(priced) and share > 1 / slots
    assert skewed > 0


def _decisions(event_log_folder: Path, setting: str) -> list[JoinDecision]:
    return [
        join.decision
        for query in logged_queries(event_log_folder)
        if query.description.endswith(f" {setting}")
        for join in query.joins
    ]


def _sum(accounts: dict[str, Account], setting: str, what: str) -> int:
    return sum(getattr(account, what) for name, account in accounts.items() if name.split(" ")[1] == setting)
