"""The port to the plugin's decision function, and the option that a decision leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aqe_plugin.events.model import JoinFacts, Strategy


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


@dataclass(frozen=True, slots=True)
class Replayed:
    """A decision that was made again.

    Attributes:
        option: what would run; ``None`` when it is none of the priced options, e.g. a hash join that AQE asked for.
        prices: milliseconds of each option that was priced; options that are ruled out are absent.
    """

    option: JoinOption | None
    prices: Mapping[JoinOption, float]


class Replay(Protocol):
    """Decides logged joins again, under other thresholds."""

    def __call__(
        self, facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]
    ) -> Sequence[Sequence[Replayed]]:
        """For each of ``thresholds``, in order, a decision for each of ``facts``, in order.

        Args:
            thresholds: by key without ``spark.aqePlugin.``; an absent key has its default.
        """


def carried_out(spark_strategy: Strategy, choice: Strategy, with_filter: bool) -> JoinOption | None:
    """What runs after ``choice``: for ``leave_to_spark`` what Spark does by itself."""
    method = spark_strategy if choice is Strategy.LEAVE_TO_SPARK else choice
    if method in (Strategy.BROADCAST, Strategy.SHUFFLED_HASH):
        return JoinOption(method, with_filter)
    if method is Strategy.LEAVE_TO_SPARK:
        return None
    return JoinOption(Strategy.FILTERED_SORT_MERGE if with_filter else Strategy.PLAIN_SORT_MERGE, with_filter)
