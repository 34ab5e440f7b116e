"""The ways to run a join, and which one a decision comes to."""

from __future__ import annotations

from dataclasses import dataclass

from aqe_plugin.events.model import JoinDecision, Strategy


@dataclass(frozen=True, slots=True)
class JoinOption:
    """A way to run a join: a join method, with or without a filter on the probe side's scans."""

    strategy: Strategy
    with_filter: bool

    @property
    def name(self) -> str:
        """As ``spark.aqePlugin.force`` names it."""
        sort_merge = self.strategy in ("filtered_sort_merge", "plain_sort_merge")
        return self.strategy + ("+filter" if self.with_filter and not sort_merge else "")


def carried_out(spark_strategy: Strategy, choice: Strategy, with_filter: bool) -> JoinOption | None:
    """What runs after ``choice``: for ``leave_to_spark`` what Spark does by itself."""
    method = spark_strategy if choice == "leave_to_spark" else choice
    if method in ("broadcast", "shuffled_hash"):
        return JoinOption(method, with_filter)
    if method == "leave_to_spark":
        return None
    return JoinOption("filtered_sort_merge" if with_filter else "plain_sort_merge", with_filter)


def taken_by(decision: JoinDecision) -> JoinOption | None:
    """The option that was decided; of a join that is left to Spark, its own."""
    facts = decision.facts
    of_spark: Strategy = "broadcast" if facts.build.already_broadcast else facts.spark_strategy
    return carried_out(of_spark, decision.choice, decision.build_filter)
