"""dist/ as `make dist` leaves it: `make test-dist` makes it twice, compares the bytes and runs this."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aqe_plugin import __version__
from aqe_plugin.machine.pyspark import import_pyspark
from tests.deploy.prometheus_server import DEPLOY

DIST = DEPLOY.parent / "dist"
JOB = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(400_000).selectExpr("id % 20000 AS item").write.parquet("sales")
spark.range(20_000).selectExpr("id AS item", "concat('n', id) AS name").write.parquet("items")
items = spark.read.parquet("items").where("name LIKE '%77'")
assert spark.read.parquet("sales").join(items, "item").count() == 4000
print("decided", spark.sql("SELECT count(*) FROM aqe_decisions()").first()[0])
"""


@pytest.mark.process
def test_the_checksums_are_those_of_the_files() -> None:
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=DIST, check=False)
    assert checked.returncode == 0
    listed = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.relative_to(DIST).as_posix() for path in DIST.rglob("*") if path.is_file()} - {"SHA256SUMS"}


@pytest.mark.parametrize("line", ["4.0", "4.1", "4.2", "4.3"])
def test_a_line_has_jar_sources_documentation_and_pom(line: str) -> None:
    artefact = f"aqe-plugin-spark-{line}_2.13"
    folder = DIST / "maven" / "io" / "aqeplugin" / artefact / __version__
    names = {path.name for path in folder.iterdir() if not path.name.endswith((".md5", ".sha1"))}
    assert names == {f"{artefact}-{__version__}{end}" for end in (".jar", ".pom", "-sources.jar", "-javadoc.jar")}
    pom = (folder / f"{artefact}-{__version__}.pom").read_text()
    # Whoever takes it by its coordinates takes nothing else.
    assert pom.count("<dependency>") == pom.count("<scope>provided</scope>")


def test_the_bill_of_materials_names_the_jars_and_every_required_package() -> None:
    (bill,) = (json.loads(path.read_text()) for path in DIST.glob("*.cdx.json"))
    names = {component["name"] for component in bill["components"]}
    assert {"msgspec", "rich", "typer", f"aqe_plugin/jars/aqe-plugin-spark-4.1-{__version__}.jar"} <= names
    assert bill["metadata"]["component"]["version"] == __version__


@pytest.mark.spark
def test_a_plain_spark_takes_the_plugin_by_its_coordinates_and_decides(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    home = Path(str(import_pyspark().__file__)).parent
    line = ".".join(import_pyspark().__version__.split(".")[:2])
    command = [
        *(str(home / "bin" / "spark-submit"), "--master", "local[2]", "--repositories", (DIST / "maven").as_uri()),
        *("--packages", f"io.aqeplugin:aqe-plugin-spark-{line}_2.13:{__version__}"),
        *("--conf", "spark.plugins=io.aqeplugin.AqePlugin", "--conf", f"spark.jars.ivy={tmp_path / 'ivy'}"),
        *("--conf", "spark.sql.autoBroadcastJoinThreshold=10k", "job.py"),
    ]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[-2:] == ["decided", "1"]
