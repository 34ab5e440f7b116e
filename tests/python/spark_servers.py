"""Servers of Spark's own, started as a user starts them."""

from __future__ import annotations

import csv
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pyspark

from aqe_plugin import jar_for
from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.machine.java import find_java

__all__ = ["answered", "free_port", "spark_alone", "thrift_server", "with_the_plugin"]

_START_SECONDS = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def thrift_server(confs: Mapping[str, str], port: int, folder: Path) -> AbstractContextManager[None]:
    """A Thrift Server with the plugin, whose jar is on its class path unless ``confs`` say otherwise."""
    jar = str(jar_for(pyspark.__version__))
    own = {
        "spark.driver.extraClassPath": jar,
        **confs,
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    bound = [
        word
        for name, value in (("port", str(port)), ("bind.host", "127.0.0.1"))
        for word in ("--hiveconf", f"hive.server2.thrift.{name}={value}")
    ]
    server = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    return with_the_plugin(server, own, ("spark-internal", *bound), port, folder)


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


def spark_alone(folder: Path) -> Path:
    """PySpark of this environment, without the packages beside it."""
    packages = folder / "packages"
    packages.mkdir()
    for module in ("pyspark", "py4j"):
        (packages / module).symlink_to(Path(pyspark.__file__).parents[1] / module)
    return packages


@contextmanager
def with_the_plugin(
    server: str, confs: Mapping[str, str], arguments: Sequence[str], port: int, folder: Path
) -> Iterator[None]:
    """Runs the class ``server`` with the plugin while the context lasts, from the moment it listens on ``port``."""
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", server, "--master", "local[2]", "--jars", str(jar_for(pyspark.__version__))),
        *(
            part
            for key, value in (*confs.items(), ("spark.plugins", PLUGIN_CLASS))
            for part in ("--conf", f"{key}={value}")
        ),
        *arguments,
    ]
    log = folder / "server.log"
    with log.open("wb") as out:
        # A session of its own, as what is started starts Java itself.
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder)
    try:
        _await_port(port, process, log)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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
