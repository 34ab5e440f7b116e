"""The Spark session of a command or job: that of ``spark-submit``, else one on this machine."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from aqe_plugin.conf.spark_defaults import spark_defaults
from aqe_plugin.errors import SessionError
from aqe_plugin.install.session import configure
from aqe_plugin.machine.pyspark import import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.eventLog.enabled": "false",
}
# Standard output is the command's answer; Java writes its own warnings there.
_JAVA_WARNINGS = {"spark.driver.defaultJavaOptions": "-Xlog:disable -Xlog:all=warning:stderr"}
_LOCAL = {"spark.master": "local[*]", "spark.sql.shuffle.partitions": "4"}
# A job of some seconds ends before compiled plans and Java's second compiler have paid for themselves.
_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_SUBMITTED = "PYSPARK_GATEWAY_PORT"


@contextmanager
def job_session(
    name: str, *, few_rows: bool = False, local: bool = False, confs: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SparkSession]:
    """A session with the plugin's classes, in mode ``off``; stopped afterwards.

    Under ``spark-submit`` every setting is that of the submission. Otherwise the session runs on this machine, with the
    settings of ``spark-defaults.conf``.

    Args:
        few_rows: the job writes so little that compiling plans would take longer than it saves.
        local: on all cores of this machine, whatever ``spark-defaults.conf`` says.
        confs: settings that replace those.

    Raises:
        SessionError: the session cannot be started, or lacks the plugin's jar.
    """
    import_pyspark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if _SUBMITTED not in os.environ:
        set_already = spark_defaults()
        wanted = {**_JAVA_WARNINGS, **(_FEW_ROWS if few_rows else {})}
        chosen = {key: value for key, value in wanted.items() if key not in set_already}
        builder = builder.config(map={**_QUIET, **chosen, **(_LOCAL if local else {})})
    builder = builder.config(map=dict(confs))
    try:
        with held_interrupts():
            spark = configure(builder, mode="off").getOrCreate()
    except (OSError, RuntimeError) as error:
        raise SessionError(
            f"the Spark session did not start: {error}. `aqe-plugin check` says what is missing."
        ) from error
    # An interrupted command says so by its exit code, and py4j would add a traceback.
    logging.getLogger().addFilter(_no_interrupt)
    try:
        yield spark
    finally:
        spark.stop()
        logging.getLogger().removeFilter(_no_interrupt)


def _no_interrupt(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("KeyboardInterrupt")


@contextmanager
def held_interrupts() -> Iterator[None]:
    """An interrupt (SIGINT) or SIGTERM in the block comes when the block ends, an interrupt as Python's own.

    A JVM whose Python is interrupted while it starts stays for good. Later PySpark would turn an interrupt into an
    error of py4j.

    Raises:
        KeyboardInterrupt: an interrupt came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in reversed(before.items()):
            signal.signal(number, handler)
    if signal.SIGINT in came:
        raise KeyboardInterrupt
    if came:
        signal.raise_signal(signal.SIGTERM)
