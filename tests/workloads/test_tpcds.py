"""A table is whole or absent, and all 103 texts are there in both dialects."""

import json
from pathlib import Path

import pytest

from workloads.tpcds import Dataset, ensure_dataset, queries, reference_answer

_SCALE = 0.01


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AQE_PLUGIN_DATA", str(tmp_path))
    return tmp_path


def test_all_99_queries_and_their_four_variants_are_named() -> None:
    names = set(queries())
    plain = {f"q{n}" for n in range(1, 100)} - {"q14", "q23", "q24", "q39"}
    assert names == plain | {"q14a", "q14b", "q23a", "q23b", "q24a", "q24b", "q39a", "q39b"}


def test_spark_gets_back_ticks_where_duckdb_has_double_quotes() -> None:
    for query in queries().values():
        assert '"' not in query.spark
        assert query.spark.replace("`", '"') == query.duckdb


def test_each_variant_of_a_query_differs_from_the_other() -> None:
    texts = [query.duckdb for query in queries().values()]
    assert len(set(texts)) == len(texts) == 103


def test_only_the_outermost_limit_is_taken_off() -> None:
    limited = queries()["q1"]
    assert limited.duckdb.lower().endswith("limit 100")
    assert limited.duckdb_unlimited == limited.duckdb[: limited.duckdb.lower().rindex("limit")]


@pytest.mark.e2e
def test_data_is_generated_once_and_found_again(folder: Path) -> None:
    steps: list[str] = []
    first = ensure_dataset(_SCALE, report=steps.append)
    generated = len(steps)
    second = ensure_dataset(_SCALE, report=steps.append)
    assert first == second
    assert len(first.rows) == 24
    assert generated > 24
    assert steps[generated:] == [f"TPC-DS scale 0.01 is there: {folder / 'sf0.01'}"]
    assert [path.name for path in folder.iterdir()] == ["sf0.01"]


@pytest.mark.e2e
def test_only_the_tables_that_a_query_reads_are_made_and_others_are_added(folder: Path) -> None:
    query = queries()["q93"]
    some = ensure_dataset(_SCALE, tables=query.tables)
    written = (folder / "sf0.01" / "store_sales" / "data_0.parquet").stat()
    assert set(some.rows) == {"store_sales", "store_returns", "reason"}
    more = ensure_dataset(_SCALE, tables=("item", *query.tables))
    assert set(more.rows) == {*some.rows, "item"}
    assert (folder / "sf0.01" / "store_sales" / "data_0.parquet").stat() == written


@pytest.mark.e2e
def test_data_without_its_marker_is_generated_again(folder: Path) -> None:
    half_written = folder / "sf0.01" / "store_sales"
    half_written.mkdir(parents=True)
    (half_written / "data_0.parquet").write_bytes(b"PAR1")
    dataset = ensure_dataset(_SCALE, tables=("store_sales",))
    assert reference_answer(dataset, "select count(*) from store_sales") == [(dataset.rows["store_sales"],)]


@pytest.mark.e2e
def test_data_of_an_older_layout_is_generated_again(folder: Path) -> None:
    ensure_dataset(_SCALE, tables=("reason",))
    marker = folder / "sf0.01" / "_COMPLETE.json"
    stored = json.loads(marker.read_text())
    marker.write_text(json.dumps({**stored, "layout": {**stored["layout"], "version": 0}}))
    steps: list[str] = []
    ensure_dataset(_SCALE, report=steps.append, tables=("reason",))
    assert steps[0].startswith("dsdgen")


def test_a_disk_that_is_too_small_is_named_before_anything_is_written(folder: Path) -> None:
    with pytest.raises(OSError, match=r"TPC-DS at scale 1e\+06 needs \d+ MiB .* set AQE_PLUGIN_DATA"):
        ensure_dataset(1_000_000)
    assert list(folder.iterdir()) == []


def test_the_reference_answer_reads_the_files_of_the_dataset(tmp_path: Path) -> None:
    nowhere = Dataset(scale=1, folder=tmp_path, rows={"item": 3})
    with pytest.raises(Exception, match="No files found"):
        reference_answer(nowhere, "select * from item")
