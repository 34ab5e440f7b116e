"""A query whose operators Comet runs no more beside the plugin is named, with the operators that Spark runs instead."""

import json
from pathlib import Path
from typing import Any

import zstandard

from benchmarks.fallen_back import fallen_back, operators


def _plan(name: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"nodeName": name, "simpleString": name, "children": list(children), "metadata": {}, "metrics": []}


_SCAN = _plan("CometNativeScan parquet")
_NATIVE = _plan("AdaptiveSparkPlan", _plan("CometFilter", _SCAN))
_BROKEN = _plan(
    "AdaptiveSparkPlan", _plan("WholeStageCodegen (1)", _plan("Filter", _plan("CometColumnarToRow", _SCAN)))
)


def _log(folder: Path, *runs: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
    """An event log of runs: description, first and last plan; each event in a frame of its own."""
    package = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
    application = folder / "eventlog_v2_local-1"
    application.mkdir()
    with (application / "events_1_local-1.zstd").open("wb") as file:
        for number, (description, first, last) in enumerate(runs):
            started = {"executionId": number, "description": description, "sparkPlanInfo": first}
            updated = {"executionId": number, "sparkPlanInfo": last}
            for name, event in (("ExecutionStart", started), ("AdaptiveExecutionUpdate", updated), ("Other", {})):
                line = json.dumps({"Event": f"{package}{name}", **event}) + "\n"
                file.write(zstandard.ZstdCompressor().compress(line.encode()))


def test_the_plan_that_a_run_ended_with_is_held_against_comets(tmp_path: Path) -> None:
    runs = (("q48", _BROKEN), ("q93", _NATIVE))
    _log(
        tmp_path,
        *((f"{query} comet 1", _BROKEN, _NATIVE) for query, _ in runs),
        *((f"{query} comet-plugin 1", _NATIVE, last) for query, last in runs),
    )
    assert list(fallen_back(operators(tmp_path), ["q48", "q93", "q1"])) == [
        "q48: beside the plugin Spark carries out what Comet did: 1 Filter"
    ]
