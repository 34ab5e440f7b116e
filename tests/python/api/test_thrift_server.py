"""The table of decisions as a JDBC client sees it, through a real Spark Thrift Server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api_sessions import CONFS
from spark_servers import answered, free_port, thrift_server

pytestmark = pytest.mark.spark

JOIN = "SELECT count(*) AS n FROM sales JOIN range(0, 100, 1, 2) ON item = id WHERE id % 10 = 7"
SALES = "CREATE TEMPORARY VIEW sales AS SELECT id % 1000 AS item FROM range(0, 100000, 1, 2)"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port = tmp_path_factory.mktemp("thrift"), free_port()
    with thrift_server({**CONFS, "spark.aqePlugin.cost.lookNanosPerJoin": "0"}, port, folder):
        # With the first session that ends, Hive closes class loaders.
        answered(port, "early", "SELECT 1")
        yield port


def test_decisions_of_one_client_are_rows_for_another_and_its_mode_is_its_own(port: int) -> None:
    counted = answered(port, "anna", SALES, JOIN, "SET spark.aqePlugin.mode=off", JOIN)
    columns = "user_name, description, query_status, mode, build_rows, length(job_group) > 0, length(reason) > 0"
    rows = answered(port, "bert", f"SELECT {columns} FROM aqe_decisions()")
    assert counted == [["1000"], ["spark.aqePlugin.mode", "off"], ["1000"]]
    assert rows == [["anna", JOIN, "succeeded", "apply", "10", "true", "true"]]


def test_with_the_jar_in_spark_jars_alone_a_server_runs_as_without_the_plugin_and_says_why(tmp_path: Path) -> None:
    port = free_port()
    with thrift_server({**CONFS, "spark.driver.extraClassPath": "", "spark.log.level": "WARN"}, port, tmp_path):
        answered(port, "early", "SELECT 1")
        assert answered(port, "anna", SALES, JOIN) == [["1000"]]
    assert "aqe-plugin: a Thrift Server closes the class loader of spark.jars" in (tmp_path / "server.log").read_text()
