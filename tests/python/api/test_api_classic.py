"""The Python interface in a classic session: what it does, and its documentation's examples."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import aqe_plugin
from api_sessions import CONFS, AnySession, aqe, items, plan_of, sales, write_tables
from aqe_plugin import AqePlugin
from aqe_plugin.api import plugin
from aqe_plugin.errors import NotAvailableError, StatementError

__all__ = ["aqe", "items", "plan_of", "sales"]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classic")


@pytest.fixture(scope="module")
def spark(folder: Path) -> Iterator[SparkSession]:
    confs = {**CONFS, "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}
    builder = SparkSession.builder.master("local[2]").appName("aqe-plugin api").config(map=dict(confs))
    session = aqe_plugin.configure(builder).getOrCreate()
    try:
        write_tables(session, folder)
        yield session
    finally:
        session.stop()


class TestClassic(AnySession):
    def test_another_session_of_the_application_has_its_own_thresholds(
        self, aqe: AqePlugin, spark: SparkSession
    ) -> None:
        other = AqePlugin(spark.newSession())
        with aqe.override(filter_max_pass_rate=0.1):
            assert (aqe.thresholds.filter_max_pass_rate, other.thresholds.filter_max_pass_rate) == (0.1, 0.7)

    def test_queries_in_a_scope_run_in_its_mode(self, aqe: AqePlugin, sales: DataFrame, items: DataFrame) -> None:
        with aqe.override(mode="observe"):
            (query,) = aqe.analyze(sales.join(items, "item")).queries
        assert query.mode == "observe"
        assert aqe.mode == "apply"

    def test_a_run_for_its_decisions_is_described_unless_the_user_describes_it(
        self, aqe: AqePlugin, spark: SparkSession, sales: DataFrame, items: DataFrame
    ) -> None:
        def described() -> str:
            (query,) = aqe.analyze(sales.join(items, "item")).queries
            store = spark._jsparkSession.sharedState().statusStore()
            return str(store.execution(query.execution_id).get().description())

        context = spark.sparkContext
        assert described() == "aqe-plugin runs a frame to see its decisions"
        assert context.getLocalProperty("spark.job.description") is None
        context.setJobDescription("the nightly report")
        try:
            assert described() == context.getLocalProperty("spark.job.description") == "the nightly report"
        finally:
            context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]

    def test_the_answer_of_a_command_is_not_compared(self, aqe: AqePlugin, spark: SparkSession) -> None:
        # A client of Spark Connect has rows in its place.
        with pytest.raises(StatementError, match="answer of a command"):
            aqe.compare(spark.sql("SHOW TABLES"))

    def test_a_comparison_leaves_a_frame_to_be_planned_in_the_mode_of_the_session(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame
    ) -> None:
        joined = sales.join(items, "item")
        aqe.compare(joined, runs=1)
        before = aqe.decisions().count()
        joined.collect()
        aqe.metrics()
        assert aqe.decisions().count() == before + 1

    def test_without_the_jar_on_the_class_path_an_explanation_is_refused_with_what_to_do(
        self, aqe: AqePlugin, sales: DataFrame
    ) -> None:
        # The tests' JVM has the jar by spark.jars alone.
        with pytest.raises(NotAvailableError, match=r"spark\.driver\.extraClassPath.*aqe\.analyze\(frame\)"):
            aqe.explain(sales)


EXPLAINED = """
import sys
import aqe_plugin
from pyspark.sql import SparkSession

confs = {"spark.sql.autoBroadcastJoinThreshold": "10k", "spark.ui.enabled": "false"}
spark = aqe_plugin.configure(SparkSession.builder.master("local[1]").config(map=confs)).getOrCreate()
aqe = aqe_plugin.AqePlugin(spark)
joined = spark.read.parquet(sys.argv[1] + "/sales").join(
    spark.read.parquet(sys.argv[1] + "/items").where("name LIKE '%77'"), "item"
)
frame = joined.groupBy("kind").count()
(before,) = aqe.explain(frame).lines
assert "not decided yet" in before, before
frame.collect()
(after,) = aqe.explain(frame).lines
assert "not decided yet" not in after, after
print("explained", after)
"""


def test_a_session_that_starts_its_jvm_explains_a_frame_before_and_after_it_ran(
    spark: SparkSession, folder: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", EXPLAINED, str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ran.returncode, "explained inner" in ran.stdout) == (0, True), ran.stderr


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


# In a JVM that has the jar by spark.jars alone, as the tests' has, EXPLAIN has no section.
ELSEWHERE = ("AqePlugin.explain",)


@pytest.mark.parametrize(
    "example",
    [example for example in examples(plugin) if not example.name.endswith(ELSEWHERE)],
    ids=lambda test: test.name.rpartition(".")[2],
)
def test_the_documentations_examples_run(
    example: doctest.DocTest, spark: SparkSession, aqe: AqePlugin, sales: DataFrame, items: DataFrame
) -> None:
    said: list[str] = []
    known: dict[str, Any] = {"spark": spark, "aqe": aqe, "AqePlugin": AqePlugin, "sales": sales, "items": items}
    example.globs = known
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)


def test_every_method_has_an_example() -> None:
    public = {name for name, value in vars(AqePlugin).items() if not name.startswith("_") and hasattr(value, "__doc__")}
    shown = " ".join(line.source for example in examples(plugin) for line in example.examples)
    assert {name for name in public if f"aqe.{name}" not in shown} == set()
