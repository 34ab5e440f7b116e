"""A real HDFS of one machine: a name node, a data node, and what writes to them as an application does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Hdfs", "Stream"]


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
        self.conf = self._jvm.org.apache.hadoop.conf.Configuration()
        for key in ("ipc.client.connect.max.retries", "dfs.client.retry.policy.enabled"):
            self.conf.set(key, "1" if key.startswith("ipc") else "false")
        builder = getattr(self._jvm.org.apache.hadoop.hdfs.MiniDFSCluster, "Builder")  # noqa: B009 - a Java class
        self._cluster = builder(self.conf, self._jvm.java.io.File(str(folder))).numDataNodes(1).build()
        self._cluster.waitActive()
        self.uri = str(self._cluster.getURI().toString())

    def create(self, path: str) -> Stream:
        return Stream(self._files.create(self._path(path)))

    def put(self, file: Path, folder: str) -> str:
        """Copies a file of this machine into a folder, which is made: where it now is."""
        self._files.mkdirs(self._path(folder))
        self._files.copyFromLocalFile(self._path(file.as_uri()), self._path(folder))
        return f"hdfs://{folder}/{file.name}"

    def make(self, folder: str) -> None:
        assert self._files.mkdirs(self._path(folder))

    def text_in(self, folder: str) -> str:
        """The only part that a job has written into a folder."""
        stream = self._files.open(self._path(f"{folder}/part-00000"))
        return bytes(stream.readAllBytes()).decode()

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
