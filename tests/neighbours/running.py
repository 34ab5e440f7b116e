"""Runs a small application beside a neighbour, and reads what the plugin did in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from aqe_plugin import read_queries
from aqe_plugin.conf.keys import PLUGIN_CLASS
from aqe_plugin.install.jars import jar_for
from spark_servers import spark_alone

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".build" / "pyspark-client" / "venv" / "bin" / "python"
_SECONDS = 400


@dataclass(frozen=True)
class Ran:
    """What an application left.

    Attributes:
        rows: by mode, as text and in order.
        plans: by mode; empty over Spark Connect.
        output: what it wrote to the terminal.
        events: the folder of its event log.
    """

    rows: Mapping[str, list[list[str]]]
    plans: Mapping[str, str]
    output: str
    events: Path

    def removed(self) -> int:
        """Rows that filters removed.

        Raises:
            AssertionError: a planned filter was not there when its scan ran, or the plugin had a fault.
        """
        ended = [query.ended for query in read_queries(self.events) if query.ended is not None]
        assert [(one.planned - one.applied, one.errors) for one in ended] == [(0, 0)] * len(ended)
        return sum(outcome.rows_removed for one in ended for outcome in one.outcomes)

    def reasons(self) -> set[str]:
        """Codes of the reasons of joins, of their filters and of filters that let all rows pass."""
        joins = [join for query in read_queries(self.events) for join in query.joins if query.mode == "apply"]
        decided = {code for join in joins for code in (join.decision.reason.code, join.decision.filter_reason.code)}
        return decided | {outcome.reason.code for join in joins for outcome in join.outcomes if outcome.reason}

    def warnings(self) -> list[str]:
        """The plugin's own, each with its stack trace."""
        lines = re.split(r"^(?=[A-Z]+ [\w.]+: )", self.output, flags=re.MULTILINE)
        return [line for line in lines if line.startswith(("WARN io.aqeplugin", "ERROR io.aqeplugin"))]


def logged(folder: Path) -> dict[str, str]:
    """The conf of a small application with an event log, and what makes its join a filtered one."""
    events = folder / "events"
    events.mkdir(exist_ok=True)
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.autoBroadcastJoinThreshold": "10k",
        "spark.aqePlugin.force": "*=filtered_sort_merge",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(HERE / 'log4j2.properties').as_uri()}",
    }


def with_jars(*jars: Path) -> dict[str, str]:
    """The plugin and other jars on the driver's class path."""
    return {
        "spark.plugins": PLUGIN_CLASS,
        "spark.driver.extraClassPath": os.pathsep.join(map(str, (jar_for(pyspark.__version__), *jars))),
    }


def run(told: Mapping[str, Any], folder: Path, *, spark: bool = True) -> Ran:
    """Runs `application.py` to its end, in a Python with `pyspark-client` and a pandas that PySpark knows.

    Args:
        spark: whether it has this environment's PySpark in place of `pyspark-client`.

    Raises:
        AssertionError: it failed; with the end of its output.
    """
    answer = folder / "answer.json"
    command = [str(PYTHON), str(HERE / "application.py"), json.dumps({**told, "answer": str(answer)})]
    around = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(PYTHON)}
    around["PYTHONPATH"] = str(spark_alone(folder)) if spark else ""
    done = subprocess.run(
        command, cwd=folder, env=around, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    read = json.loads(answer.read_text(encoding="utf-8"))
    return Ran(read["rows"], read["plans"], output, folder / "events")
