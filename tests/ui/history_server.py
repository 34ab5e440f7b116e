"""Spark's own History Server over a folder of event logs, for as long as a test needs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from aqe_plugin.install.jars import jar_for

__all__ = ["history_server"]

_START_SECONDS = 120
_STOP_SECONDS = 20


@contextmanager
def history_server(logs: Path, folder: Path, applications: int) -> Iterator[str]:
    """Its address, once it lists that many applications; its own log in ``folder``.

    It gets the jar as ``docs/monitor.md`` says, and no conf but the folder of the logs.
    """
    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = folder / "conf"
    conf.mkdir()
    options = {"spark.history.fs.logDirectory": logs.as_uri(), "spark.history.ui.port": str(port)}
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_CLASSPATH": str(jar_for(pyspark.__version__)),
        "SPARK_HISTORY_OPTS": " ".join(f"-D{key}={value}" for key, value in options.items()),
    }
    command = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    log = folder / "history-server.log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            until = time.monotonic() + _START_SECONDS
            while _listed(address) < applications:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.5)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _listed(address: str) -> int:
    try:
        with urllib.request.urlopen(f"{address}/api/v1/applications", timeout=10) as answer:
            return len(json.load(answer))
    except OSError:
        return 0
