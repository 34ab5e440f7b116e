"""A real HDFS of one machine: a name node, a data node, and what writes to them as an application does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway

__all__ = ["Hdfs", "Stream", "hdfs"]


class Stream:
    """A file that is being written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Readers see it from now on, and lists do not know how long the file is."""
        self._stream.write(data)
        self._stream.hflush()

    def close(self) -> None:
        self._stream.close()


class Hdfs:
    """One cluster; paths are absolute ones in it."""

    def __init__(self, gateway: Any, folder: Path) -> None:
        self._jvm = gateway.jvm
        self._conf = self._jvm.org.apache.hadoop.conf.Configuration()
        for key in ("ipc.client.connect.max.retries", "dfs.client.retry.policy.enabled"):
            self._conf.set(key, "1" if key.startswith("ipc") else "false")
        builder = getattr(self._jvm.org.apache.hadoop.hdfs.MiniDFSCluster, "Builder")  # noqa: B009 - a Java class
        self._cluster = builder(self._conf, self._jvm.java.io.File(str(folder))).numDataNodes(1).build()
        self._cluster.waitActive()
        self.uri = str(self._cluster.getURI().toString())

    def create(self, path: str) -> Stream:
        return Stream(self._files.create(self._path(path)))

    def rename(self, old: str, new: str) -> None:
        assert self._files.rename(self._path(old), self._path(new))

    def listed_bytes(self, path: str) -> int:
        return int(self._files.getFileStatus(self._path(path)).getLen())

    def allow(self, path: str, mode: str) -> None:
        permission = self._jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
        self._files.setPermission(self._path(path), permission)

    @contextmanager
    def away(self) -> Iterator[None]:
        """The name node is down for as long as the context lasts."""
        self._cluster.shutdownNameNode(0)
        try:
            yield
        finally:
            self._cluster.restartNameNodes()
            self._cluster.waitActive()

    def close(self) -> None:
        self._cluster.shutdown()

    @property
    def _files(self) -> Any:
        return self._cluster.getFileSystem()

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


@contextmanager
def hdfs(servers: Path, folder: Path) -> Iterator[Hdfs]:
    """A cluster of the servers in a jar, with its data in ``folder``."""

    class Conf:
        def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - the name is PySpark's
            return [("spark.driver.memory", "512m"), ("spark.driver.extraClassPath", str(servers))]

    launch: Any = launch_gateway
    with tempfile.TemporaryFile() as said:
        gateway = launch(Conf(), {"stdout": said, "stderr": said})
        try:
            cluster = Hdfs(gateway, folder)
            yield cluster
            cluster.close()
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(60)
