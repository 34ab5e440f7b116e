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


def _row_name(line: str) -> str:
    return f"Spark{line.replace('.', '')}"


def test_every_row_of_the_builds_table_is_one_of_all() -> None:
    table = _text("project", "SparkLines.scala")
    (listed,) = re.findall(r"All: Seq\[SparkLine\] = Seq\((.*)\)", table)
    assert set(listed.split(", ")) == set(map(_row_name, _scala_by_line()))
    assert f"Primary: SparkLine = {_row_name(PRIMARY)}\n" in table


def test_every_line_is_a_project_that_is_built_and_carried() -> None:
    build = _text("build.sbt")
    for line in _scala_by_line():
        name = _row_name(line)
        project = name[0].lower() + name[1:]
        assert f"lazy val {project} = sparkProject(SparkLines.{name})\n" in build
        assert f"SparkLines.{name} -> ({project} / Compile / packageBin).value" in build
        assert re.search(rf"\.aggregate\(.*\b{project}\b.*\)", build)


def test_the_plugin_names_every_line_as_supported() -> None:
    code = (_SCALA / "java" / "io" / "aqeplugin" / "plugin" / "SparkLine.java").read_text()
    (listed,) = re.findall(r"Arrays\.asList\((.*)\)", code)
    assert sorted(re.findall(r'"([\d.]+)"', listed)) == sorted(_scala_by_line())


def test_every_line_has_sources_that_say_what_they_are_for() -> None:
    assert set(jvm.lines()) == set(_scala_by_line())
    for line, scala in _scala_by_line().items():
        code = (_SCALA / f"scala-spark-{line}" / "io" / "aqeplugin" / "plugin" / "CompiledLine.java").read_text()
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
