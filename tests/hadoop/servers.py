"""Hadoop's own servers in one JVM: HDFS, and YARN over it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway

from tests.hadoop.hdfs import Hdfs

__all__ = ["Yarn", "hdfs", "yarn"]


@dataclass(frozen=True)
class Yarn:
    """A YARN over an HDFS.

    Attributes:
        conf: the folder for HADOOP_CONF_DIR.
        version: Hadoop's.
    """

    files: Hdfs
    conf: Path
    version: str


@contextmanager
def hdfs(servers: Path, folder: Path) -> Iterator[Hdfs]:
    """A cluster of the servers in a jar, with its data in ``folder``."""
    with _gateway(str(servers), folder) as gateway:
        cluster = Hdfs(gateway, folder)
        yield cluster
        cluster.close()


@contextmanager
def yarn(servers: Path, libraries: Path, folder: Path) -> Iterator[Yarn]:
    """A resource manager and a node manager over an HDFS of their own.

    Args:
        libraries: a folder of jars that the resource manager needs beside Spark's.
    """
    with _gateway(f"{servers}:{libraries}/*", folder) as gateway:
        files = Hdfs(gateway, folder / "hdfs")
        conf = gateway.jvm.org.apache.hadoop.yarn.conf.YarnConfiguration(files.conf)
        for key, value in _YARN.items():
            conf.set(key, value)
        cluster = gateway.jvm.org.apache.hadoop.yarn.server.MiniYARNCluster("yarn", 1, 1, 1)
        cluster.init(conf)
        cluster.start()
        assert cluster.waitForNodeManagersToConnect(60_000)
        written = folder / "hadoop-conf"
        written.mkdir()
        # With the ports that the servers have chosen, and without a class that they alone have.
        of_clients = gateway.jvm.org.apache.hadoop.conf.Configuration(cluster.getConfig())
        of_clients.unset("net.topology.node.switch.mapping.impl")
        for name in ("core-site.xml", "yarn-site.xml"):
            out = gateway.jvm.java.io.FileOutputStream(str(written / name))
            of_clients.writeXml(out)
            out.close()
        yield Yarn(files, written, str(gateway.jvm.org.apache.hadoop.util.VersionInfo.getVersion()))
        cluster.stop()
        files.close()


_YARN = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    # This machine's disks may be fuller than a node manager likes.
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
}


@contextmanager
def _gateway(class_path: str, folder: Path) -> Iterator[Any]:
    class Conf:
        def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - the name is PySpark's
            return [
                ("spark.driver.memory", "512m"),
                ("spark.driver.extraClassPath", class_path),
                ("spark.driver.extraJavaOptions", f"-Dtest.build.data={folder}"),
            ]

    launch: Any = launch_gateway
    with tempfile.TemporaryFile() as said:
        gateway = launch(Conf(), {"stdout": said, "stderr": said, "cwd": folder})
        try:
            yield gateway
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(60)
