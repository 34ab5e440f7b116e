"""The checks behind ``check``; a real session is in ``test_session_start``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.api.session_check import Checks
from aqe_plugin.conf.keys import CANARY, CANARY_SHARE, PLUGIN_CLASS, PREFIX
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.install.checks import (
    ADAPTIVE_KEY,
    AS_IF_OFF,
    JOIN_ROWS,
    NOT_ADAPTIVE,
    Check,
    deciding,
    key_checks,
    loading,
    mode_set,
    nothing_decided,
)
from aqe_plugin.install.health import machine_checks
from aqe_plugin.install.session_probe import Probe, answer_file, plugin_loaded, read_answer, session_started

GOOD = Probe(
    spark_version="4.1.3",
    plugins="com.acme.Own,io.aqeplugin.AqePlugin",
    extensions="com.acme.Rules,io.aqeplugin.plugin.AqeExtensions",
    mode="apply",
    rows=JOIN_ROWS,
)
GONE = "/nowhere/aqe-plugin-spark-4.1-0.1.0.jar"
REMOTE = "hdfs:///jars/aqe-plugin-spark-4.1-0.1.0.jar"


def test_a_working_session_passes_with_its_version() -> None:
    assert session_started(GOOD, "4.1.2") == Check("session", "ok", "Spark 4.1.3 started; a join gave 100 of 100 rows")
    assert plugin_loaded(GOOD, "").ok


def test_a_spark_of_another_line_than_pysparks_fails_with_a_fix() -> None:
    check = session_started(GOOD, "4.0.1")
    assert (check.ok, "4.1.3" in check.found, "SPARK_HOME" in check.fix) == (False, True, True)


@pytest.mark.process
def test_a_spark_that_the_environment_names_is_looked_at_in_place_of_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    _, spark, jar, classes = machine_checks()
    assert (spark.ok, "is not a Spark" in spark.found) == (False, True)
    assert (jar.found, classes.found) == ("needs Spark", "needs Spark")
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    _, spark, jar, *_ = machine_checks()
    assert spark == Check("Spark", "ok", f"Spark 3.5.1 at {tmp_path} (SPARK_HOME)")
    assert (jar.ok, "3.5" in jar.found) == (False, True)


def test_a_join_with_missing_rows_fails() -> None:
    check = session_started(replace(GOOD, rows=99), "4.1.3")
    assert (check.ok, "99 of 100" in check.finding) == (False, True)


def test_an_inactive_plugin_fails_with_the_drivers_warning() -> None:
    warning = "aqe-plugin: this jar is for Spark 4.1 and this is Spark 4.0.1. Use the jar for 4.0."
    stood_down = replace(GOOD, extensions="com.acme.Rules")
    check = plugin_loaded(stood_down, f"one\n26/11/21 WARN AqeDriverPlugin: {warning}\n")
    assert (check.ok, check.finding) == (False, warning)


def test_an_inactive_plugin_without_a_warning_is_reported() -> None:
    check = plugin_loaded(replace(GOOD, extensions=""), "")
    assert (check.ok, check.fix) == (False, "Report this.")


def test_a_plugin_missing_from_the_conf_fails() -> None:
    check = plugin_loaded(replace(GOOD, plugins="com.acme.Own"), "")
    assert (check.ok, "com.acme.Own" in check.found) == (False, True)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"strange": 1}'])
def test_an_incomplete_report_of_a_session_is_ignored(tmp_path: Path, content: str) -> None:
    assert read_answer(tmp_path) is None
    answer_file(tmp_path).write_text(content)
    assert read_answer(tmp_path) is None


@pytest.mark.parametrize(
    ("listed", "jars", "failed"),
    [
        (0, (), []),
        (1, (REMOTE,), []),
        (0, (GONE,), ["plugin"]),
        (1, (), ["jar"]),
        (1, (GONE,), ["jar"]),
        (2, (REMOTE, GONE), ["plugin", "jar", "jar"]),
    ],
)
def test_a_conf_fails_where_spark_would_not_load_the_plugin(
    listed: int, jars: tuple[str, ...], failed: list[str]
) -> None:
    plugins = ",".join([PLUGIN_CLASS] * listed)
    conf = parse_properties(f"spark.plugins {plugins}\nspark.jars {','.join(jars)}\n".encode(), "conf")
    bad = [check for check in loading(conf) if not check.ok]
    assert [check.name for check in bad] == failed
    assert all(check.fix for check in bad)


def test_each_key_of_the_plugin_is_checked_and_no_other() -> None:
    rate, typo, mode = (f"{PREFIX}{name}" for name in ("filter.maxPassRate", "filter.maxByte", "mode"))
    the_mode, *checks = key_checks({rate: "7", typo: "1m", mode: "apply", "spark.a": "b"})
    assert (the_mode.name, the_mode.ok) == ("mode", True)
    assert [(check.name, check.ok) for check in checks] == [(typo, False), (rate, False)]
    assert "did you mean spark.aqePlugin.filter.maxBytes?" in checks[0].found
    assert checks[1].found == "7: not allowed: expected a number from 0 to 1"
    assert [check.fix for check in checks] == ["", AS_IF_OFF]
    assert not Checks("", tuple(checks)).ok
    assert "failed" in repr(Checks("", tuple(checks)))


def test_adaptive_execution_that_is_off_is_named() -> None:
    _, check = key_checks({ADAPTIVE_KEY: "False"})
    assert (check.name, check.ok) == (ADAPTIVE_KEY, False)
    assert "no join is decided" in check.found
    assert key_checks({ADAPTIVE_KEY: "true"}) == key_checks({})


def test_a_switch_of_adaptive_execution_that_spark_does_not_take_is_named() -> None:
    _, check = key_checks({ADAPTIVE_KEY: "no"})
    assert (check.ok, check.found) == (False, f"no: {NOT_ADAPTIVE}")


def test_a_key_in_other_letters_is_named_with_the_right_ones() -> None:
    _, check = key_checks({"spark.aqeplugin.filter.maxBytes": "1m"})
    assert not check.ok
    assert "did you mean spark.aqePlugin.filter.maxBytes?" in check.found


def test_only_values_that_are_not_allowed_and_absent_adaptive_execution_decide_no_join() -> None:
    rate, typo = f"{PREFIX}filter.maxPassRate", f"{PREFIX}filter.maxByte"
    of_a_canary = {f"{CANARY}set.filter.maxByte": "1", CANARY_SHARE: "7"}
    stopping = nothing_decided({f"{PREFIX}force": "a=b", typo: "1m", rate: "7", **of_a_canary, ADAPTIVE_KEY: "false"})
    assert [check.name for check in stopping] == [rate, ADAPTIVE_KEY]


def test_the_mode_is_the_default_when_it_is_not_set() -> None:
    assert mode_set(None).found == "apply, by default"
    assert mode_set("observe").found == "observe"
    assert not mode_set("aply").ok


def test_no_decision_fails_unless_the_mode_is_off() -> None:
    verdicts = [deciding(decisions, mode).verdict for decisions, mode in ((1, "apply"), (0, "apply"), (0, "off"))]
    assert verdicts == ["ok", "failed", "not run"]


def test_a_join_left_alone_beside_another_engine_names_its_operator() -> None:
    check = deciding(1, "apply", "org.apache.spark.sql.comet.CometSortMergeJoinExec")
    assert check.ok
    assert "FOREIGN_NODE: org.apache.spark.sql.comet.CometSortMergeJoinExec" in check.found
