"""The Python interface as a Spark Connect client has it, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from api_sessions import CONFS, AnySession, aqe, items, plan_of, sales, write_tables
from aqe_plugin import AqePlugin, jar_for
from spark_servers import free_port, with_the_plugin

__all__ = ["aqe", "items", "plan_of", "sales"]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    port = free_port()
    confs = {
        **CONFS,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        # What spark.jars adds is not on the class path that EXPLAIN's section is loaded from.
        "spark.driver.extraClassPath": str(jar_for(pyspark.__version__)),
    }
    with with_the_plugin("org.apache.spark.sql.connect.service.SparkConnectServer", confs, (), port, folder):
        yield port


@pytest.fixture(scope="module")
def spark(port: int, folder: Path) -> Iterator[SparkSession]:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    session: SparkSession = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()  # type: ignore[assignment]
    try:
        write_tables(session, folder)
        yield session
    finally:
        # Before the server goes: a client whose server is gone keeps its process alive.
        session.stop()


class TestConnect(AnySession):
    def test_the_session_is_one_of_spark_connect(self, spark: SparkSession) -> None:
        assert type(spark).__module__.startswith("pyspark.sql.connect")

    def test_an_explanation_runs_nothing_and_has_a_line_for_each_join(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing = sales.join(items, "item").selectExpr("raise_error('it was run') AS failed")
        seen = aqe.explain(failing)
        (line,) = seen.lines
        assert "item" in line
        assert "== Physical Plan ==" in seen.plan
        assert "Nothing was run." in repr(seen)
        assert line in " ".join(repr(seen).split())
        assert capsys.readouterr().out == ""

    def test_mode_and_thresholds_are_set_on_the_server_and_restored(self, aqe: AqePlugin, spark: SparkSession) -> None:
        with aqe.override(mode="observe", broadcast_max_memory_bytes="256m"):
            assert aqe.mode == "observe"
            assert spark.sql("SET spark.aqePlugin.broadcast.maxMemoryBytes").first()["value"] == "256m"  # type: ignore[index]
            assert aqe.thresholds.broadcast_max_memory_bytes == 256 * 1024**2
        assert spark.conf.get("spark.aqePlugin.mode", None) is None
        assert aqe.thresholds.broadcast_max_memory_bytes == 128 * 1024**2
