"""The ways to run a join, and which one a decision comes to."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.events.model import Strategy


@dataclass(frozen=True, slots=True)
class JoinOption:
    """A way to run a join: a join method, with or without a filter on the probe side's scans."""

    strategy: Strategy
    with_filter: bool

    @property
    def name(self) -> str:
        """As ``spark.aqePlugin.force`` names it."""
        sort_merge = self.strategy in (Strategy.FILTERED_SORT_MERGE, Strategy.PLAIN_SORT_MERGE)
        return self.strategy.value + ("+filter" if self.with_filter and not sort_merge else "")


def carried_out(spark_strategy: Strategy, choice: Strategy, with_filter: bool) -> JoinOption | None:
    """What runs after ``choice``: for ``leave_to_spark`` what Spark does by itself."""
    method = spark_strategy if choice is Strategy.LEAVE_TO_SPARK else choice
    if method in (Strategy.BROADCAST, Strategy.SHUFFLED_HASH):
        return JoinOption(method, with_filter)
    if method is Strategy.LEAVE_TO_SPARK:
        return None
    return JoinOption(Strategy.FILTERED_SORT_MERGE if with_filter else Strategy.PLAIN_SORT_MERGE, with_filter)
