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
from spark_servers import free_port, with_the_plugin

pytestmark = pytest.mark.spark

JOIN = "SELECT count(*) AS n FROM sales JOIN range(0, 100, 1, 2) ON item = id WHERE id % 10 = 7"
SALES = "CREATE TEMPORARY VIEW sales AS SELECT id % 1000 AS item FROM range(0, 100000, 1, 2)"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port = tmp_path_factory.mktemp("thrift"), free_port()
    confs = {**CONFS, "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}
    bound = [
        word
        for name, value in (("port", str(port)), ("bind.host", "127.0.0.1"))
        for word in ("--hiveconf", f"hive.server2.thrift.{name}={value}")
    ]
    server = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    with with_the_plugin(server, confs, ("spark-internal", *bound), port, folder):
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
