"""Members that differ between Spark lines are used behind `SparkLineApi` only: the jars of all lines are compared."""

from functools import cache
from pathlib import Path

import pytest

from aqe_plugin.install.jars import carried_jars
from aqe_plugin.machine.class_file import Member, classes_of
from tests.spark import jvm
from tests.spark.suites import PRIMARY

pytestmark = pytest.mark.spark  # it needs the jars

_SOURCES = Path(__file__).resolve().parents[2] / "scala" / "src" / "main"
_LINE = "org/apache/spark/aqeplugin/ThisSparkLine"
# Compiled from the same source, to other members on each line.
_API = "org/apache/spark/aqeplugin/SparkLineApi"

# Scala writes a forwarder for every default method of a Java interface into the class that implements it.
_INHERITED = {"org/apache/spark/sql/connector/catalog/Table"}


def _classes_of_line(line: str) -> set[str]:
    """The top-level classes in the source folder of one line, with slashes."""
    folder = _SOURCES / f"scala-spark-{line}"
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.*") if path.is_file()}


@cache
def _spark_members(line: str) -> dict[str, frozenset[Member]]:
    """The members of Spark that each class of a line's jar refers to."""
    jars = carried_jars()
    assert line in jars, f"no jar for Spark {line}: run `make jar`"
    return {name: frozenset(filter(_is_of_spark, one.members)) for name, one in classes_of(jars[line]).items()}


def _is_of_spark(member: Member) -> bool:
    is_ours = "/aqeplugin/" in member.owner
    # Scala also writes `name$`, a forwarder for each method of a trait, into the class that extends the trait.
    is_inherited = member.owner in _INHERITED or member.signature[0].endswith("$")
    return member.owner.startswith("org/apache/spark/") and not is_ours and not is_inherited


def _is_shared(name: str) -> bool:
    return name.split("$")[0] not in {_API, *_classes_of_line(PRIMARY)}


def test_the_package_carries_a_jar_for_every_line() -> None:
    assert set(carried_jars()) == set(jvm.lines())


def test_every_line_has_the_same_own_classes() -> None:
    assert _LINE in _classes_of_line(PRIMARY)
    assert {line: _classes_of_line(line) for line in jvm.lines()} == dict.fromkeys(
        jvm.lines(), _classes_of_line(PRIMARY)
    )


def test_shared_code_uses_no_member_that_differs_between_lines() -> None:
    differing = {
        f"{name} on {line}: {member}"
        for line in jvm.lines()
        for name, members in _spark_members(line).items()
        if _is_shared(name)
        for member in members ^ _spark_members(PRIMARY).get(name, frozenset())
    }
    assert not differing, "\n".join(["to be moved behind SparkLineApi:", *sorted(differing)])


def test_the_page_header_differs_between_4_1_and_4_2() -> None:
    headers = {
        line: {m.signature[1] for m in _spark_members(line)[_API] if m.signature[0] == "headerSparkPage"}
        for line in ("4.1", "4.2")
    }
    assert len(headers["4.1"]) == len(headers["4.2"]) == 1
    assert headers["4.1"] != headers["4.2"]
