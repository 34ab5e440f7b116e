"""Operators that Comet ran by itself and Spark runs beside the plugin."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import zstandard

from aqe_plugin.logs.layout import find_event_logs
from benchmarks.measure import run_description

_EVENTS = ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate")
# Nodes that stand for others, or carry out nothing.
_STAND_INS = (
    "WholeStageCodegen",
    "InputAdapter",
    "AdaptiveSparkPlan",
    "AQEShuffleRead",
    "Reused",
    "Subquery",
    "KnownKeys",
    "ReadyRows",
)
_OF_COMET = "Comet"
_EVENT_BYTES = 160


def operators(event_logs: Path) -> dict[str, Counter[str]]:
    """Run description → how many operators of each name are in the plan that it ended with; nothing without a log.

    The logs are compressed by Zstandard, as Spark 4 writes them by default.
    """
    found: dict[str, Counter[str]] = {}
    for log in find_event_logs(event_logs) if event_logs.exists() else []:
        plans: dict[int, Any] = {}
        descriptions: dict[int, str] = {}
        for event in (event for part in log.parts for event in _events(part.path)):
            plans[event["executionId"]] = event["sparkPlanInfo"]
            descriptions.setdefault(event["executionId"], event.get("description", ""))
        found |= {descriptions[execution]: Counter(_names(plan)) for execution, plan in plans.items()}
    return found


def fallen_back(plans: Mapping[str, Counter[str]], queries: Iterable[str]) -> Iterator[str]:
    """A line for each query whose first run beside the plugin has more of Spark's operators than Comet alone left."""
    for query in queries:
        alone, beside = (plans.get(run_description(query, name, 1)) for name in ("comet", "comet-plugin"))
        if alone is None or beside is None:
            continue
        more = {name: count for name, count in (beside - alone).items() if not name.startswith(_OF_COMET)}
        if more:
            told = ", ".join(f"{count} {name}" for name, count in sorted(more.items()))
            yield f"{query}: beside the plugin Spark carries out what Comet did: {told}"


def _events(part: Path) -> Iterator[dict[str, Any]]:
    with part.open("rb") as file:
        # Spark ends a frame with each flush.
        whole = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        for line in io.TextIOWrapper(whole, encoding="utf-8"):
            if any(name in line[:_EVENT_BYTES] for name in _EVENTS):
                yield json.loads(line)


def _names(plan: dict[str, Any]) -> Iterator[str]:
    name = plan["nodeName"].partition(" ")[0]
    if not name.startswith(_STAND_INS) and not name.endswith("QueryStage"):
        yield name
    for child in plan["children"]:
        yield from _names(child)
