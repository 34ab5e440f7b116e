"""The skewed tables are the same everywhere, and as skewed as they are said to be."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from workloads.skew import TABLES, data, ensure_skew, skew_definition, skew_queries
from workloads.tpcds.extension import connect

_SCALE = 0.01


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect()
    ensure_skew(_SCALE, tmp_path_factory.mktemp("skew")).attach(connection)
    yield connection
    connection.close()


def _rows(tables: duckdb.DuckDBPyConnection, query: str) -> list[tuple[object, ...]]:
    return tables.execute(query).fetchall()


@pytest.mark.parametrize("name", sorted(skew_queries()))
def test_every_query_has_an_answer(tables: duckdb.DuckDBPyConnection, name: str) -> None:
    assert _rows(tables, skew_queries()[name].duckdb)


def test_key_0_of_a_zipf_column_has_more_rows_than_any_other(tables: duckdb.DuckDBPyConnection) -> None:
    counted = _rows(tables, "select user_id, count(*) as n from events group by 1 order by n desc")
    assert counted[0][0] == 0
    assert counted[0][1] > 20 * counted[len(counted) // 2][1]  # type: ignore[operator]


def test_one_account_has_half_of_the_events(tables: duckdb.DuckDBPyConnection) -> None:
    ((share,),) = _rows(tables, "select avg(cast(account_id = 0 as int)) from events")
    assert share == pytest.approx(0.5, abs=0.02)


def test_a_region_has_one_country(tables: duckdb.DuckDBPyConnection) -> None:
    ((pairs, regions),) = _rows(
        tables, "select count(distinct (region_id, country_id)), count(distinct region_id) from events"
    )
    assert pairs == regions


def test_columns_that_are_drawn_apart_do_not_depend_on_each_other(tables: duckdb.DuckDBPyConnection) -> None:
    ((dependent,),) = _rows(tables, "select corr(ln(user_id + 1), item_id) from events")
    assert abs(dependent) < 0.02  # type: ignore[arg-type]


def test_the_tables_are_written_once_and_alike(tmp_path: Path) -> None:
    first = ensure_skew(_SCALE, tmp_path / "a")
    changed = {file: file.stat().st_mtime_ns for file in first.folder.rglob("*.parquet")}
    assert ensure_skew(_SCALE, tmp_path / "a") == first
    assert {file: file.stat().st_mtime_ns for file in first.folder.rglob("*.parquet")} == changed
    second = ensure_skew(_SCALE, tmp_path / "b")
    connection = connect()
    for table in TABLES:
        left, right = (f"read_parquet('{one.folder / table}/*.parquet')" for one in (first, second))
        assert connection.execute(f"(from {left} except all from {right})").fetchall() == []


def test_tables_of_another_definition_are_never_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, definition = ensure_skew(_SCALE, tmp_path).folder, skew_definition(_SCALE)
    monkeypatch.setattr(data, "_HEAVY_SHARE", 0.25)
    assert skew_definition(_SCALE) != definition
    assert ensure_skew(_SCALE, tmp_path).folder != before
