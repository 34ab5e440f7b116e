"""An installed plugin, proved by real applications; and that Java reads a properties file as we do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import SessionError, TargetError
from aqe_plugin.install.health import session_checks, spark_home_of
from aqe_plugin.install.jars import jar_for
from commands import Answer
from tests.extent import cases, only_in_test_all

JAR = "local:///opt/spark/aqe-plugin-spark-4.1-0.1.0.jar"
MANIFEST = f"""\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
spec:
  sparkConf:
    spark.master: k8s://https://cluster
    spark.kubernetes.namespace: jobs
    spark.plugins: io.aqeplugin.AqePlugin
    spark.jars: {JAR}
    spark.aqePlugin.mode: apply
"""


def outcomes(out: str) -> list[tuple[str, str]]:
    return [(line[:8].strip(), line[8:18].strip()) for line in out.splitlines()]


RAN = [("ok", name) for name in ("session", "plugin", "mode", "events", "deciding")]


@pytest.mark.spark
def test_a_real_run_passes_after_install_and_fails_without_the_jar(tmp_path: Path, answer: Answer) -> None:
    target = tmp_path / "spark-defaults.conf"
    target.write_text("spark.master yarn\nspark.dynamicAllocation.enabled true\nspark.sql.ansi.enabled=true\n")
    assert answer("install", "--target", str(target), "--yes")[0] == 0
    code, out, _ = answer("check", "--run", "--target", str(target))
    assert (code, outcomes(out)) == (0, [("ok", name) for name in ("conf", "plugin", "jar", "mode")] + RAN)
    assert "joins decided in mode observe: 1\n" in out

    broken = target.read_text().replace(str(jar_for("4.1")), "/gone/aqe-plugin-spark-4.1-0.1.0.jar")
    target.write_text(broken)
    code, out, _ = answer("check", "--run", "--target", str(target))
    assert code == 3
    assert [name for verdict, name in outcomes(out) if verdict == "failed"] == ["jar", "session"]
    assert "/gone/aqe-plugin-spark-4.1-0.1.0.jar does not exist" in out


@only_in_test_all
@pytest.mark.spark
def test_a_real_run_of_a_manifest_uses_a_local_copy_of_its_jar(tmp_path: Path, answer: Answer) -> None:
    target = tmp_path / "application.yaml"
    target.write_text(MANIFEST)
    code, out, _ = answer("check", "--run", "--target", str(target), "--jar", str(jar_for("4.1")))
    assert (code, outcomes(out)[-len(RAN) :]) == (0, RAN)


@pytest.mark.spark
def test_java_parses_properties_like_the_package(tmp_path: Path) -> None:
    from pyspark import java_gateway

    launch: Any = java_gateway.launch_gateway
    gateway = launch()
    # Each lookup of a class by its package is several calls.
    properties, reader = gateway.jvm.java.util.Properties, gateway.jvm.java.io.StringReader
    chance = random.Random(4)
    pieces = [
        "a",
        "spark.x",
        "=",
        ":",
        " ",
        "\t",
        "\f",
        "\n",
        "\r",
        "\r\n",
        "\\",
        "\\\n",
        "#",
        "!",
        "\\u0041",
        "é",
        ",",
    ]
    try:
        for _ in range(cases(300, whole=1500)):
            text = "".join(chance.choices(pieces, k=chance.randint(0, 14)))
            try:
                ours = parse_properties(text.encode(), "f").items()
            except TargetError:
                continue
            read = properties()
            read.load(reader(text))
            theirs = {key: read.getProperty(key) for key in read.stringPropertyNames()}
            # Java's trim is not Spark's, which leaves ends of lines; there are none to trim in these.
            assert ours == {key: value.strip("\t\f ") for key, value in theirs.items()}, repr(text)
    finally:
        gateway.shutdown()


def test_a_real_run_starts_nothing_without_an_installed_plugin(tmp_path: Path) -> None:
    target = tmp_path / "spark-defaults.conf"
    target.write_text("spark.master yarn\n")
    (check,) = session_checks(FileStore(target), None, {})
    assert (check.verdict, check.name) == ("failed", "session")
    assert "aqe-plugin install" in check.fix


def test_a_real_run_of_an_image_asks_for_a_local_copy_of_its_jar(tmp_path: Path) -> None:
    target = tmp_path / "application.yaml"
    target.write_text(MANIFEST)
    with pytest.raises(TargetError, match="--jar"):
        list(session_checks(FileStore(target), None, {}))


def test_a_real_run_starts_the_files_spark_else_spark_home(tmp_path: Path) -> None:
    for name in ("own", "environment"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "spark-submit").touch()
    target, elsewhere = tmp_path / "own" / "conf" / "spark-defaults.conf", tmp_path / "spark-defaults.conf"
    environment = {"SPARK_HOME": str(tmp_path / "environment")}
    assert spark_home_of(FileStore(target), environment) == tmp_path / "own"
    assert spark_home_of(FileStore(elsewhere), environment) == tmp_path / "environment"
    assert (spark_home_of(FileStore(elsewhere), {}) / "bin" / "spark-submit").is_file()


def test_a_folder_without_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="bin/spark-submit"):
        spark_home_of(FileStore(tmp_path / "spark-defaults.conf"), {"SPARK_HOME": str(tmp_path)})
