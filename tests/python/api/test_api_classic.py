"""The Python interface in a classic session: what it does, and its documentation's examples."""

from __future__ import annotations

import doctest
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
        assert query.mode.value == "observe"
        assert aqe.mode == "apply"

    def test_an_explanation_after_the_run_has_the_choice(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame
    ) -> None:
        joined = sales.join(items, "item").groupBy("kind").count()
        (before,) = aqe.explain(joined).joins
        joined.collect()
        (after,) = aqe.explain(joined).joins
        assert "not decided yet" in before
        assert "not decided yet" not in after


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


@pytest.mark.parametrize("example", examples(plugin), ids=lambda test: test.name.rpartition(".")[2])
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
