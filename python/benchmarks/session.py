"""One Spark session on this machine, in which every contender takes its turn."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import aqe_plugin
from benchmarks.configs import Contender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER_MEMORY = "6g"
CORES = 2
_EXECUTOR_MIB = 2048
_LOGGING = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True)
class SessionSettings:
    """The settings that all contenders share.

    Attributes:
        executors: processes with a core each, which share nothing but files; 0 for the threads of one process.
        cores: number of those threads.
        confs: what the session has beside, such as the jars of its tables' format.
    """

    application: str
    event_log_folder: Path
    driver_memory: str = DRIVER_MEMORY
    executors: int = 0
    cores: int = CORES
    shuffle_partitions: int | None = None
    confs: Mapping[str, str] = field(default_factory=dict)

    @property
    def master(self) -> str:
        return master_of(self.executors, self.cores)


def master_of(executors: int, cores: int = CORES) -> str:
    """The master of a session with that many executors, or without executors, that many cores."""
    return f"local-cluster[{executors},1,{_EXECUTOR_MIB}]" if executors else f"local[{cores}]"


@contextmanager
def spark_session(settings: SessionSettings, *, with_plugin: bool) -> Iterator["SparkSession"]:
    """A local session that writes an event log; stopped at the end.

    The plugin is loaded once for all contenders (`spark.plugins` is read only at start) and stands by in mode `off`.
    """
    from pyspark.sql import SparkSession

    settings.event_log_folder.mkdir(parents=True, exist_ok=True)
    builder = (
        SparkSession.builder.appName(settings.application)
        .master(settings.master)
        .config("spark.driver.memory", settings.driver_memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", settings.event_log_folder.resolve().as_uri())
    )
    if settings.shuffle_partitions is not None:
        builder = builder.config("spark.sql.shuffle.partitions", str(settings.shuffle_partitions))
    for key, value in settings.confs.items():
        builder = builder.config(key, value)
    if settings.executors:
        builder = builder.config("spark.executor.memory", f"{_EXECUTOR_MIB}m")
    if with_plugin:
        builder = aqe_plugin.configure(builder, mode="off")
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def turn_of(spark: "SparkSession", contender: Contender) -> Iterator[None]:
    """Sets the contender's confs for one run, then restores them."""
    before = {key: spark.conf.get(key, None) for key in contender.confs}
    for key, value in contender.confs.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, former in before.items():
            if former is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, former)
