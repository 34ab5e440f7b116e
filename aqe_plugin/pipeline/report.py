"""Job: the latest aggregates as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aqe_plugin.machine.disk import replace_file
from aqe_plugin.pipeline.history import history_in
from aqe_plugin.pipeline.page import page
from aqe_plugin.pipeline.summary import summary_of
from aqe_plugin.pipeline.warehouse import Warehouse
from aqe_plugin.tuning.recommend import recommend
from aqe_plugin.tuning.recommendation import Limits
from aqe_plugin.tuning.spark_replay import SparkReplay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["report"]


def report(spark: SparkSession, tables: str, thresholds: Mapping[str, float], output: Path) -> None:
    """Writes the page to ``output``, which holds the old page or the new one, never half of it.

    Args:
        thresholds: the present ones, as ``tuning.groups.current`` gives them; what to change is told from there.

    Raises:
        NoDataError: nothing was aggregated yet.
        TablesError: the tables are of a newer aqe-plugin.
        WriteError: the page cannot be written.
    """
    house = Warehouse(spark, tables)
    summary = summary_of(house)
    history = history_in(spark, tables)
    findings = recommend(history.runs, thresholds, Limits(), SparkReplay(spark)) if history.runs else ()
    replace_file(output, page(summary, findings, tables, history).encode())
