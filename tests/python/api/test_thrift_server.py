"""The table of decisions as a JDBC client sees it, through a real Spark Thrift Server."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from api_sessions import CONFS
from aqe_plugin.machine.java import find_java
from spark_servers import free_port, thrift_server

pytestmark = pytest.mark.spark

JOIN = "SELECT count(*) AS n FROM sales JOIN range(0, 100, 1, 2) ON item = id WHERE id % 10 = 7"
SALES = "CREATE TEMPORARY VIEW sales AS SELECT id % 1000 AS item FROM range(0, 100000, 1, 2)"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port = tmp_path_factory.mktemp("thrift"), free_port()
    with thrift_server(CONFS, port, folder):
        # With the first session that ends, Hive closes class loaders.
        answered(port, "early", "SELECT 1")
        yield port


def answered(port: int, user: str, *statements: str) -> list[list[str]]:
    """The rows of ``statements`` in a JDBC session of their own, without headings."""
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    client = [str(find_java()[0]), "-XX:TieredStopAtLevel=1", "-cp", str(jars), "org.apache.hive.beeline.BeeLine"]
    options = ["--silent=true", "--showHeader=false", "--outputformat=tsv2", "--nullemptystring=false"]
    asked = [part for statement in statements for part in ("-e", statement)]
    ran = subprocess.run(
        [*client, "-u", f"jdbc:hive2://127.0.0.1:{port}/default", "-n", user, *options, *asked],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "TERM": "dumb"},
    )
    assert ran.returncode == 0, ran.stderr
    # The client writes a prompt for each statement before its rows.
    lines = (re.sub(r"^(0: jdbc:\S+> )+", "", line) for line in ran.stdout.splitlines())
    return [row for row in csv.reader(lines, delimiter="\t") if row]


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
