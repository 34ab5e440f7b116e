"""Adds the plugin to a PySpark session that is about to start.

PySpark is imported when a function here is called, never before. The jar travels by ``spark.jars`` alone: Spark 4 puts
it on the driver's and on every executor's class path before it looks for ``spark.plugins``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from aqe_plugin.conf.spark_defaults import spark_defaults
from aqe_plugin.errors import ConfError, SessionError
from aqe_plugin.install.jars import jar_for
from aqe_plugin.machine.pyspark import import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "JARS_KEY",
    "MODE_KEY",
    "PLUGINS_KEY",
    "PLUGIN_CLASS",
    "Mode",
    "configure",
]

Mode = Literal["off", "observe", "apply"]

PLUGIN_CLASS = "io.aqeplugin.AqePlugin"
MODE_KEY = "spark.aqePlugin.mode"
PLUGINS_KEY = "spark.plugins"
JARS_KEY = "spark.jars"
_SUBMIT_LINE = (
    f"spark-submit --jars $(aqe-plugin jar-path) --conf {PLUGINS_KEY}={PLUGIN_CLASS} (after the plugins you have)"
)


def configure(builder: SparkSession.Builder, mode: Mode | None = None) -> SparkSession.Builder:
    """Adds the plugin to ``builder`` and returns it.

    Appends to the ``spark.plugins`` and ``spark.jars`` that the builder, ``spark-defaults.conf`` or ``spark-submit``
    set already; calling it twice adds nothing twice.

    Args:
        builder: as made by ``SparkSession.builder``; its session must not have started.
        mode: ``off`` does nothing, ``observe`` decides and records without changing a plan, ``apply`` changes plans.
            ``None`` keeps what the builder, ``spark-defaults.conf`` or ``spark-submit`` says, else it is ``apply``.
            It can be changed between queries with ``spark.conf.set("spark.aqePlugin.mode", …)``.

    Raises:
        ConfError: ``mode`` is none of the three.
        PysparkMissingError: PySpark is not installed.
        MissingJarError: this package carries no jar.
        UnsupportedSparkError: it carries none for the installed PySpark.
        SessionError: the JVM is up without the plugin's jar, or the session is a Spark Connect client.
    """
    if mode is not None and mode not in get_args(Mode):
        raise ConfError(f"{MODE_KEY} = {mode!r} is not allowed: expected one of {', '.join(get_args(Mode))}.")
    jar = jar_for(import_pyspark().__version__)
    options = _options_of(builder)
    if "spark.remote" in options or "SPARK_REMOTE" in os.environ:
        raise SessionError(
            "A Spark Connect client cannot add a plugin to its server. Start the server with "
            f"--jars $(aqe-plugin jar-path) --conf {PLUGINS_KEY}={PLUGIN_CLASS}."
        )
    present = _SparkConf(options)
    if present.jvm_is_up:
        _require_plugin_in_jvm()
    else:
        _require_no_overruling_submit_args()
    builder.config(PLUGINS_KEY, _with_entry(present.get(PLUGINS_KEY), PLUGIN_CLASS))
    builder.config(JARS_KEY, _with_jar(present.get(JARS_KEY), jar))
    return builder if mode is None else builder.config(MODE_KEY, mode)


class _SparkConf:
    """What a conf key is set to before the session starts: by the builder, else by whatever launches the JVM."""

    def __init__(self, options: dict[str, Any]) -> None:
        from pyspark import SparkContext

        self.jvm_is_up = SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ
        self._options = options
        self._launched = _jvm_conf() if self.jvm_is_up else spark_defaults()

    def get(self, key: str) -> str:
        return str(self._options.get(key) or self._launched.get(key, ""))


def _options_of(builder: SparkSession.Builder) -> dict[str, Any]:
    # The builder has no public getter.
    return dict(getattr(builder, "_options", {}))


def _jvm_conf() -> dict[str, str]:
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    running = SparkContext._active_spark_context
    conf = SparkConf() if running is None else running.getConf()
    return dict(conf.getAll())


def _require_plugin_in_jvm() -> None:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    running: Any = SparkContext._active_spark_context
    if running is not None and PLUGIN_CLASS not in _entries(running.getConf().get(PLUGINS_KEY, "")):
        raise SessionError(
            "The Spark session is running and plugins are read only when it starts: "
            "call aqe_plugin.configure(builder) before getOrCreate(), in a new Python process."
        )
    jvm: Any = SparkContext._jvm
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(PLUGIN_CLASS)
    except Py4JError as error:
        raise SessionError(
            "The JVM was started without the plugin's jar, which cannot be added to it now. "
            f"In a notebook restart the kernel; in a submitted application start it with {_SUBMIT_LINE}."
        ) from error


def _require_no_overruling_submit_args() -> None:
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if re.search(r"--jars\b|\bspark\.(jars|plugins)\s*=", arguments):
        raise SessionError(
            "PYSPARK_SUBMIT_ARGS sets jars or plugins and overrules the session's builder. Take them out, or add "
            f"there what this would have set: --jars $(aqe-plugin jar-path) --conf {PLUGINS_KEY}={PLUGIN_CLASS}."
        )


def _entries(joined: str | None) -> list[str]:
    return [entry.strip() for entry in (joined or "").split(",") if entry.strip()]


def _with_entry(joined: str, entry: str) -> str:
    entries = _entries(joined)
    return ",".join(entries if entry in entries else [*entries, entry])


def _with_jar(joined: str, jar: Path) -> str:
    """Adds ``jar`` unless an entry is that very file, however it is spelled (``spark-submit`` makes paths URLs)."""
    entries = _entries(joined)
    return ",".join(entries if any(Path(entry).name == jar.name for entry in entries) else [*entries, str(jar)])
