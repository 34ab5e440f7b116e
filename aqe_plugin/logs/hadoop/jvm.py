"""The JVM with Spark's Hadoop client, started through PySpark's gateway, without a Spark application."""

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

# Spark's classes take most of it; file lists and one buffer the rest.
_HEAP = "256m"
_PATIENCE_SECONDS = 10
# These concern one file only; others may be readable.
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

# The next poll asks an unreachable server again anyway; Hadoop by itself tries for a quarter of an hour.
_IMPATIENT = {"ipc.client.connect.max.retries": "3", "ipc.client.connect.max.retries.on.timeouts": "1"}

T = TypeVar("T")


class FileRefusedError(OSError):
    """One file cannot be read; ``strerror`` says why."""


class FileGoneError(FileRefusedError):
    """The file does not exist, or no longer."""


class HadoopJvm:
    """Hadoop's file systems, as configured in Spark's conf folder and ``HADOOP_CONF_DIR``.

    The JVM starts with the first call, and after its death with the next one. ``close`` ends it.

    Args:
        conf: Hadoop's conf keys, over those of the conf folders.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._added = dict(conf)
        self._gateway: Any = None
        self._output: Any = None
        self._conf: Any = None
        self._ran = False

    def ask(self, what: str, question: Callable[[Any, Any], T]) -> T:
        """The answer to ``question``, a function of the JVM and Hadoop's conf.

        Args:
            what: the file or folder that errors name.

        Raises:
            FileGoneError: the file does not exist.
            FileRefusedError: the file may not be read, or is damaged.
            EventLogError: the file system cannot be used.
            SetupError: PySpark or Java is missing, or the JVM does not start.
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
            raise _translated(what, error.java_exception) from error
        except (Py4JError, ConnectionError) as error:
            self.close()
            raise EventLogError(f"{what}: the JVM that reads it died; it is started again.") from error

    def start(self) -> None:
        """Starts the JVM unless it runs.

        Raises:
            SetupError: PySpark or Java is missing, or the JVM does not start.
        """
        if self._gateway is not None:
            return
        import_pyspark()
        find_java()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkRuntimeError
        from pyspark.java_gateway import launch_gateway

        # The JVM's output is shown only when it does not start.
        output = self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the JVM runs
        launch: Any = launch_gateway
        try:
            self._gateway = launch(_Conf(), {"stdout": output, "stderr": output})
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
            why = _why_not(error, output)
            # The next call must not take half a start for a whole one.
            self.close()
            raise SessionError(f"The JVM for Hadoop's file systems does not start ({why}).") from error
        self._ran = True

    def close(self) -> None:
        """Ends the JVM."""
        gateway, self._gateway, self._conf = self._gateway, None, None
        output, self._output = self._output, None
        if output is not None:
            output.close()
        if gateway is None:
            return
        process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
        # The JVM may be dead already. One that this process did not start is the driver's.
        with suppress(Exception):
            gateway.shutdown() if process is not None else gateway.close()
        if process is not None:
            # The JVM ends when its standard input is closed.
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class _Conf:
    """The conf of ``spark-submit``, in the form that PySpark asks for."""

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - the name is PySpark's
        return [("spark.driver.memory", _HEAP), ("spark.master", "local[1]"), ("spark.submit.deployMode", "client")]


def _why_not(error: Exception, output: IO[bytes]) -> str:
    """Why the JVM did not start: Hadoop's exception, from a damaged conf file say, else the JVM's output."""
    thrown = getattr(error, "java_exception", None)
    if thrown is not None:
        return "; ".join(line.strip() for line in str(thrown.toString()).splitlines()[:2])
    output.seek(0)
    lines = [line for line in output.read().decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if _FAULT.search(line)), -1)
    return "; ".join(lines[first:][:2]) or str(error)


def _translated(what: str, exception: Any) -> Exception:
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
