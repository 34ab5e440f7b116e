"""A calibration in a session: makes the tables, runs the experiments, and prices what was decided."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from aqe_plugin.api.decided import decided_under, run_tagged
from aqe_plugin.conf.keys import MODE_KEY, PREFIX
from aqe_plugin.errors import NoDataError
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.calibration.experiments import (
    PLAIN,
    Arm,
    Sizes,
    joins,
    measured,
    scans_and_shuffles,
    tables,
)
from aqe_plugin.tuning.calibration.fit import Fit, fit
from aqe_plugin.tuning.calibration.samples import Effort, Runner, Timed, measure, samples_of
from aqe_plugin.tuning.groups import value_of
from aqe_plugin.tuning.runs import run_of
from aqe_plugin.tuning.spark_replay import SparkReplay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark plans sort-merge joins, and the plugin may still broadcast.
_NO_BROADCAST = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "1",
}
_ROWS_PER_SLOT = 2_000_000
_MOST_ROWS = 200_000_000
# So that no partition is much longer than the others, and few tasks are launched.
_PARTITIONS_PER_SLOT = 2
# A join that needs no table and few tasks; two partitions a side, since of one Spark makes no shuffle.
_SLOTS_ARM = Arm(
    "slots", "SELECT count(*) FROM range(0, 1000, 1, 2) a JOIN range(0, 1000, 1, 2) b ON a.id = b.id", PLAIN
)


class Calibration:
    """The experiments in one session, whose tables are in ``folder``.

    Args:
        spark: classic, with the plugin, in mode ``off``; its confs are changed.
        rows: of the largest table; ``None`` for 2 million a slot, at most 200 million.

    Raises:
        NoDataError: the plugin decided no join, so the slots are not known.
    """

    def __init__(self, spark: SparkSession, folder: str, rows: int | None, say: Callable[[str], None]) -> None:
        self._spark = spark
        for key, value in _NO_BROADCAST.items():
            spark.conf.set(key, value)
        self._run = _runner(spark)
        written = _sizes(_first_facts(self._run), rows)
        bytes_of = _write_tables(spark, folder, written, say)
        # Executors may have come meanwhile.
        facts = _first_facts(self._run)
        sizes = _sizes(facts, written.probe_rows)
        beside_engine = facts.engine is not None
        self._groups = measured(beside_engine)
        # An engine's ratio has no work of its own.
        of_operators = () if beside_engine else scans_and_shuffles(sizes, bytes_of)
        self._experiments = (*joins(sizes), *of_operators)

    @property
    def arms(self) -> int:
        """How many ways to run a query there are."""
        return sum(len(one.arms) for one in self._experiments)

    @property
    def queries(self) -> int:
        return len(self._experiments)

    def fit(self, effort: Effort, begins: Callable[[int], object]) -> tuple[Fit, list[str]]:
        """What was found, and in words the arms that Spark ran otherwise; ``begins`` as of ``measure``.

        Raises:
            NoDataError: Spark ran every arm otherwise.
        """
        ran = measure(self._experiments, self._run, effort, begins)
        keys = {key for group in self._groups for key in (group.name, *group.keys)}
        conf = {PREFIX + key: self._spark.conf.get(PREFIX + key, "") or "" for key in keys}
        thresholds = {key: value_of(conf, PREFIX + key) for key in keys}
        samples, refused = samples_of(ran, self._groups, thresholds, SparkReplay(self._spark))
        if not samples:
            raise NoDataError("No query ran as it was to run, so nothing was measured.")
        return fit(samples, {group.name: thresholds[group.name] for group in self._groups}), refused


def _write_tables(spark: SparkSession, folder: str, sizes: Sizes, say: Callable[[str], None]) -> dict[str, int]:
    """Writes the tables and makes a view of each; returns the bytes of their files."""
    found = {}
    for table in tables(sizes):
        say(f"Writing the table {table.name}, {table.rows:,} rows ...")
        path = f"{folder}/{table.name}"
        source = spark.range(0, table.rows, 1, table.files or 2 * sizes.partitions)
        source.selectExpr(*table.columns).write.mode("overwrite").parquet(path)
        view = spark.read.parquet(path)
        view.createOrReplaceTempView(_view(table.name))
        sized = view.selectExpr("_metadata.file_path", "_metadata.file_size AS bytes").distinct()
        found[table.name] = sized.selectExpr("sum(bytes) AS bytes").collect()[0].bytes
    return found


def _view(table: str) -> str:
    return f"aqe_plugin_calibration_{table}"


class _Views(dict[str, str]):
    """The view of each table."""

    def __missing__(self, table: str) -> str:
        return _view(table)


def _runner(spark: SparkSession) -> Runner:
    def run(arm: Arm, reads: bool) -> Timed:
        spark.conf.set(MODE_KEY, "off" if arm.option is None else "apply")
        spark.conf.set(f"{PREFIX}force", "" if arm.option is None else f"*={arm.option}")
        begin = time.perf_counter()
        tag = run_tagged(spark.sql(arm.sql.format_map(_Views())))
        millis = (time.perf_counter() - begin) * 1000
        stories = decided_under(spark, tag) if reads and arm.option is not None else ()
        return Timed(millis, next(filter(None, map(run_of, stories)), None))

    return run


def _sizes(facts: JoinFacts, rows: int | None) -> Sizes:
    slots = max(1, facts.cluster.slots)
    return Sizes(rows or min(_MOST_ROWS, _ROWS_PER_SLOT * slots), slots, _PARTITIONS_PER_SLOT * slots)


def _first_facts(runner: Runner) -> JoinFacts:
    """What the plugin finds when it decides a join: the slots, of which `spark.default.parallelism` says nothing."""
    run = runner(_SLOTS_ARM, True).run
    if run is None or not run.joins:
        raise NoDataError("The plugin decided no join, so it is not known how many tasks run at once.")
    return run.joins[0].facts
