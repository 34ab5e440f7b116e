"""The Spark session that a job runs in: that of ``spark-submit``, else one on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aqe_plugin.conf.spark_defaults import spark_defaults
from aqe_plugin.errors import SessionError
from aqe_plugin.install.session import configure
from aqe_plugin.machine.pyspark import import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["job_session"]

# A job of some seconds ends before compiled plans and Java's second compiler have paid for themselves.
_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_SUBMITTED = "PYSPARK_GATEWAY_PORT"


@contextmanager
def job_session(name: str, *, few_rows: bool = False) -> Iterator[SparkSession]:
    """A session with the plugin's classes, its mode off; stopped afterwards.

    Under ``spark-submit`` every setting is that of the submission. Without it the session runs on all cores of this
    machine, and what ``spark-defaults.conf`` says holds too.

    Args:
        few_rows: what the job's tables are made of is so little that compiling would take longer than it saves.

    Raises:
        PysparkMissingError: PySpark is not installed.
        MissingJarError: this package carries no jar.
        UnsupportedSparkError: it carries none for the installed PySpark.
        SessionError: no session came up, or it lacks the plugin's jar.
    """
    import_pyspark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if _SUBMITTED not in os.environ:
        quiet = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.eventLog.enabled": "false",
        }
        set_already = spark_defaults()
        chosen = _FEW_ROWS if few_rows else {}
        left = {key: value for key, value in chosen.items() if key not in set_already}
        builder = builder.config(map={**quiet, **left})
    try:
        spark = configure(builder, mode="off").getOrCreate()
    except (OSError, RuntimeError) as error:
        raise SessionError(f"no Spark session came up: {error}. `aqe-plugin doctor` says what is missing.") from error
    try:
        yield spark
    finally:
        spark.stop()
