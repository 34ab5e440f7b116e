"""A stopped benchmark goes on where it was; results of other conditions are never mixed in."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.measure import QueryResult, Timing
from benchmarks.store import Conditions, LineFile, ResultFile

_CONDITIONS = Conditions(
    scale=1.0,
    contenders=("default", "plugin"),
    runs=3,
    warm_ups=1,
    cores=2,
    driver_memory="6g",
    spark_version="4.1.3",
    jar_digest="abc",
    machine="x86_64, 2 cores, 24 GiB",
)
_RESULT = QueryResult("q93", (Timing("default", (2.5, 2.0), 100), Timing("plugin", (), 0, "failed")), {"plugin": "…"})


@pytest.fixture
def file(tmp_path: Path) -> ResultFile:
    return ResultFile(tmp_path / "bench" / "results.jsonl", _CONDITIONS)


def test_what_was_appended_is_read_back(file: ResultFile) -> None:
    file.append(_RESULT)
    assert file.load() == {"q93": _RESULT}


def test_a_missing_file_gives_no_result(file: ResultFile) -> None:
    assert file.load() == {}


def test_a_line_that_was_cut_off_is_measured_again(file: ResultFile) -> None:
    file.append(_RESULT)
    file.append(replace(_RESULT, query="q50"))
    file.path.write_text(file.path.read_text()[:-40])
    assert list(file.load()) == ["q93"]


def test_the_latest_measurement_of_a_query_counts(file: ResultFile) -> None:
    file.append(_RESULT)
    newer = replace(_RESULT, rows_differ={})
    file.append(newer)
    assert file.load() == {"q93": newer}


def test_another_jar_is_another_measurement(file: ResultFile) -> None:
    file.append(_RESULT)
    rebuilt = ResultFile(file.path, replace(_CONDITIONS, jar_digest="def"))
    assert rebuilt.load() == {}


def test_a_line_after_one_that_was_cut_off_is_read(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "runs.jsonl", _CONDITIONS)
    file.append({"run": 1})
    file.append({"run": 2})
    file.path.write_text(file.path.read_text()[:-5])
    file.append({"run": 3})
    assert file.load() == [{"run": 1}, {"run": 3}]
