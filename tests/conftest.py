"""The kind of each test, and how properties are tried."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from aqe_plugin.install.jars import jar_for
from tests.extent import TRIES_ALL

# Drivers of tests run each piece of generated code a few times: the second compiler would cost more than it saves.
# With one compiler the code cache has 48 MB by default, and code that was thrown out of it is compiled again.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
# `make test-python` writes it (tests/class_archive.py); options of a JVM are separated by spaces.
_CLASSES = Path(__file__).parents[1] / ".build" / "spark-classes.jsa"
_ARCHIVED = f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off"
os.environ.setdefault("SPARK_LAUNCHER_OPTS", _ONE_COMPILER)
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS", _ONE_COMPILER + (_ARCHIVED if _CLASSES.exists() and " " not in str(_CLASSES) else "")
)

# The client of Spark Connect brings gRPC into this process. At a fork its poller was seen to hit a closed file
# ("epoll_wait error: Bad file descriptor"), and the JVM that was to be started died.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# A busy machine is no fault of a property. A sample is the same in each run, so that a property fails at the change
# that breaks it; new inputs are for `make test-all` to find.
settings.register_profile("sample", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("whole", deadline=None)
settings.load_profile("whole" if TRIES_ALL else "sample")

_KINDS = ("unit", "spark", "process", "e2e", "simulation")
# Fixtures that start programs: a test that uses one is a test of processes, unless it says what it is.
_STARTS_PROGRAMS = {"programs"}
_WITH_SPARK = {"spark", "e2e"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test has one kind; a test that names none, and starts nothing, is a unit test."""
    for item in items:
        kinds = {mark.name for mark in item.iter_markers() if mark.name in _KINDS}
        if len(kinds) > 1:
            raise pytest.UsageError(f"{item.nodeid} has more than one kind: {', '.join(sorted(kinds))}")
        if kinds & _WITH_SPARK and isinstance(item, pytest.Function):
            # First of all fixtures: those of a module may start a session.
            item.fixturenames.insert(0, "spark_jvm")
        if not kinds:
            item.add_marker("process" if _STARTS_PROGRAMS & set(getattr(item, "fixturenames", ())) else "unit")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Holds `unit` to its meaning, so that `make check` stays short."""
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("unit") is not None:
            patch.setattr(subprocess.Popen, "__init__", _refuse)
        return (yield)


@pytest.fixture(scope="session")
def spark_jvm() -> None:
    """The one JVM of all Spark sessions in this process: with the plugin's jar, and without the conf of any session.

    A session that starts the JVM leaves its own conf to every later one.
    """
    from pyspark import SparkContext, __version__

    with pytest.MonkeyPatch.context() as patch:
        memory = os.environ.get("AQE_PLUGIN_DRIVER_MEMORY", "3g")
        options = f"--driver-memory {memory} --jars {shlex.quote(str(jar_for(__version__)))} pyspark-shell"
        patch.setenv("PYSPARK_SUBMIT_ARGS", options)
        SparkContext._ensure_initialized()


_start_process = subprocess.Popen.__init__


def _refuse(process: subprocess.Popen[bytes], command: Any, *others: Any, **named: Any) -> None:
    # matplotlib lists a machine's fonts once, when it is first used there.
    if next(iter(command)) != "fc-list":
        pytest.fail(f"a unit test starts a process, {command}; mark it process or spark", pytrace=False)
    _start_process(process, command, *others, **named)
