"""Job: many small runs into one, and the folders away that nobody needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from aqe_plugin.pipeline.schemas import AGGREGATES, TABLES
from aqe_plugin.pipeline.warehouse import Commit, Warehouse, last_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["compact"]


def compact(spark: SparkSession, tables: str, keep_hours: float) -> tuple[int, int]:
    """Puts what the runs since the last compaction hold into one run, then removes what is older than ``keep_hours``
    and counts for nothing: replaced runs, and what killed jobs left.

    Who reads the tables meanwhile reads the same rows, if it takes no longer than ``keep_hours``.

    Returns:
        Runs that became one (0 when there were fewer than two), and folders removed.

    Raises:
        TablesError: the tables are of a newer aqe-plugin.
    """
    house = Warehouse(spark, tables)
    commits = house.commits("ingest", "compact")
    last = max((at for at, commit in enumerate(commits) if commit.job == "compact"), default=-1)
    small = commits[last + 1 :]
    if len(small) > 1:
        _merge(house, commits, small)
    return (len(small) if len(small) > 1 else 0), _sweep(house, keep_hours)


def _merge(house: Warehouse, commits: list[Commit], small: list[Commit]) -> None:
    run = house.new_run()
    of_small = F.col("run").isin([commit.run for commit in small])
    counting = last_runs(house.read("attempts", commits)).where(of_small)
    rows = {}
    for table, (_, by_date) in TABLES.items():
        kept = house.read(table, small).join(counting, ["log", "run"], "left_semi").drop("run")
        rows[table] = house.write(kept, table, run, by_date=by_date)
    house.commit(Commit(run, "compact", rows))


def _sweep(house: Warehouse, keep_hours: float) -> int:
    commits = house.commits("ingest", "compact")
    counting = last_runs(house.read("attempts", commits)).select("run").distinct()
    runs = {row.run for row in counting.collect()}
    # A commit goes first: whoever reads the list of runs after that asks for none of the folders.
    for commit in [*(one for one in commits if one.run not in runs), *house.commits("aggregate")[:-1]]:
        house.forget(commit.run, keep_hours)
    keep = frozenset({commit.run for commit in house.commits("ingest", "compact", "aggregate")})
    return house.sweep((*TABLES, *AGGREGATES), keep, keep_hours)
