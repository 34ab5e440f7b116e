"""Event logs for the tests of the pipeline, and the queries in logs and tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from aqe_plugin.events.queries import QueryStory
from aqe_plugin.logs.queries import read_queries
from aqe_plugin.pipeline.history import stories_of
from aqe_plugin.pipeline.warehouse import Warehouse
from fleet import DEFAULTS, fleet_of, log_of
from samples import (
    APPLICATION_START,
    COMPRESS,
    DECISION,
    FACTS,
    LOG_START,
    decided,
    ended,
    inferred,
    limited,
    line,
    log_bytes,
    over,
    query_lines,
    started,
)

RECORDED = Path(__file__).parents[1] / "deploy" / "recorded" / "tpcds.zstd"

HOSTILE = "</td><script>alert('x')</script><img src=x onerror=alert(1)>\u202egnp.exe\x1b[2J&amp;\""


def named(application: str, *queries: Iterable[bytes]) -> bytes:
    """The log of ``application`` with these lines."""
    return log_bytes(*queries).replace(b"app-1", application.encode())


def write_all_kinds(folder: Path) -> None:
    """Logs of every layout, compression and damage, and a file that is none."""
    shutil.copy(RECORDED, folder / "local-1795992606959.zstd")
    for codec, compressed in COMPRESS.items():
        suffix = f".{codec}" if codec else ""
        application = f"app-single-{codec or 'plain'}"
        content = log_bytes(query_lines(1), query_lines(2, error="Boom\nat line 2")).replace(
            b"app-1", application.encode()
        )
        (folder / f"{application}{suffix}").write_bytes(compressed(content))
        rolling = folder / f"eventlog_v2_app-rolling-{codec or 'plain'}"
        rolling.mkdir()
        (rolling / f"appstatus_{rolling.name}").touch()
        for number in (1, 2, 10):
            first = LOG_START + APPLICATION_START.replace(b"app-1", rolling.name.encode()) if number == 1 else b""
            # A query that begins in one part and ends in the next.
            rest = b"".join(query_lines(number * 10))
            (rolling / f"events_{number}_{rolling.name}{suffix}").write_bytes(compressed(first + rest))
    (folder / "app-cut").write_bytes(named("app-cut", query_lines(1), query_lines(2))[:-20])
    damaged = COMPRESS["zstd"](named("app-damaged", query_lines(1)))
    (folder / "app-damaged.zstd").write_bytes(damaged[:-9])
    running = COMPRESS["zstd"](named("app-running", query_lines(1)))
    (folder / "app-running.zstd.inprogress").write_bytes(running[:-9])
    newer = line(decided(3), schemaVersion=2, decision={"another": "shape"})
    lacking = line(decided(4)).replace(b'"buildSide":"right"', b'"buildSide":"up"')
    versions = [*query_lines(1), newer, line(ended(5), schemaVersion=0), lacking]
    (folder / "app-versions").write_bytes(named("app-versions", versions))
    hostile = replace(DECISION, facts=replace(FACTS, keys=(f"`{HOSTILE}`.a = b.c",)))
    lines = [started(1, HOSTILE), line(decided(1, hostile)), over(1), line(ended(1))]
    (folder / "app-hostile").write_bytes(named("app-hostile", lines))
    both = [started(1), line(inferred(1)), line(decided(1)), over(1), line(limited(1)), line(ended(1))]
    limit_alone = [started(2), over(2), line(limited(2)), line(ended(2, ()))]
    (folder / "app-limits").write_bytes(named("app-limits", both, limit_alone))
    # A filter would have left a hundredth.
    few = replace(FACTS.build.keys, distinct=10_000, origin_distinct=1_000_000)
    selective = replace(FACTS, build=replace(FACTS.build, keys=few))
    plain = replace(DECISION, facts=selective, choice="plain_sort_merge", build_filter=False)
    regretted = [started(1), line(decided(1, plain)), over(1), line(ended(1, ()))]
    (folder / "app-regret").write_bytes(named("app-regret", regretted))
    fleet = fleet_of(0, (1.0, 1.0, 3.0, 1.0, 1.0, 1.0), queries=3)
    (folder / "app-fleet").write_bytes(log_of(fleet.week(None) + fleet.week(DEFAULTS), "app-fleet"))
    (folder / "notes.txt").write_text("not an event log\n")
    (folder / ".hidden").write_text("not looked at\n")


def read(folder: Path) -> list[QueryStory]:
    return sorted(read_queries(folder), key=lambda one: (one.application, one.execution_id))


def stored(spark: SparkSession, root: str) -> list[QueryStory]:
    found = list(stories_of(Warehouse(spark, root)))
    return sorted(found, key=lambda one: (one.application, one.execution_id))
