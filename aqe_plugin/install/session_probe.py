"""A short real session with the plugin, run by ``aqe-plugin doctor`` and ``verify`` in a process of its own.

``python -m aqe_plugin.install.session_probe FOLDER`` configures a session; ``run_submitted`` is for a script that
``spark-submit`` runs and takes the session as it was submitted. Both write what they saw to ``FOLDER/probe.json`` and
an event log to ``FOLDER/events``. A process of its own, because a JVM writes to the terminal as it likes and can hang.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aqe_plugin.errors import AqePluginError
from aqe_plugin.install.session import MODE_KEY, PLUGIN_CLASS, configure

__all__ = ["Probe", "answer_file", "events_folder", "probe_settings", "read_answer", "run_submitted"]


@dataclass(frozen=True, slots=True)
class Probe:
    """What was seen in the session; with an ``error`` the rest means nothing.

    Attributes:
        extensions: ``spark.sql.extensions`` after the plugin's driver half ran.
        rows: rows of the joined query, which has 100.
    """

    error: str = ""
    spark_version: str = ""
    plugins: str = ""
    extensions: str = ""
    mode: str = ""
    rows: int = 0


def answer_file(folder: Path) -> Path:
    return folder / "probe.json"


def events_folder(folder: Path) -> Path:
    return folder / "events"


def read_answer(folder: Path) -> Probe | None:
    """What the probe wrote, ``None`` when it did not get that far."""
    try:
        return Probe(**json.loads(answer_file(folder).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def probe_settings(folder: Path) -> dict[str, str]:
    """What the session of a probe is started with besides the plugin, so that a small join is one to decide."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events_folder(folder).as_uri(),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }


def run_submitted(folder: Path) -> None:
    """Looks at the session that ``spark-submit`` configured."""
    from pyspark.sql import SparkSession

    _answer(folder, lambda: SparkSession.builder.appName("aqe-plugin verify").getOrCreate())


def _configured(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("aqe-plugin doctor")
    return configure(builder.config(map=dict(probe_settings(folder)))).getOrCreate()


def _look(spark: Any, folder: Path) -> Probe:
    try:
        return Probe(
            spark_version=spark.version,
            plugins=spark.sparkContext.getConf().get("spark.plugins", ""),
            extensions=spark.conf.get("spark.sql.extensions", "") or "",
            mode=spark.conf.get(MODE_KEY, "") or "apply",
            rows=_joined_rows(spark, folder),
        )
    finally:
        spark.stop()


def _joined_rows(spark: Any, folder: Path) -> int:
    """Rows of a join whose build side is a filtered table, as large as a check can be and still take a second."""
    fact, dimension = (folder / "fact").as_uri(), (folder / "dimension").as_uri()
    spark.range(100_000).selectExpr("id % 1000 AS key", "id AS value").write.parquet(fact)
    spark.range(1000).selectExpr("id AS key", "id AS name").write.parquet(dimension)
    one = spark.read.parquet(dimension).where("name = 7")
    return int(spark.read.parquet(fact).join(one, "key").select("value").count())


def _answer(folder: Path, start: Callable[[], Any]) -> None:
    try:
        events_folder(folder).mkdir(exist_ok=True)
        probe = _look(start(), folder)
    except AqePluginError as error:
        probe = Probe(error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever Spark throws is the answer
        probe = Probe(error=_first_telling_line(str(error)) or type(error).__name__)
    answer_file(folder).write_text(json.dumps(asdict(probe)), encoding="utf-8")


def _first_telling_line(text: str) -> str:
    """Py4J puts the Java exception on the second line."""
    lines = [line.strip(": ") for line in text.splitlines() if line.strip(": ")]
    return next((line for line in lines if PLUGIN_CLASS in line), "") or " ".join(lines[:2])


if __name__ == "__main__":
    probe_folder = Path(sys.argv[1])
    _answer(probe_folder, lambda: _configured(probe_folder))
