"""What ``configure`` does to a builder, as far as no JVM is needed to see it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

import aqe_plugin
from aqe_plugin import Mode
from aqe_plugin.errors import ConfError, ExtraMissingError, SessionError, UnsupportedSparkError
from aqe_plugin.install import session
from aqe_plugin.machine.extras import install_command

JAR = Path("/jars/aqe-plugin-spark-4.1-0.1.0.jar")


@pytest.fixture(autouse=True)
def _no_jvm_no_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session, "jar_for", lambda _: JAR)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def builder(**options: str) -> SparkSession.Builder:
    made = SparkSession.Builder()
    for key, value in options.items():
        made.config(key.replace("_", "."), value)
    return made


def options_of(configured: SparkSession.Builder) -> dict[str, Any]:
    return configured._options


def test_configure_sets_four_keys_and_returns_the_builder() -> None:
    made = builder()
    assert aqe_plugin.configure(made, mode="apply") is made
    assert options_of(made) == {
        "spark.plugins": "io.aqeplugin.AqePlugin",
        "spark.jars": str(JAR),
        "spark.driver.extraClassPath": str(JAR),
        "spark.aqePlugin.mode": "apply",
    }


def test_the_users_own_plugins_and_jars_stay_first() -> None:
    made = aqe_plugin.configure(builder(spark_plugins="com.acme.P, com.acme.Q", spark_jars="/a.jar,/b.jar"))
    assert options_of(made)["spark.plugins"] == "com.acme.P,com.acme.Q,io.aqeplugin.AqePlugin"
    assert options_of(made)["spark.jars"] == f"/a.jar,/b.jar,{JAR}"


def test_the_users_own_class_path_stays_first() -> None:
    made = builder()
    made.config("spark.driver.extraClassPath", "/a.jar:/b")
    assert options_of(aqe_plugin.configure(made))["spark.driver.extraClassPath"] == f"/a.jar:/b:{JAR}"


def test_configure_without_a_mode_keeps_the_mode() -> None:
    assert "spark.aqePlugin.mode" not in options_of(aqe_plugin.configure(builder()))
    assert options_of(aqe_plugin.configure(builder(spark_aqePlugin_mode="off")))["spark.aqePlugin.mode"] == "off"


def test_a_second_configure_changes_nothing() -> None:
    made = aqe_plugin.configure(builder())
    before = dict(options_of(made))
    assert options_of(aqe_plugin.configure(made)) == before


def test_a_jar_that_is_listed_as_a_url_is_not_added_again() -> None:
    made = aqe_plugin.configure(builder(spark_jars=f"file:{JAR}"))
    assert options_of(made)["spark.jars"] == f"file:{JAR}"


def test_entries_of_spark_defaults_conf_are_kept(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# a comment\n\nspark.plugins   com.acme.P\nspark.jars=/a.jar\nspark.master : local\n"
    )
    made = aqe_plugin.configure(builder())
    assert options_of(made)["spark.plugins"] == "com.acme.P,io.aqeplugin.AqePlugin"
    assert options_of(made)["spark.jars"] == f"/a.jar,{JAR}"


@pytest.mark.parametrize("mode", ["off", "observe", "apply"])
def test_configure_sets_every_mode(mode: Mode) -> None:
    assert options_of(aqe_plugin.configure(builder(), mode=mode))["spark.aqePlugin.mode"] == mode


def test_an_unknown_mode_is_refused_with_the_allowed_values() -> None:
    with pytest.raises(ConfError) as error:
        aqe_plugin.configure(builder(), mode=cast("Mode", "aply"))
    assert ("aply" in str(error.value), "off, observe, apply" in str(error.value)) == (True, True)


@pytest.mark.parametrize(("given", "kind"), [("x", "str"), (None, "NoneType"), (SparkSession, "type")])
def test_configure_names_the_type_of_what_is_no_builder(given: Any, kind: str) -> None:
    with pytest.raises(TypeError) as error:
        aqe_plugin.configure(given)
    assert str(error.value) == f"configure takes SparkSession.builder, not {kind}."


def test_without_pyspark_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    made = builder()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ExtraMissingError) as error:
        aqe_plugin.configure(made)
    assert str(error.value) == f"PySpark is not installed: {install_command('spark')}."


def test_a_pyspark_of_an_unknown_line_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from aqe_plugin.install.jars import jar_for

    (tmp_path / "aqe-plugin-spark-4.1-0.1.0.jar").touch()
    monkeypatch.setattr(session, "jar_for", lambda version: jar_for(version, tmp_path, "0.1.0"))
    monkeypatch.setattr("pyspark.__version__", "3.5.4")
    made = builder()
    with pytest.raises(UnsupportedSparkError, match=r"has no jar for Spark 3\.5\.4; it has one for 4\.1\."):
        aqe_plugin.configure(made)
    assert options_of(made) == {}


def test_a_connect_client_is_refused_with_how_to_start_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    with pytest.raises(SessionError, match="A Spark Connect client cannot add a plugin to its server"):
        aqe_plugin.configure(builder())


@pytest.mark.parametrize("arguments", ["--jars x.jar pyspark-shell", "--conf spark.plugins=a.B pyspark-shell"])
def test_submit_arguments_that_would_override_are_refused(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with pytest.raises(SessionError, match="PYSPARK_SUBMIT_ARGS sets jars or plugins"):
        aqe_plugin.configure(builder())


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("wrong_kw", ""),
        ("modus", " Did you mean mode=...?"),
        ("filter_max_passrate", ' Did you mean builder.config("spark.aqePlugin.filter.maxPassRate", ...)?'),
    ],
)
def test_an_argument_of_another_name_is_refused_with_those_that_there_are(name: str, meant: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    made = builder()
    with pytest.raises(ConfError) as refused:
        aqe_plugin.configure(made, **unknown)
    assert (f"{name}=1" in str(refused.value), str(refused.value).endswith(meant)) == (True, True)
    assert options_of(made) == {}
