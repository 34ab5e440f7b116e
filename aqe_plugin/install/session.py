"""Adds the plugin to a PySpark session that is about to start.

PySpark is imported when a function here is called, never before. ``spark.jars`` alone is enough: Spark 4 puts it on the
class path of the driver and of every executor before it reads ``spark.plugins``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from aqe_plugin.conf.keys import JARS_KEY, MODE_KEY, PLUGIN_CLASS, PLUGINS_KEY, conf_keys, entries_of
from aqe_plugin.conf.spark_defaults import spark_defaults
from aqe_plugin.errors import ConfError, SessionError
from aqe_plugin.events.model import Mode
from aqe_plugin.install.jars import jar_for
from aqe_plugin.machine.pyspark import import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASS_PATH_KEY = "spark.driver.extraClassPath"
_OPTIONS = f"--jars $(aqe-plugin path jar) --conf {PLUGINS_KEY}={PLUGIN_CLASS}"


def configure(builder: SparkSession.Builder, mode: Mode | None = None, **unknown: NoReturn) -> SparkSession.Builder:
    """Adds the plugin to ``builder`` and returns it.

    Appends to ``spark.plugins``, ``spark.jars`` and, where the JVM is still to start, ``spark.driver.extraClassPath``
    as the builder, ``spark-defaults.conf`` or ``spark-submit`` set them; a second call adds nothing.

    Args:
        builder: as made by ``SparkSession.builder``; its session must not have started.
        mode: ``off`` does nothing, ``observe`` decides and records without changing a plan, ``apply`` changes plans.
            ``None`` keeps the mode of the builder, ``spark-defaults.conf`` or ``spark-submit``, by default ``apply``.
            ``spark.conf.set("spark.aqePlugin.mode", …)`` changes it between queries.
        unknown: refused; other keys are set with ``builder.config(…)``.

    Raises:
        TypeError: ``builder`` is no builder.
        ConfError: ``mode`` is none of the three, or an argument has another name than these.
        ExtraMissingError: PySpark is not installed.
        MissingJarError: this package carries no jar.
        UnsupportedSparkError: it carries none for the installed PySpark.
        SessionError: the JVM is running without the plugin's jar, or the session is a Spark Connect client.
    """
    if not hasattr(builder, "config"):
        raise TypeError(f"configure takes SparkSession.builder, not {type(builder).__name__}.")
    if unknown:
        raise ConfError(_no_argument(unknown))
    if mode is not None and mode not in get_args(Mode):
        raise ConfError(f"{MODE_KEY} = {mode!r} is not allowed: expected one of {', '.join(get_args(Mode))}.")
    jar = jar_for(import_pyspark().__version__)
    # The builder has no public getter.
    options: dict[str, Any] = getattr(builder, "_options", {})
    if "spark.remote" in options or "SPARK_REMOTE" in os.environ:
        raise SessionError(
            f"A Spark Connect client cannot add a plugin to its server. Start the server with {_OPTIONS}."
        )
    launched = _launched_conf()
    plugins, jars = (entries_of(str(options.get(key) or launched.get(key, ""))) for key in (PLUGINS_KEY, JARS_KEY))
    if PLUGIN_CLASS not in plugins:
        plugins.append(PLUGIN_CLASS)
    # spark-submit writes the path of the same file as a URL.
    if not any(Path(entry).name == jar.name for entry in jars):
        jars.append(str(jar))
    builder.config(PLUGINS_KEY, ",".join(plugins)).config(JARS_KEY, ",".join(jars))
    if not _jvm_was_started():
        # EXPLAIN's section is loaded from there: Spark asks for it on threads that do not see spark.jars.
        present = str(options.get(_CLASS_PATH_KEY) or launched.get(_CLASS_PATH_KEY, ""))
        paths = [path for path in present.split(os.pathsep) if path]
        if str(jar) not in paths:
            builder.config(_CLASS_PATH_KEY, os.pathsep.join((*paths, str(jar))))
    return builder if mode is None else builder.config(MODE_KEY, mode)


def _no_argument(given: Mapping[str, object]) -> str:
    """What is wrong with arguments that ``configure`` does not have, and what was likely meant by the first."""
    name, value = next(iter(given.items()))
    said = f"configure({name}={value!r}): no such argument; expected builder or mode."
    keys = {known.threshold: key for key, known in conf_keys().items() if known.threshold is not None}
    near = get_close_matches(name, ["mode", *keys], n=1)
    if not near:
        return said
    meant = "mode=..." if near[0] == "mode" else f'builder.config("{keys[near[0]]}", ...)'
    return f"{said} Did you mean {meant}?"


def _launched_conf() -> dict[str, str]:
    """The conf that the JVM was or will be launched with.

    Raises:
        SessionError: with it, the session would start without the plugin.
    """
    if not _jvm_was_started():
        _require_no_overriding_submit_args()
        return spark_defaults()
    conf = _jvm_conf()
    _require_plugin_in_jvm()
    return conf


def _jvm_was_started() -> bool:
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


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
    if running is not None and PLUGIN_CLASS not in entries_of(running.getConf().get(PLUGINS_KEY, "")):
        raise SessionError(
            "The Spark session is running, and plugins are read only when it starts: "
            "call aqe_plugin.configure(builder) before getOrCreate(), in a new Python process."
        )
    jvm: Any = SparkContext._jvm
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(PLUGIN_CLASS)
    except Py4JError as error:
        raise SessionError(
            "The JVM was started without the plugin's jar, which cannot be added now. In a notebook restart the "
            f"kernel; start a submitted application with spark-submit {_OPTIONS} (after the plugins you have)."
        ) from error


def _require_no_overriding_submit_args() -> None:
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if re.search(r"--jars\b|\bspark\.(jars|plugins)\s*=", arguments):
        raise SessionError(
            "PYSPARK_SUBMIT_ARGS sets jars or plugins and overrides the session's builder. Remove them there, or add "
            f"the plugin there: {_OPTIONS}."
        )
