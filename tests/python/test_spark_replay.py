"""The plugin's own decision function behind the port, and what calibration takes for granted about it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.codec import decode
from aqe_plugin.model import JoinFacts, Strategy
from aqe_plugin.tuning.groups import ALL_OPEN, COEFFICIENTS, alone, current
from aqe_plugin.tuning.replay import JoinOption
from aqe_plugin.tuning.spark_replay import SparkReplay, local_replay
from samples import FACTS, merge_patch

pytestmark = pytest.mark.spark

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))


@pytest.fixture(scope="module")
def replay() -> Iterator[SparkReplay]:
    with local_replay() as asked:
        yield asked


def vectors() -> list[tuple[str, JoinFacts, Any, Any]]:
    """Name, facts, thresholds and expectation of every contract vector."""
    found = []
    for path in VECTORS:
        file = json.loads(path.read_text(encoding="utf-8"))
        for vector in file["vectors"]:
            facts = decode(JoinFacts, merge_patch(file["facts"], vector["facts"]))
            found.append((vector["name"], facts, vector["thresholds"], vector["expect"]))
    return found


def test_every_contract_vector_is_decided_as_written(replay: SparkReplay) -> None:
    cases = vectors()
    chosen = [one for one in cases if one[3]["choice"] != "leave_to_spark"]
    answers = replay([facts for _, facts, _, _ in chosen], [thresholds for _, _, thresholds, _ in chosen])
    assert len(chosen) > 50
    for at, (name, _, _, expected) in enumerate(chosen):
        option = answers[at][at].option
        assert option is not None, name
        assert (option.strategy.value, option.with_filter) == (expected["choice"], expected["buildFilter"]), name


def test_what_is_left_to_spark_runs_as_spark_would(replay: SparkReplay) -> None:
    hinted = replace(FACTS, hint="merge")
    unpriced = replace(FACTS, spark_strategy=Strategy.LEAVE_TO_SPARK)
    ((one, other),) = replay([hinted, unpriced], [{}])
    assert one.option == JoinOption(Strategy.FILTERED_SORT_MERGE, True)
    assert other.option is None


def test_a_price_is_the_sum_of_what_each_group_contributes_at_any_scale(replay: SparkReplay) -> None:
    facts = [one for name, one, _, _ in vectors() if not name.startswith("every count")]
    thresholds = current({})
    scales = {group: 0.5 + at for at, group in enumerate(COEFFICIENTS)}
    scaled = {key: thresholds[key] * scale for group, scale in scales.items() for key in group.keys}
    whole, *parts = replay(facts, [{**scaled, **ALL_OPEN}, *(alone(thresholds, group) for group in COEFFICIENTS)])
    priced = 0
    for at, decision in enumerate(whole):
        for option, price in decision.prices.items():
            priced += 1
            summed = math.fsum(
                scales[group] * part[at].prices[option] for group, part in zip(COEFFICIENTS, parts, strict=True)
            )
            assert price == pytest.approx(summed, rel=1e-9, abs=1e-9)
    assert priced > 100


def test_nothing_asked_is_nothing_answered(replay: SparkReplay) -> None:
    assert replay([], [{}, {}]) == [[], []]
    assert replay([FACTS], []) == []
