"""Small applications beside each neighbour of the plugin; run by `make neighbours`, which writes docs/works-with.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest

from aqe_plugin.conf.keys import PLUGINS_KEY
from spark_servers import answered, free_port, thrift_server, with_the_plugin
from tests.neighbours.neighbour import NEIGHBOURS, Neighbour, tables
from tests.neighbours.running import Ran, logged, run, with_jars

pytestmark = pytest.mark.e2e

_JOIN = "SELECT name, sum(amount) AS amount FROM sales JOIN items USING (item) WHERE name LIKE '%77' GROUP BY name"

Record = Callable[[str, object], None]


@pytest.fixture
def spark_jvm() -> None:
    """No session in this process: each application has its own."""


def _named(neighbour: Neighbour) -> str:
    return f"{neighbour.name}, {neighbour.way}" if neighbour.way else neighbour.name


def _hold(ran: Ran, reason: str, record: Record) -> None:
    assert len(ran.rows["off"]) == 200
    assert ran.rows["apply"] == ran.rows["off"]
    removed = ran.removed()
    record("filter", "yes" if removed else f"no: `{reason}`")
    assert not ran.warnings(), "\n".join(ran.warnings())
    if reason:
        assert (removed, reason in ran.reasons()) == (0, True), ran.reasons()
    else:
        assert removed > 300_000, (ran.reasons(), ran.plans)


@pytest.mark.parametrize("beside", NEIGHBOURS, ids=_named)
def test_rows_stay_and_a_filter_fires_or_says_why_not(
    beside: Neighbour, tmp_path: Path, record_property: Record
) -> None:
    jars = beside.jars()
    record_property("beside", beside.name)
    record_property("way", beside.way)
    record_property("version", jars[0].stem.rpartition("-")[2] if jars else pyspark.__version__)
    lineage = tmp_path / "lineage.jsonl"
    own = {
        "spark.sql.catalog.lake.warehouse": (tmp_path / "lake").as_uri(),
        "spark.openlineage.transport.location": str(lineage),
    }
    confs = {"spark.master": "local[2]", **logged(tmp_path), **with_jars(*jars), **own, **beside.confs}
    told = {"confs": confs, "setup": beside.setup, "query": beside.query}
    ran = run(told, tmp_path)
    assert all(beside.ran in plan for plan in ran.plans.values()), ran.plans
    if beside.query == "created":
        assert _sources_of(lineage, "joined") == {"items, sales"}
    _hold(ran, beside.reason, record_property)


def _sources_of(lineage: Path, table: str) -> set[str]:
    """The tables that each finished write of this table has read, as they are named together."""
    ended = [one for one in map(json.loads, lineage.read_text().splitlines()) if one["eventType"] == "COMPLETE"]
    writes = [one for one in ended if one["inputs"] and any(table in made["name"] for made in one["outputs"])]
    return {", ".join(sorted(Path(read["name"]).name for read in one["inputs"])) for one in writes}


@pytest.mark.parametrize("package", ["pyspark", "pyspark-client"])
def test_a_client_of_spark_connect_keeps_its_rows(package: str, tmp_path: Path, record_property: Record) -> None:
    record_property("beside", "Spark Connect")
    record_property("way", f"client of the package `{package}`")
    record_property("version", pyspark.__version__)
    port = free_port()
    confs = {**logged(tmp_path), **with_jars(), "spark.connect.grpc.binding.address": "127.0.0.1"}
    del confs[PLUGINS_KEY]
    confs["spark.connect.grpc.binding.port"] = str(port)
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with with_the_plugin(server, confs, (), port, tmp_path):
        told = {"confs": {"spark.remote": f"sc://127.0.0.1:{port}"}, "setup": tables("parquet"), "query": "sql"}
        ran = run(told, tmp_path, spark=package == "pyspark")
    _hold(replace(ran, output=(tmp_path / "server.log").read_text()), "", record_property)


def test_a_jdbc_client_of_the_thrift_server_keeps_its_rows(tmp_path: Path, record_property: Record) -> None:
    record_property("beside", "Spark's Thrift Server")
    record_property("way", "Hive's JDBC driver")
    record_property("version", pyspark.__version__)
    port, rows = free_port(), {}
    with thrift_server(logged(tmp_path), port, tmp_path):
        answered(port, "anna", *tables("parquet"))
        for mode in ("off", "apply"):
            _, *lines = answered(port, "anna", f"SET spark.aqePlugin.mode={mode}", _JOIN)
            rows[mode] = sorted(lines)
    ran = Ran(rows, {}, (tmp_path / "server.log").read_text(), tmp_path / "events")
    _hold(ran, "", record_property)
