"""Job: merges many small runs into one, and removes folders that nobody needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from aqe_plugin.pipeline.schemas import AGGREGATES, TABLES
from aqe_plugin.pipeline.warehouse import Commit, Warehouse, last_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(spark: SparkSession, tables: str, keep_hours: float) -> tuple[int, int]:
    """Merges the runs since the last compaction into one, then removes replaced runs and the remains of killed jobs,
    if they are older than ``keep_hours``.

    A concurrent reader reads the same rows, if it takes no longer than ``keep_hours``.

    Returns:
        The number of runs that were merged (0 when there were fewer than two), and of removed folders.
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
    # Commits go first: a reader that lists the runs afterwards opens none of the folders.
    for commit in [*(one for one in commits if one.run not in runs), *house.commits("aggregate")[:-1]]:
        house.forget(commit.run, keep_hours)
    keep = frozenset({commit.run for commit in house.commits("ingest", "compact", "aggregate")})
    return house.sweep((*TABLES, *AGGREGATES), keep, keep_hours)
