"""Queries in threads whose class loader does not know the plugin's jar, which comes from ``--jars`` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqe_plugin.events.model import JoinDecided
from submitted_jobs import submit_java_with_the_plugin

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("PlanningThreads.java")

THREADS = ["fork-join pool", "parallel stream", "system loader", "no loader", "main"]
MODES = ["apply", "observe", "off"]


def test_no_query_fails_in_any_thread_and_its_generated_code_compiles(tmp_path: Path) -> None:
    confs = {
        "spark.master": "local[2]",
        "spark.aqePlugin.test.openGates": "true",
        # Code that does not compile fails the query, in place of a stage that runs interpreted.
        "spark.sql.codegen.fallback": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
    }
    job = submit_java_with_the_plugin(tmp_path, JOB, confs)
    assert job.stdout.splitlines() == [f"{mode}, {thread}: [2000,100]" for mode in MODES for thread in THREADS], (
        job.stderr[-5000:]
    )
    applied = [event.decision for event in job.events() if isinstance(event, JoinDecided)][:16]
    # Four queries of the stream, one of each other thread, two joins each: all have filters, of sketched build sides.
    assert len(applied) == 16
    assert all(decision.build_filter and decision.facts.build.keys.distinct == 100 for decision in applied)
