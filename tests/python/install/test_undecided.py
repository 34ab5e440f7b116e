"""Why an application decided nothing: by the conf that its event log has."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.conf.stores.locate import read_target
from aqe_plugin.install.forced_joins import not_forced
from aqe_plugin.install.log_checks import why_undecided
from aqe_plugin.machine.pyspark import import_pyspark
from commands import Answer
from samples import LOG_START, OUTCOME, decided, ended, line, over, started

LOADED = {"spark.plugins": f"com.acme.P, {PLUGIN_CLASS}", "spark.sql.extensions": "io.aqeplugin.plugin.AqeExtensions"}
IN_DRIVER = {"spark.master": "k8s://https://cluster", "spark.kubernetes.submitInDriver": "true"}
SCRIPT = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
few = spark.range(1000).selectExpr("id AS key").where("key = 7")
spark.range(100000).selectExpr("id % 1000 AS key").join(few, "key").collect()
spark.stop()
"""


def environment(conf: dict[str, str]) -> bytes:
    event = {"Event": "SparkListenerEnvironmentUpdate", "JVM Information": {}, "Spark Properties": conf}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    ("conf", "why"),
    [
        (LOADED, ""),
        ({}, "it did not load the plugin (it has no spark.plugins): its conf is not that of the file"),
        ({"spark.plugins": "com.acme.P"}, "it did not load the plugin (it has spark.plugins = com.acme.P): its conf"),
        (IN_DRIVER, "it did not load the plugin (it has no spark.plugins): a driver in cluster mode on Kubernetes is"),
        (IN_DRIVER | LOADED, ""),
        (LOADED | {"spark.sql.extensions": "com.acme.Rules"}, "the plugin stood down when it started"),
        (LOADED | {"spark.aqePlugin.mode": "OFF"}, "it started with spark.aqePlugin.mode = off"),
        (
            LOADED | {"spark.aqePlugin.mode": "aply"},
            "it started with spark.aqePlugin.mode = aply: not allowed",
        ),
        (LOADED | {"spark.sql.adaptive.enabled": "false"}, "it started with spark.sql.adaptive.enabled = false: no "),
    ],
)
def test_the_conf_of_an_application_says_why_it_decides_nothing(
    tmp_path: Path, answer: Answer, conf: dict[str, str], why: str
) -> None:
    assert why_undecided(conf).startswith(why)
    (tmp_path / "app-1").write_bytes(LOG_START + environment(conf))
    code, _, err = answer("explain", str(tmp_path))
    told = why or "no query has ended there. The plugin was loaded, with spark.aqePlugin.mode = apply"
    assert (code, f"no decision of aqe-plugin in it. app-1: {told}" in err) == (4, True), err


def test_applications_that_loaded_the_plugin_and_decided_nothing_are_told_with_their_mode(
    tmp_path: Path, answer: Answer
) -> None:
    conf = environment(LOADED | {"spark.aqePlugin.mode": "observe"})
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(LOG_START + conf)
    (tmp_path / "c").write_bytes(LOG_START + conf + started() + over())
    code, _, err = answer("explain", str(tmp_path))
    assert code == 4
    told = " ".join(err.split())
    assert "a, b: no query has ended there. The plugin was loaded, with spark.aqePlugin.mode = observe." in told
    assert "c: no query had a join, limit or predicate that the plugin decides, or the session" in told


def test_all_applications_that_decided_nothing_are_named_also_beside_others_that_did(
    tmp_path: Path, answer: Answer
) -> None:
    for name, conf in {"a": {}, "b": IN_DRIVER, "c": {}, "d": {}, "e": {}, "f": LOADED}.items():
        (tmp_path / name).write_bytes(LOG_START + environment(conf))
    told = ("a, c, d and 1 more: it did not load the plugin (it has no spark.plugins)", "b: it did not load the plugin")
    code, _, err = answer("explain", str(tmp_path))
    assert (code, [one for one in told if one not in err]) == (4, []), err
    code, out, _ = answer("check", "--target", str(tmp_path / "conf"), "--event-log", str(tmp_path))
    assert (code, [one for one in told if one not in out]) == (3, []), out
    off = environment(LOADED | {"spark.aqePlugin.mode": "off"})
    (tmp_path / "g").write_bytes(LOG_START + off + line(decided(1)) + line(ended(1, (OUTCOME,))))
    code, _, err = answer("explain", str(tmp_path))
    assert (code, [one for one in told if one not in err]) == (0, []), err
    # What a session of it switched on decides.
    assert "g:" not in err


@pytest.mark.parametrize("theirs", ["", "spark.executor.cores 4\n"])
def test_where_the_plugin_was_taken_out_an_application_without_it_is_no_fault(
    tmp_path: Path, answer: Answer, theirs: str
) -> None:
    logs, conf = tmp_path / "logs", tmp_path / "spark-defaults.conf"
    logs.mkdir()
    if theirs:
        conf.write_text(theirs)
    (logs / "a").write_bytes(LOG_START + environment({}))
    (logs / "b").write_bytes(LOG_START + environment(LOADED | {"spark.aqePlugin.mode": "off"}))

    def checked() -> tuple[int, list[str]]:
        code, out, _ = answer("check", "--target", str(conf), "--event-log", str(logs))
        return code, [line for line in out.splitlines() if "application" in line]

    answer("install", "--target", str(conf), "--mode", "observe", "--yes")
    assert checked()[1][0].startswith("failed  application a: it did not load the plugin (it has no spark.plugins)")
    answer("uninstall", "--target", str(conf), "--yes")
    assert conf.exists() == bool(theirs)
    code, (left, off) = checked()
    assert left.startswith(
        "remark  application a: it did not load the plugin, and neither does the conf that is checked"
    )
    assert (code, off.startswith("failed  application b: it started with")) == (3, True)
    (logs / "b").unlink()
    assert checked()[0] == 0


@pytest.mark.parametrize("by_session", [True, False])
def test_an_id_that_is_forced_and_that_no_query_joined_is_named_with_those_there_are(
    tmp_path: Path, answer: Answer, by_session: bool
) -> None:
    value = "j2=broadcast;j1=no_filter;*=filter"
    conf = environment(LOADED | ({} if by_session else {"spark.aqePlugin.force": value}))
    start = started(force=value if by_session else "")
    (tmp_path / "app-1").write_bytes(LOG_START + conf + start + line(decided()) + over() + line(ended()))
    told = "app-1: spark.aqePlugin.force names j2: no join with this id was decided. Ids that were decided: j1."
    code, _, err = answer("explain", str(tmp_path))
    assert (code, told in " ".join(err.split())) == (0, True), err
    code, out, _ = answer("check", "--target", str(tmp_path / "conf"), "--event-log", str(tmp_path))
    assert f"remark  force       {told}" in out


def test_a_typing_error_in_what_is_forced_is_named_with_its_effect(tmp_path: Path, answer: Answer) -> None:
    conf = environment(LOADED | {"spark.aqePlugin.force": "j1=brodcast"})
    (tmp_path / "app-1").write_bytes(LOG_START + conf + started() + line(decided()) + over() + line(ended()))
    code, _, err = answer("explain", str(tmp_path))
    told = " ".join(err.split())
    assert (code, "app-1: spark.aqePlugin.force = j1=brodcast is not allowed: expected entries" in told) == (0, True), (
        err
    )
    assert told.endswith("no join is forced and all are decided as if the key were not set.")


def test_of_many_ids_the_nearest_are_named_first() -> None:
    decided = [f"inner:{one}=d_date_sk" for one in ("ss_sold_date_sk", "sr_returned_date_sk", "a", "b", "c")]
    told = not_forced("inner:ss_sold_date=d_date_sk=broadcast", decided)
    assert " decided, the nearest first: inner:ss_sold_date_sk=d_date_sk, inner:" in told
    assert told.endswith(" and 2 more.")
    assert not_forced("*=broadcast;inner:a=d_date_sk=filter", decided) == ""


def test_an_application_whose_executors_lack_the_jar_is_named_although_its_driver_decided(
    tmp_path: Path, answer: Answer
) -> None:
    lost = {"Event": "SparkListenerExecutorRemoved", "Timestamp": 1, "Executor ID": "0", "Removed Reason": "lost"}
    jarless = lost | {"Removed Reason": f"Unable to create executor due to {PLUGIN_CLASS}"}
    for name, removed in (("a", lost), ("b", jarless)):
        text = LOG_START + environment(LOADED) + line(decided(1)) + line(ended(1, (OUTCOME,)))
        (tmp_path / name).write_bytes(text + json.dumps(removed, separators=(",", ":")).encode() + b"\n")
    code, _, err = answer("explain", str(tmp_path))
    assert (code, "b: its executors did not start" in err, "a:" in err) == (0, True, False), err


def test_an_environment_that_is_damaged_is_skipped_and_reported(tmp_path: Path, answer: Answer) -> None:
    (tmp_path / "app-1").write_bytes(LOG_START + environment({})[:-9] + b"\n")
    code, _, err = answer("explain", str(tmp_path))
    assert (code, "SparkListenerEnvironmentUpdate: not valid JSON" in err) == (4, True), err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("conf.yaml", "kind: ConfigMap\ndata:\n  spark-defaults.conf: |\n    spark.a b\n", "spec.sparkConf"),
        ("spark-defaults.conf", "", "--load-spark-defaults"),
        (
            "app.yaml",
            "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nspec:\n  sparkConf:\n    spark.a: b\n",
            "",
        ),
    ],
)
def test_a_conf_says_which_drivers_do_not_read_it(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    found = read_target(FileStore(tmp_path / name))
    assert FileStore(tmp_path / name) == found.store
    assert (said in found.conf.not_read_by, bool(said)) == (True, bool(found.conf.not_read_by))


@pytest.mark.spark
def test_a_driver_with_a_properties_file_of_its_own_is_told_apart_by_its_real_event_log(
    tmp_path: Path, answer: Answer
) -> None:
    conf, script = tmp_path / "conf" / "spark-defaults.conf", tmp_path / "job.py"
    conf.parent.mkdir()
    script.write_text(SCRIPT)
    assert answer("install", "--target", str(conf), "--mode", "apply", "--yes")[0] == 0
    submit = Path(str(import_pyspark().__file__)).parent / "bin" / "spark-submit"

    def logs_of(*options: str) -> Path:
        logs = tmp_path / f"events{len(options)}"
        logs.mkdir()
        own = tmp_path / "own.conf"
        own.write_text(f"spark.eventLog.enabled true\nspark.eventLog.dir {logs}\nspark.ui.enabled false\n")
        command = [str(submit), "--master", "local[1]", "--properties-file", str(own), *options, str(script)]
        environment = os.environ | {"SPARK_CONF_DIR": str(conf.parent)}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stderr
        return logs

    without, loaded = logs_of(), logs_of("--load-spark-defaults")
    code, _, err = answer("explain", str(without))
    assert (code, "it did not load the plugin (it has no spark.plugins): its conf is not" in err) == (4, True), err
    assert "--properties-file without --load-spark-defaults" in err
    assert answer("explain", str(loaded))[0] == 0
    code, out, _ = answer("check", "--run", "--target", str(conf), "--event-log", str(without))
    assert code == 3
    assert any(line.startswith("failed  application ") for line in out.splitlines())
    assert answer("check", "--run", "--target", str(conf), "--event-log", str(loaded))[0] == 0
