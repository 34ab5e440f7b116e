"""The history that is learned from, out of the tables instead of the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqe_plugin.tuning.history import QueryHistory, history_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["history_in"]


def history_in(spark: SparkSession, tables: str) -> QueryHistory:
    """What ``tuning.history`` reads of the logs that were ingested.

    Raises:
        NoDataError: nothing was ingested yet.
        TablesError: the tables are of a newer aqe-plugin.
    """
    # With the first job, not with the command line.
    from aqe_plugin.pipeline.read_back import stories_of
    from aqe_plugin.pipeline.warehouse import Warehouse

    return history_of(stories_of(Warehouse(spark, tables)))
