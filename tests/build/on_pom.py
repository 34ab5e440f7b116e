"""The pom of the primary Spark line, as sbt made it for `make test`."""

from __future__ import annotations

from pathlib import Path

from aqe_plugin import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_whoever_takes_the_plugin_by_its_coordinates_takes_nothing_else() -> None:
    (path,) = ROOT.glob(f"scala/target/4.1/scala-*/aqe-plugin-spark-4.1_2.13-{__version__}.pom")
    pom = path.read_text()
    assert pom.count("<dependency>") == pom.count("<scope>provided</scope>") > 0
