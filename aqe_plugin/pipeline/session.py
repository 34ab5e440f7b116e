"""The Spark session that a job runs in: that of ``spark-submit``, else one on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aqe_plugin.errors import SessionError
from aqe_plugin.session import configure, import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["job_session"]

_SUBMITTED = "PYSPARK_GATEWAY_PORT"


@contextmanager
def job_session(name: str) -> Iterator[SparkSession]:
    """A session with the plugin's classes, its mode off; stopped afterwards.

    Under ``spark-submit`` every setting is that of the submission. Without it the session runs on all cores of this
    machine, and what ``spark-defaults.conf`` says holds too.

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
        builder = builder.config(map=dict(quiet))
    try:
        spark = configure(builder, mode="off").getOrCreate()
    except (OSError, RuntimeError) as error:
        raise SessionError(f"no Spark session came up: {error}. `aqe-plugin doctor` says what is missing.") from error
    try:
        yield spark
    finally:
        spark.stop()
