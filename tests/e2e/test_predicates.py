"""Predicates on joins: every cell of the truth table has the rows of brute force, by Spark alone and with the plugin.

`make test-all` tries every cell and compares `docs/predicates.md` with what was found.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import aqe_plugin
from benchmarks.configs import Contender
from tests.extent import TRIES_ALL, only_in_test_all
from workloads.predicates.cells import Cell, cells, sample
from workloads.predicates.page import PAGE, page
from workloads.predicates.run import PLUGIN, SPARK, Finding, findings, rows_of, write_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.e2e

_SAMPLE = 12

# `(A(l) AND B(r)) OR (C(l) AND D(r))` above a left outer join: Spark filters neither scan by it.
_OR_OVER_SIDES = Cell("left", "WHERE", "both", "OR", "other", nullable=True, operator="=", store="files")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("predicates").master("local[2]").config("spark.ui.enabled", "false")
    session = aqe_plugin.configure(builder, mode="off").getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    write_tables(session, tmp_path_factory.mktemp("predicates"))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def tried() -> list[Cell]:
    return cells() if TRIES_ALL else [*sample(cells(), _SAMPLE), _OR_OVER_SIDES]


@pytest.fixture(scope="module")
def found(tables: "SparkSession", tried: list[Cell]) -> list[Finding]:
    return list(findings(tables, tried))


@pytest.mark.parametrize("contender", [SPARK, PLUGIN], ids=lambda contender: contender.name)
def test_every_cell_has_the_rows_of_brute_force(
    tables: "SparkSession", tried: list[Cell], contender: Contender
) -> None:
    wrong = [cell.name for cell, rows in rows_of(tables, tried, contender) if rows != cell.rows()]
    assert not wrong


def test_the_plugin_takes_no_filter_from_a_scan_and_opens_no_more_files(found: list[Finding]) -> None:
    for finding in found:
        for side in finding.plugin.keys() & finding.spark.keys():
            assert finding.plugin[side].filters >= finding.spark[side].filters, finding.cell.name
            assert finding.plugin[side].files <= finding.spark[side].files, finding.cell.name


def test_nothing_is_added_where_a_filter_would_change_rows(found: list[Finding]) -> None:
    """The sides whose rows a join keeps whatever its condition says."""
    kept = {"left": "l", "right": "r", "full": "lr", "anti": "l", "null-aware anti": "l"}
    for finding in found:
        for side in kept.get(finding.cell.join, "") if finding.cell.place == "ON" else "":
            assert not finding.added(side), finding.cell.name


def test_a_condition_on_both_sides_reaches_scans_that_spark_does_not_filter(found: list[Finding]) -> None:
    (finding,) = (finding for finding in found if finding.cell == _OR_OVER_SIDES)
    assert finding.added("l")


@only_in_test_all
def test_the_page_says_what_was_found(found: list[Finding]) -> None:
    assert Path(PAGE).read_text(encoding="utf-8") == page(found), "python -m workloads.predicates writes it anew"
