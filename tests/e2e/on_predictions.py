"""What the plugin says that Spark would do by itself is what Spark does, join by join, in the queries of TPC-DS.

`make test-lines` runs it on every line, at scale 1: every query once in mode `observe`, whose decisions predict, and
once in mode `off`, whose final plans show it. Joins are paired by their kind and the columns of their keys. Joins of
which AQE left out one side, such as those of an empty side, are in no final plan; of others the plugin makes no
prediction.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import __version__

from aqe_plugin.events.model import Strategy
from benchmarks.accounts import logged_queries
from benchmarks.configs import CONTENDERS
from benchmarks.session import SessionSettings, spark_session, turn_of
from workloads.tpcds import Dataset, queries

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]

_MODES = ("observe", "default")
# Where Spark broadcasts the side that the plugin takes for the probe side, such as the right one of a semi-join, the
# prediction by the measured build side is wrong. Whether it will is not known before that side has run: to expect it by
# its estimate, in the 103 queries at scale 1 on Spark 4.3, is right for 8 joins and wrong for 12.
_MOST_WRONG = 0.015

_NODES: dict[str, Strategy] = {
    "BroadcastHashJoin": "broadcast",
    "ShuffledHashJoin": "shuffled_hash",
    "SortMergeJoin": "plain_sort_merge",
}
_NODE = re.compile(r"(\w+)(?:\(skew=\w+\))? (\[.*?\], \[.*?\]), (\w+)")
_COLUMN = re.compile(r"(\w+)#\d+")

# Query → kind and columns of a join → the strategies of the joins that look so.
Strategies = dict[str, dict[tuple[str, str], list[Strategy]]]


@pytest.fixture(scope="module")
def events(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events")
    confs = {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
    settings = SessionSettings("tpcds predictions", folder, shuffle_partitions=4, confs=confs)
    with spark_session(settings, with_plugin=True) as spark:
        dataset.register(spark)
        for query in queries().values():
            for mode in _MODES:
                spark.sparkContext.setJobDescription(f"{query.name} {mode}")
                with turn_of(spark, CONTENDERS[mode]):
                    spark.sql(query.spark).collect()
    return folder


def test_of_two_hundred_joins_at_most_three_are_predicted_wrong(events: Path) -> None:
    predicted, done = _predicted(events), _done(events)
    wrong: list[str] = []
    compared, unknown = 0, 0
    for query, joins in done.items():
        for join, of_spark in joins.items():
            said: list[Strategy] = [one for one in predicted[query][join] if one != "leave_to_spark"]
            pairs = min(len(said), len(of_spark))
            compared += pairs
            unknown += len(of_spark) - pairs
            missed = pairs - (Counter(said) & Counter(of_spark)).total()
            wrong += [f"{query} {' '.join(join)}: said {_names(said)}, did {_names(of_spark)}"] * missed
    _report([f"{compared} joins compared, {unknown} not; {len(wrong)} predicted wrong", *wrong])
    assert compared >= 400
    assert len(wrong) <= _MOST_WRONG * compared, wrong


def _names(strategies: list[Strategy]) -> str:
    return ", ".join(sorted(strategies))


def _report(lines: list[str]) -> None:
    folder = Path(__file__).resolve().parents[2] / ".build" / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"predictions-{__version__}.txt").write_text("\n".join([*lines, ""]))


def _predicted(events: Path) -> Strategies:
    found: Strategies = defaultdict(lambda: defaultdict(list))
    for query in logged_queries(events):
        for join in query.joins:
            facts = join.decision.facts
            kind, _, keys = facts.join_id.partition(":")
            columns = " ".join(sorted(set(re.findall(r"\w+", re.sub(r"#\d+$", "", keys)))))
            found[query.description.removesuffix(" observe")][_kind(kind), columns].append(facts.spark_strategy)
    return found


def _done(events: Path) -> Strategies:
    """The joins of the last plan of each query in mode `off`."""
    names: dict[int, str] = {}
    plans: dict[int, Any] = {}
    for event in _lines(events):
        kind = event["Event"].rpartition(".")[2]
        if kind == "SparkListenerSQLExecutionStart":
            names[event["executionId"]] = event["description"]
        if kind in ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"):
            plans[event["executionId"]] = event["sparkPlanInfo"]
    found: Strategies = defaultdict(lambda: defaultdict(list))
    for execution, name in names.items():
        if name.endswith(" default"):
            for join, strategy in _joins(plans[execution]):
                found[name.removesuffix(" default")][join].append(strategy)
    return found


def _joins(plan: Any) -> Iterator[tuple[tuple[str, str], Strategy]]:
    node = _NODE.match(plan["simpleString"])
    if node and node[1] in _NODES:
        yield (_kind(node[3]), " ".join(sorted(set(_COLUMN.findall(node[2]))))), _NODES[node[1]]
    for child in plan["children"]:
        yield from _joins(child)


def _kind(name: str) -> str:
    """One name for Spark's `LeftOuter` and the plugin's `left_outer`."""
    return name.replace("_", "").lower().removesuffix("join").replace("nullawareanti", "leftanti")


def _lines(events: Path) -> Iterator[Any]:
    for log in sorted(events.rglob("*")):
        if log.is_file() and not log.name.startswith((".", "appstatus")):
            with log.open() as lines:
                yield from (json.loads(line) for line in lines if '"Event":"org.apache.spark.sql.execution.ui' in line)
