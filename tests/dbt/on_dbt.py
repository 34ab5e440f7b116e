"""A project of dbt, in a session of its own and over Spark's Thrift Server; run by `make test-dbt`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from commands import Answer
from spark_servers import free_port, spark_alone, thrift_server

pytestmark = pytest.mark.spark

_PROGRAMS = Path(__file__).resolve().parents[2] / ".build" / "dbt" / "venv" / "bin"
# The one way of a page: a model switches itself on, and its connection back.
_HOOKS = 'pre_hook="SET spark.aqePlugin.mode=apply", post_hook="SET spark.aqePlugin.mode=observe"'
_MODELS = {
    "sales": "{{ config(materialized='table', file_format='parquet') }}\n"
    "SELECT id % 20000 AS item, id AS amount FROM range(400000)",
    "items": "{{ config(materialized='table', file_format='parquet') }}\n"
    "SELECT id AS item, concat('n', id) AS name FROM range(20000)",
    "joined": "{{ config(materialized='table', file_format='parquet', HOOKS) }}\n"
    "SELECT name, sum(amount) AS amount FROM {{ ref('sales') }} JOIN {{ ref('items') }} USING (item)\n"
    "WHERE name LIKE '%77' GROUP BY name",
}
_REMOVED = "396.0 k of 400.0 k rows (99 %) that filters checked were removed"


def conf(folder: Path) -> dict[str, str]:
    """An event log, and what makes the small join a filtered one."""
    events = folder / "events"
    events.mkdir()
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.autoBroadcastJoinThreshold": "10k",
        "spark.aqePlugin.force": "*=filtered_sort_merge",
    }


def run_dbt(folder: Path, hooks: str, connection: Mapping[str, object], **environment: str) -> None:
    """Runs the three models of a new project in ``folder``, with a connection as in `profiles.yml`."""
    (folder / "models").mkdir(parents=True)
    for name, text in _MODELS.items():
        (folder / "models" / f"{name}.sql").write_text(text.replace(", HOOKS", hooks and f", {hooks}"))
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop, config-version: 2}\n")
    output = {"type": "spark", "schema": "default", "host": "127.0.0.1", "threads": 1, **connection}
    # JSON is YAML.
    profile = {"shop": {"target": "dev", "outputs": {"dev": output}}}
    (folder / "profiles.yml").write_text(json.dumps(profile))
    command = [str(_PROGRAMS / "dbt"), "run", "--project-dir", str(folder), "--profiles-dir", str(folder)]
    around = {
        **os.environ,
        **environment,
        "PYTHONPATH": str(spark_alone(folder)),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    ran = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, timeout=400, check=False)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-5000:]


def test_a_session_of_dbts_own_reads_the_conf_of_install_and_a_model_switches_itself_on(
    tmp_path: Path, answer: Answer
) -> None:
    defaults = tmp_path / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_text(
        "spark.master local[2]\n" + "".join(f"{key} {value}\n" for key, value in conf(tmp_path).items())
    )
    assert answer("install", "--target", str(defaults), "--yes")[0] == 0
    run_dbt(tmp_path / "project", _HOOKS, {"method": "session"}, SPARK_CONF_DIR=str(defaults.parent))
    code, out, _ = answer("explain", str(tmp_path / "events"))
    assert (code, _REMOVED in out) == (0, True), out


def test_what_the_profile_of_a_session_sets_holds_for_each_statement(tmp_path: Path, answer: Answer) -> None:
    plugin = {"spark.plugins": PLUGIN_CLASS, "spark.jars": str(jar_for(pyspark.__version__))}
    keys = {**conf(tmp_path), **plugin, "spark.master": "local[2]", "spark.aqePlugin.mode": "observe"}
    run_dbt(tmp_path / "project", _HOOKS, {"method": "session", "server_side_parameters": keys})
    code, out, _ = answer("explain", str(tmp_path / "events"))
    assert (code, "1 would be changed" in out) == (0, True), out


def test_over_thrift_a_model_is_observed_until_its_hooks_switch_it_on(tmp_path: Path, answer: Answer) -> None:
    port = free_port()
    with thrift_server({**conf(tmp_path), "spark.aqePlugin.mode": "observe"}, port, tmp_path):
        over = {"method": "thrift", "port": port, "user": "anna"}
        run_dbt(tmp_path / "observed", "", over)
        run_dbt(tmp_path / "changed", _HOOKS, over)
    code, out, _ = answer("explain", str(tmp_path / "events"))
    assert (code, _REMOVED in out) == (0, True), out
    assert "2 joins decided, 1 changed" in out
