"""The plugin's own decision function behind the port, and what calibration takes for granted about it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.json_values import decode
from aqe_plugin.events.model import JoinFacts
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.tuning.groups import ALL_OPEN, COEFFICIENTS, GATES, alone, current
from aqe_plugin.tuning.runs import run_of
from aqe_plugin.tuning.spark_replay import SparkReplay, local_replay
from fleet import DEFAULTS, fleet_of, log_of
from samples import DECISION, FACTS, OUTCOME, ended, merge_patch

pytestmark = pytest.mark.spark

VECTORS = sorted((Path(__file__).parents[2] / "vectors").glob("*.json"))


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
        assert (option.strategy, option.with_filter) == (expected["choice"], expected["buildFilter"]), name


def test_a_join_left_to_spark_has_sparks_option(replay: SparkReplay) -> None:
    few_keys = replace(FACTS.build, keys=replace(FACTS.build.keys, origin_distinct=450_000))
    hinted = replace(FACTS, build=few_keys, hint="merge")
    unpriced = replace(FACTS, spark_strategy="leave_to_spark")
    hashed = replace(hinted, hint="shuffle_hash", spark_strategy="shuffled_hash")
    ((one, other, its_own),) = replay([hinted, unpriced, hashed], [{}])
    assert one.option == JoinOption("filtered_sort_merge", True)
    assert other.option is None
    assert its_own.option == JoinOption("shuffled_hash", True)
    assert its_own.option in its_own.prices


def test_a_price_is_the_sum_of_its_groups_at_any_scale(replay: SparkReplay) -> None:
    # The price of a shared shuffle asks whether a filter would pay there, which each group answers by itself.
    facts = [
        one
        for name, one, _, _ in vectors()
        if not name.startswith("every count") and all(step.work != "shared" for step in one.probe.path or ())
    ]
    thresholds = current({})
    scales = {group: 0.5 + at for at, group in enumerate(COEFFICIENTS)}
    scaled = {key: thresholds[key] * scale for group, scale in scales.items() for key in group.keys}
    # The prices of bytes read from files and of files opened are in no group.
    grouped = {**scaled, "cost.scanNanosPerByte": 0.0, "cost.fileOpenNanos": 0.0, **ALL_OPEN}
    whole, *parts = replay(facts, [grouped, *(alone(thresholds, group) for group in COEFFICIENTS)])
    priced = 0
    for at, decision in enumerate(whole):
        for option, price in decision.prices.items():
            priced += 1
            summed = math.fsum(
                scales[group] * part[at].prices[option] for group, part in zip(COEFFICIENTS, parts, strict=True)
            )
            assert price == pytest.approx(summed, rel=1e-9, abs=1e-9)
    assert priced > 100


@pytest.mark.parametrize("columns", [1, 2])
# Below 1000 times build rows ÷ probe rows, which bounds the rate of a key of several columns.
@pytest.mark.parametrize("passed", [0.001, 0.2, 0.3])
def test_measured_facts_give_the_function_the_measured_pass_rate(
    replay: SparkReplay, columns: int, passed: float
) -> None:
    keys = replace(FACTS.build.keys, columns=columns, distinct=9000)
    facts = replace(FACTS, build=replace(FACTS.build, rows=9000, keys=keys))
    removed = round(28_800_000 * (1 - passed))
    outcome = replace(OUTCOME, rows_in=28_800_000, rows_out=28_800_000 - removed, rows_unchecked=0, kind="exact")
    decision = replace(DECISION, facts=facts)
    run = run_of(QueryStory("a", "", 1, "", "apply", 9, (JoinStory(decision, (), (outcome,)),), ended(), None))
    assert run is not None
    cost_alone = {"cost.filterCheckNanosPerRow": 0.0, "filter.compositeFactor": 1000.0, "filter.maxPassRate": 1.0}
    pipeline = {**alone(current({}), COEFFICIENTS[4]), **cost_alone}
    ((decided,),) = replay([run.joins[0].measured], [pipeline])
    plain, filtered = (JoinOption("plain_sort_merge", False), JoinOption("filtered_sort_merge", True))
    # The pipeline's price is the rows that pass, and nothing else.
    assert decided.prices[filtered] / decided.prices[plain] == pytest.approx(passed, rel=0.01)


def test_no_facts_give_no_decisions(replay: SparkReplay) -> None:
    assert replay([], [{}, {}]) == [[], []]
    assert replay([FACTS], []) == []


def test_recommend_decides_with_the_plugin_itself(tmp_path: Path) -> None:
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=3)
    (tmp_path / "app-1").write_bytes(log_of(fleet.week(None) + fleet.week(DEFAULTS), "app-1"))
    # In a process of its own: there is one Spark session in each.
    ran = subprocess.run(
        [sys.executable, "-m", "aqe_plugin", "recommend", str(tmp_path), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    findings = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["group"] for one in findings] == [group.name for group in (*COEFFICIENTS, *GATES)]
    assert all(one.get("recommendation") or one["reason"] for one in findings)
