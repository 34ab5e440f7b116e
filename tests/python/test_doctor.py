"""What doctor concludes from what a session showed; the session itself is in ``test_session_start``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.install.doctor import PROBE_ROWS, Verdict, plugin_check, session_check
from aqe_plugin.install.session_probe import Probe, answer_file, read_answer

GOOD = Probe(
    spark_version="4.1.3",
    plugins="com.acme.Own,io.aqeplugin.AqePlugin",
    extensions="com.acme.Rules,io.aqeplugin.plugin.AqeExtensions",
    mode="apply",
    rows=PROBE_ROWS,
)


def test_a_session_in_order_is_told_with_its_version() -> None:
    check = session_check(GOOD, "4.1.2")
    assert (check.verdict, check.finding) == (Verdict.OK, "Spark 4.1.3 started and joined two small tables")
    assert plugin_check(GOOD, "").verdict is Verdict.OK


def test_another_spark_than_pysparks_own_is_named_with_the_fix() -> None:
    check = session_check(GOOD, "4.0.1")
    assert check.verdict is Verdict.FAILED
    assert check.finding == "PySpark is of line 4.0, it started Spark 4.1.3. Unset SPARK_HOME or mend it."


def test_a_wrong_number_of_rows_is_a_failure() -> None:
    check = session_check(replace(GOOD, rows=99), "4.1.3")
    assert (check.verdict, check.finding) == (Verdict.FAILED, "a join gave 99 rows instead of 100: report this.")


def test_a_plugin_that_stood_down_is_told_in_its_own_words() -> None:
    warning = "aqe-plugin: this jar is for Spark 4.1 and this is Spark 4.0.1. Use the jar for 4.0."
    check = plugin_check(replace(GOOD, extensions="com.acme.Rules"), f"one\n26/11/21 WARN AqeDriverPlugin: {warning}\n")
    assert (check.verdict, check.finding) == (Verdict.FAILED, warning)


def test_a_plugin_that_stood_down_silently_is_to_be_reported() -> None:
    check = plugin_check(replace(GOOD, extensions=""), "")
    assert (check.verdict, check.finding) == (
        Verdict.FAILED,
        "it was loaded and stood down without a word: report this.",
    )


def test_a_plugin_that_is_not_in_the_conf_says_so() -> None:
    check = plugin_check(replace(GOOD, plugins="com.acme.Own"), "")
    assert check.verdict is Verdict.FAILED
    assert check.finding == (
        "io.aqeplugin.AqePlugin is not in spark.plugins (com.acme.Own): something overrules the session's conf."
    )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"strange": 1}'])
def test_an_answer_that_is_not_whole_is_none(tmp_path: Path, content: str) -> None:
    assert read_answer(tmp_path) is None
    answer_file(tmp_path).write_text(content)
    assert read_answer(tmp_path) is None
