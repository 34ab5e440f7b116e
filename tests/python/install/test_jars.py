"""Which jar is picked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import ConfError, MissingJarError, UnsupportedSparkError
from aqe_plugin.install.jars import carried_jars, jar_for, spark_line


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    for line in ("4.0", "4.1", "4.10"):
        (tmp_path / f"aqe-plugin-spark-{line}-0.1.0.jar").touch()
    return tmp_path


@pytest.mark.parametrize("version", ["4.1", "4.1.3", "4.1.0.dev2", "4.1.3-amzn-0"])
def test_the_jar_of_the_same_line_is_picked(jars: Path, version: str) -> None:
    assert jar_for(version, jars, "0.1.0").name == "aqe-plugin-spark-4.1-0.1.0.jar"


def test_lines_are_ordered_by_number_and_not_by_letters(jars: Path) -> None:
    assert list(carried_jars(jars, "0.1.0")) == ["4.10", "4.1", "4.0"]


def test_an_unknown_line_names_the_supported_ones(jars: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as error:
        jar_for("3.5.1", jars, "0.1.0")
    assert (" 3.5.1" in str(error.value), "4.10, 4.1, 4.0" in str(error.value)) == (True, True)


def test_the_error_of_a_missing_jar_names_the_command_for_it(tmp_path: Path) -> None:
    with pytest.raises(MissingJarError) as error:
        jar_for("4.1.3", tmp_path, "0.1.0")
    assert (str(tmp_path) in str(error.value), "make jar" in str(error.value)) == (True, True)


def test_a_jar_of_another_version_is_not_used(jars: Path) -> None:
    with pytest.raises(MissingJarError):
        jar_for("4.1.3", jars, "0.2.0")


@pytest.mark.parametrize("version", ["", "spark", "4", "v4.1"])
def test_an_invalid_version_is_refused(jars: Path, version: str) -> None:
    with pytest.raises(ConfError, match=r"is not a Spark version: expected something like 4\.1"):
        jar_for(version, jars, "0.1.0")


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_the_line_is_the_first_two_numbers(major: int, minor: int, patch: int) -> None:
    assert spark_line(f"{major}.{minor}.{patch}") == spark_line(f"{major}.{minor}") == f"{major}.{minor}"
