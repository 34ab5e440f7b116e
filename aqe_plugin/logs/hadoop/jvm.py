"""The JVM with Spark's Hadoop client, started through PySpark's gateway and without a Spark application in it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, TypeVar

from aqe_plugin.errors import EventLogError, SessionError, SetupError
from aqe_plugin.machine.java import find_java
from aqe_plugin.machine.pyspark import import_pyspark

__all__ = ["FileGoneError", "FileRefusedError", "HadoopJvm"]

# For lists of files and one buffer; the classes of Spark take more than that.
_HEAP = "256m"
_PATIENCE_SECONDS = 10
# One file cannot be read, and others may.
_OF_ONE_FILE = {
    "java.nio.file.AccessDeniedException": "no right to read it",
    "org.apache.hadoop.fs.ChecksumException": "its blocks are damaged",
    "org.apache.hadoop.fs.s3a.UnknownStoreException": "there is no such bucket",
    "org.apache.hadoop.hdfs.BlockMissingException": "some of its blocks are on no server",
    "org.apache.hadoop.security.AccessControlException": "no right to read it",
}
_FAULT = re.compile(r"Exception|Error")
_GONE = {"java.io.FileNotFoundException", "java.nio.file.NoSuchFileException"}
_NO_CLIENT = ("ClassNotFoundException", "UnsupportedFileSystemException", "No FileSystem for scheme")

# A server that is away is asked again at the next look anyway; Hadoop's own patience is a quarter of an hour.
_IMPATIENT = {"ipc.client.connect.max.retries": "3", "ipc.client.connect.max.retries.on.timeouts": "1"}

T = TypeVar("T")


class FileRefusedError(OSError):
    """One file cannot be read, for a reason of its own: ``strerror``."""


class FileGoneError(FileRefusedError):
    """There is no such file, or no longer."""


class HadoopJvm:
    """Hadoop's file systems, as Spark's conf folder (and ``HADOOP_CONF_DIR``) sets them up.

    The JVM starts with the first call, and again with the next one after it died. Close it when it is done with.

    Args:
        conf: Hadoop's conf keys, over those of the conf folders.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._added = dict(conf)
        self._gateway: Any = None
        self._said: Any = None
        self._conf: Any = None
        self._ran = False

    def ask(self, what: str, question: Callable[[Any, Any], T]) -> T:
        """The answer to ``question``, which is given the JVM and Hadoop's conf.

        Args:
            what: the file or folder that it is about, for whoever reads the error.

        Raises:
            FileGoneError: Hadoop says that there is no such file.
            FileRefusedError: that file may not be read, or is damaged.
            EventLogError: the file system cannot be used, for now or as it is set up.
            PysparkMissingError: PySpark is not installed.
            JavaError: there is no Java, or one that is too old.
            SessionError: the JVM does not start.
        """
        try:
            self.start()
        except SetupError as error:
            if not self._ran:
                raise
            raise EventLogError(str(error)) from error
        from py4j.protocol import Py4JError, Py4JJavaError

        try:
            return question(self._gateway.jvm, self._conf)
        except Py4JJavaError as error:
            raise _told(what, error.java_exception) from error
        except (Py4JError, ConnectionError) as error:
            self.close()
            raise EventLogError(f"{what}: the JVM that reads it died; it is started again.") from error

    def start(self) -> None:
        """Starts the JVM if it does not run.

        Raises:
            PysparkMissingError: PySpark is not installed.
            JavaError: there is no Java, or one that is too old.
            SessionError: the JVM does not start.
        """
        if self._gateway is not None:
            return
        import_pyspark()
        find_java()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkRuntimeError
        from pyspark.java_gateway import launch_gateway

        # What a JVM says on the way is of use only when it does not start.
        said = self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the JVM runs
        launch: Any = launch_gateway
        try:
            self._gateway = launch(_Conf(), {"stdout": said, "stderr": said})
            jvm = self._gateway.jvm
            # With the spark.hadoop.* keys of spark-defaults.conf, as an application would have them.
            self._conf = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(
                jvm.org.apache.spark.SparkConf()
            )
            for key, value in _IMPATIENT.items():
                if list(self._conf.getPropertySources(key) or ()) == ["core-default.xml"]:
                    self._conf.set(key, value)
            for key, value in self._added.items():
                self._conf.set(key, value)
        except (PySparkRuntimeError, Py4JError, OSError) as error:
            why = _why_not(error, said)
            # Half of it would be taken for the whole at the next call.
            self.close()
            raise SessionError(f"The JVM for Hadoop's file systems does not start ({why}).") from error
        self._ran = True

    def close(self) -> None:
        """Ends the JVM."""
        gateway, self._gateway, self._conf = self._gateway, None, None
        said, self._said = self._said, None
        if said is not None:
            said.close()
        if gateway is None:
            return
        process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
        # It may be dead already; one that this process did not start is the driver's that it runs in.
        with suppress(Exception):
            gateway.shutdown() if process is not None else gateway.close()
        if process is not None:
            # The JVM ends with its standard input.
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class _Conf:
    """What ``spark-submit`` is told, in the form that PySpark asks for."""

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - the name is PySpark's
        return [("spark.driver.memory", _HEAP), ("spark.master", "local[1]"), ("spark.submit.deployMode", "client")]


def _why_not(error: Exception, said: IO[bytes]) -> str:
    """Why the JVM is of no use: what Hadoop threw, e.g. at a conf file that is no XML, else what the JVM said."""
    thrown = getattr(error, "java_exception", None)
    if thrown is not None:
        return "; ".join(line.strip() for line in str(thrown.toString()).splitlines()[:2])
    said.seek(0)
    lines = [line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if _FAULT.search(line)), -1)
    return "; ".join(lines[first:][:2]) or str(error)


def _told(what: str, exception: Any) -> Exception:
    name, message = str(exception.getClass().getName()), str(exception.getMessage() or "").splitlines()
    first = message[0] if message else name.rpartition(".")[2]
    if name in _GONE:
        return FileGoneError(0, "no such file or folder")
    if name in _OF_ONE_FILE:
        return FileRefusedError(0, _OF_ONE_FILE[name])
    if any(word in f"{name} {first}" for word in _NO_CLIENT):
        return EventLogError(
            f"{what}: Spark has no client for it ({first}). Add the client's jars, of Spark's Hadoop version, to its "
            "jars folder, or to spark.jars in spark-defaults.conf; for s3a:// that is hadoop-aws."
        )
    return EventLogError(f"{what}: cannot be read ({first}).")
