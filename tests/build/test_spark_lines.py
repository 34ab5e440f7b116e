"""Every place that lists the Spark lines lists the same ones; the build's table says which there are."""

import re
from pathlib import Path

from tests.spark import jvm
from tests.spark.suites import PRIMARY

_ROOT = Path(__file__).resolve().parents[2]
_SCALA = _ROOT / "scala" / "src" / "main"


def _text(*path: str) -> str:
    return _ROOT.joinpath(*path).read_text()


def _scala_by_line() -> dict[str, str]:
    """Line and binary version of Scala of each row of the build's table."""
    rows = re.findall(r'SparkLine\("([\d.]+)", "[\d.]+", "(\d+\.\d+)\.\d+"', _text("project", "SparkLines.scala"))
    assert rows
    return dict(rows)


def test_the_primary_line_of_the_build_is_the_one_that_is_tested_in_full() -> None:
    assert f'Primary: SparkLine = SparkLine("{PRIMARY}", ' in _text("project", "SparkLines.scala")


def test_the_plugin_names_every_line_as_supported() -> None:
    code = (_SCALA / "java" / "io" / "aqeplugin" / "SparkLine.java").read_text()
    (listed,) = re.findall(r"Arrays\.asList\((.*)\)", code)
    assert sorted(re.findall(r'"([\d.]+)"', listed)) == sorted(_scala_by_line())


def test_every_line_has_sources_with_a_comment_on_their_purpose() -> None:
    assert set(jvm.lines()) == set(_scala_by_line())
    for line, scala in _scala_by_line().items():
        code = (_SCALA / f"scala-spark-{line}" / "io" / "aqeplugin" / "CompiledLine.java").read_text()
        assert f'SPARK = "{line}";' in code
        assert f'SCALA = "{scala}";' in code


def test_every_line_is_in_the_readmes_table() -> None:
    rows = re.findall(r"^\| (\d+\.\d+) \| (\d+\.\d+) \| \d+ \|", _text("README.md"), flags=re.MULTILINE)
    assert dict(rows) == _scala_by_line()


def test_what_pip_installs_beside_the_plugin_is_a_supported_spark() -> None:
    (oldest, beyond) = re.findall(r'"pyspark>=(\d+\.\d+),<(\d+\.\d+)"', _text("pyproject.toml"))[0]
    lines = sorted(_scala_by_line(), key=lambda line: [int(part) for part in line.split(".")])
    newest_major, newest_minor = map(int, lines[-1].split("."))
    assert oldest == lines[0]
    assert beyond == f"{newest_major}.{newest_minor + 1}"
