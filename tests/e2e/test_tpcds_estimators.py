"""Which estimator gave each join of some TPC-DS queries its pass rate, join by join.

What is expected is in `tpcds_estimators.txt`, to be reviewed as code is. Where a change is meant to change it, run the
test with `AQE_PLUGIN_REWRITE_EXPECTED=1`, read the diff and commit it. `make test` tries every other query.

What is listed does not hang on the speed of the machine: one core runs one task after another, waits are not cut short,
and no join of these queries is without rows. Of a query without rows, Spark drops the joins that wait as soon as one
side of another is seen to be empty; which join that is, is a matter of timing. Dimensions have statistics, because
without any, key ranges come from footers, for which no query waits long: `test_tpcds_answers` counts such joins. Joins
with `promotion` are left out: of its 15 rows and about as few expected on the other side, which is the build side
follows from the stages that have started when AQE plans.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aqe_plugin.events.model import JoinDecision
from benchmarks.accounts import logged_queries
from benchmarks.configs import CONTENDERS, Contender
from benchmarks.session import SessionSettings, spark_session, turn_of
from tests.extent import TRIES_ALL
from workloads.analyzed import register_analyzed
from workloads.tpcds import Dataset, queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.e2e

_EXPECTED = Path(__file__).with_name("tpcds_estimators.txt")
_REWRITES = os.environ.get("AQE_PLUGIN_REWRITE_EXPECTED") == "1"
_EVERY = 1 if TRIES_ALL or _REWRITES else 2

_QUERIES = [
    *("q3", "q7", "q15", "q19", "q26", "q34", "q40", "q42", "q43", "q45"),
    *("q46", "q50", "q52", "q55", "q62", "q68", "q79", "q84", "q98", "q99"),
][::_EVERY]
# With fewer statistics, fewer queries show the same.
_FEWER = ["q3", "q7", "q15", "q40", "q50"][::_EVERY]
_NEARLY_EQUAL_SIDES = {"inner:ss_promo_sk=p_promo_sk", "inner:cs_promo_sk=p_promo_sk"}
_FACTS = {"catalog_returns", "catalog_sales", "inventory", "store_returns", "store_sales", "web_returns", "web_sales"}
_OPEN = Contender("open", "", {**CONTENDERS["open"].confs, "spark.sql.autoBroadcastJoinThreshold": "-1"})


@pytest.fixture(scope="module")
def decisions(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[JoinDecision]]:
    """`<what has statistics> <query>` → the decisions on its joins."""
    events = tmp_path_factory.mktemp("events")
    settings = SessionSettings("tpcds estimators", events, cores=1, shuffle_partitions=4)
    known = queries()
    with spark_session(settings, with_plugin=True) as spark:
        for statistics, names in _catalogs(spark, dataset):
            for name in names:
                spark.sparkContext.setJobDescription(f"{statistics} {name}")
                with turn_of(spark, _OPEN):
                    assert spark.sql(known[name].spark).collect(), f"{name} has no rows"
    return {
        query.description: sorted(
            (join.decision for join in query.joins if join.decision.facts.join_id not in _NEARLY_EQUAL_SIDES),
            key=lambda found: found.facts.join_id,
        )
        for query in logged_queries(events)
    }


def _catalogs(spark: "SparkSession", dataset: Dataset) -> Iterator[tuple[str, list[str]]]:
    """Registers the tables as those of a catalog, the facts at first without statistics."""
    folders = {table: dataset.folder / table for table in dataset.rows}
    dataset.register(spark)
    for statistics, tables, names in (
        ("dimensions", folders.keys() - _FACTS, _FEWER),
        ("all", folders.keys() & _FACTS, _QUERIES),
    ):
        for table in tables:
            spark.catalog.dropTempView(table)
        register_analyzed(spark, {table: folders[table] for table in tables})
        yield statistics, names


def test_every_join_is_estimated_from_what_is_expected(decisions: dict[str, list[JoinDecision]]) -> None:
    found = _listed(decisions)
    if _REWRITES:
        _EXPECTED.write_text(found)
    expected = _EXPECTED.read_text()
    if _EVERY > 1:
        found, expected = (_of_queries(text, decisions.keys()) for text in (found, expected))
    assert found.splitlines() == expected.splitlines()


def _of_queries(listed: str, names: Iterable[str]) -> str:
    """The part of a list that is about these queries, without the counts over all of them."""
    mark = "statistics of "
    each = dict(part.split("\n", 1) for part in listed.split(mark)[1:])
    return "\n".join(f"{mark}{name}\n{each[name]}" for name in names)


def test_nearly_every_build_side_of_a_decided_join_has_its_distinct_keys_counted(
    decisions: dict[str, list[JoinDecision]],
) -> None:
    """What is left to Spark, such as a join whose probe side ran before, does not wait for its keys."""
    joins = [join for joins in decisions.values() for join in joins]
    decided = [join for join in joins if join.choice != "leave_to_spark"]
    counted = [join for join in decided if join.facts.build.keys.distinct is not None]
    assert len(counted) >= 0.95 * len(decided), (len(counted), len(decided))
    assert len(decided) >= 0.9 * len(joins), (len(decided), len(joins))


def _listed(decisions: dict[str, list[JoinDecision]]) -> str:
    """How many joins each estimator decided, and then every join."""
    counts = Counter(_estimator(decision) for joins in decisions.values() for decision in joins)
    totals = [f"{count:4} {estimator}" for estimator, count in sorted(counts.items())]
    each = [
        line
        for query, joins in decisions.items()
        for line in (f"statistics of {query}", *(f"  {_estimator(join):30} {join.facts.join_id}" for join in joins))
    ]
    return "\n".join([*totals, "", *each, ""])


def _estimator(decision: JoinDecision) -> str:
    """The source of the pass rate; of distinct keys, also whether those of the table are known or follow from rows."""
    source = decision.pass_rate_source or ""
    if source != "distinct_keys":
        return source
    return f"{source}, {'from rows' if decision.facts.build.keys.origin_distinct is None else 'from statistics'}"
