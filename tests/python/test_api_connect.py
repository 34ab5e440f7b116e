"""The Python interface as a Spark Connect client has it, against a real server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from api_sessions import CONFS, AnySession, aqe, items, plan_of, sales, write_tables
from aqe_plugin import AqePlugin, jar_for
from aqe_plugin.session import PLUGIN_CLASS

__all__ = ["aqe", "items", "plan_of", "sales"]

pytestmark = pytest.mark.spark

_START_SECONDS = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    port = free_port()
    confs = {
        **CONFS,
        "spark.plugins": PLUGIN_CLASS,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]", "--jars", str(jar_for(pyspark.__version__))),
        *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
    ]
    log = folder / "server.log"
    with log.open("wb") as out:
        # A session of its own, as what is started starts Java itself.
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        _await_port(port, server, log)
        yield port
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def _await_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert server.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < end, log.read_text()[-4000:]
            time.sleep(0.2)
        else:
            return


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

    def test_mode_and_thresholds_are_set_on_the_server_and_restored(self, aqe: AqePlugin, spark: SparkSession) -> None:
        with aqe.mode("observe"), aqe.thresholds(broadcast_max_memory_bytes="256m"):
            assert aqe.current_mode == "observe"
            assert spark.sql("SET spark.aqePlugin.broadcast.maxMemoryBytes").first()["value"] == "256m"  # type: ignore[index]
            assert aqe.thresholds.broadcast_max_memory_bytes == 256 * 1024**2
        assert spark.conf.get("spark.aqePlugin.mode", None) is None
        assert aqe.thresholds.broadcast_max_memory_bytes == 128 * 1024**2
