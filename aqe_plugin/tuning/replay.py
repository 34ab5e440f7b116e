"""The port to the plugin's decision function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import JoinFacts


@dataclass(frozen=True, slots=True)
class Replayed:
    """A decision that was made again.

    Attributes:
        option: what would run; ``None`` when it is none of the priced options, e.g. a hash join of the probe side.
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
