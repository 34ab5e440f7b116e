"""The plugin's own decision function, called through Spark: ``aqe_decide`` over a table of logged facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aqe_plugin.events.join_option import JoinOption, carried_out
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.tuning.replay import Replayed
from aqe_plugin.tuning.spark_session import job_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DECISION = (
    "choice string, buildFilter boolean, "
    "options array<struct<strategy: string, withFilter: boolean, costMillis: double>>"
)


def with_decisions(frame: DataFrame) -> DataFrame:
    """Adds ``decision`` to a table with the JSON columns ``facts`` and ``thresholds``: a struct of ``choice``,
    ``buildFilter`` and ``options`` (each with ``strategy``, ``withFilter`` and ``costMillis``)."""
    return frame.selectExpr("*", f"from_json(aqe_decide(facts, thresholds), '{_DECISION}') AS decision")


class SparkReplay:
    """A :class:`~aqe_plugin.tuning.replay.Replay` over a session in which the plugin is loaded.

    Equal facts are decided once. Raises ``AnalysisException`` when the session lacks ``aqe_decide``, and Spark's own
    error when the function does not take facts or thresholds.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, facts: Sequence[JoinFacts], thresholds: Sequence[Mapping[str, float]]) -> list[list[Replayed]]:
        """See :class:`~aqe_plugin.tuning.replay.Replay`."""
        texts = [json.dumps(encode(one), sort_keys=True) for one in facts]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        if not numbers or not thresholds:
            return [[] for _ in thresholds]
        logged = self._spark.createDataFrame(
            [(number, text) for text, number in numbers.items()], "fact int, facts string"
        )
        candidates = self._spark.createDataFrame(
            [(number, json.dumps(dict(one))) for number, one in enumerate(thresholds)],
            "candidate int, thresholds string",
        )
        answers = {
            (row.candidate, row.fact): row.decision
            for row in with_decisions(logged.crossJoin(candidates)).select("fact", "candidate", "decision").collect()
        }
        return [
            [_replayed(one, answers[candidate, numbers[text]]) for one, text in zip(facts, texts, strict=True)]
            for candidate in range(len(thresholds))
        ]


@contextmanager
def local_replay() -> Iterator[SparkReplay]:
    """A replay in a Spark session of its own on this machine; errors as of ``job_session``."""
    with job_session("aqe-plugin recommend", local=True) as spark:
        yield SparkReplay(spark)


def _replayed(facts: JoinFacts, decision: Any) -> Replayed:
    prices = {
        JoinOption(one.strategy, one.withFilter): one.costMillis
        for one in decision.options
        if one.costMillis is not None
    }
    return Replayed(carried_out(facts.spark_strategy, decision.choice, decision.buildFilter), prices)
