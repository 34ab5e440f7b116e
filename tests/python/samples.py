"""Event logs made by hand: values with every field filled, lines as Spark writes them, and Spark's compressions."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import lz4.block
import zstandard

from aqe_plugin.events.json_values import encode
from aqe_plugin.events.model import (
    BuildFacts,
    ClusterFacts,
    FilterOutcome,
    FilterPlanned,
    FlipPoint,
    JoinDecided,
    JoinDecision,
    JoinFacts,
    JoinSaving,
    KeyFacts,
    LimitChoice,
    LimitDecided,
    LimitDecision,
    LimitFacts,
    LimitOutcome,
    MemoryFacts,
    Mode,
    PredicateInferred,
    ProbeFacts,
    QueryEnded,
    Reason,
    WaitDecision,
    WeighedOption,
)

MEGABYTE = 1024 * 1024

CHEAPEST = Reason("CHEAPEST", 812.0, 4200.0, "millis", "")
FILTER_PAYS = Reason("FILTER_PAYS", 0.04, 0.5, "ratio", "spark.aqePlugin.filter.maxPassRate")
TOO_LARGE = Reason("BROADCAST_MEMORY", 96.0 * MEGABYTE, 64.0 * MEGABYTE, "bytes", "spark.aqePlugin.broadcast.maxBytes")

FACTS = JoinFacts(
    join_id="j1",
    kind="inner",
    keys=("ss_item_sk = sr_item_sk",),
    build_side="right",
    build=BuildFacts(
        rows=1_200_000,
        stage_bytes=9 * MEGABYTE,
        memory_bytes_per_row=84,
        partitions=8,
        max_partition_bytes=2 * MEGABYTE,
        median_partition_bytes=MEGABYTE,
        origin_rows=2_870_000,
        already_broadcast=False,
        keys=KeyFacts(
            columns=1,
            supported=True,
            distinct=18_000,
            nulls=0,
            min=1,
            max=102_000,
            histogram=(),
            origin_distinct=18_000,
            kept=True,
            as_range=False,
            by_row=False,
            hashed=False,
            computed=0,
        ),
        unmeasured_columns=0,
        origin_rows_source="footers",
        exchanges=0,
    ),
    probe=ProbeFacts(
        rows=28_800_000,
        scan_rows=28_800_000,
        row_bytes=40,
        exchanges=1,
        started=False,
        targets=1,
        keys=None,
        rows_source="assumed",
        scan_rows_source="footers",
    ),
    cluster=ClusterFacts(slots=2, executors=1),
    hint=None,
    spark_strategy="plain_sort_merge",
    can_broadcast=True,
    filter_obstacle=None,
    waiting=WaitDecision(
        True,
        Reason("WAIT_PAYS", 812.0, 40.0, "millis", "spark.aqePlugin.wait.savingShare"),
        saving_millis=1624.0,
        idle_millis=40.0,
        build_millis=35.0,
        outcome="used",
        waited_millis=38.5,
    ),
    memory=MemoryFacts(
        limit_bytes=214_748_364,
        held_bytes=0,
        hashed_bytes=1_048_576,
        page_bytes=67_108_864,
    ),
)

DECISION = JoinDecision(
    facts=FACTS,
    choice="filtered_sort_merge",
    reason=CHEAPEST,
    build_filter=True,
    filter_reason=FILTER_PAYS,
    pass_rate=0.04,
    pass_rate_source="key_range",
    options=(
        WeighedOption("broadcast", False, None, TOO_LARGE),
        WeighedOption("filtered_sort_merge", True, 812.0, CHEAPEST),
        WeighedOption("plain_sort_merge", False, 4200.0, Reason("COSTLIER", 4200.0, 812.0, "millis", "")),
    ),
)

PLANNED = FilterPlanned("f1", "j1", "store_sales", ("ss_item_sk",), True, FILTER_PAYS)

OUTCOME = FilterOutcome(
    filter_id="f1",
    join_id="j1",
    table="store_sales",
    scan_columns=("ss_item_sk",),
    kind="split_block_bloom",
    reason=None,
    rows_in=28_800_000,
    rows_out=1_150_000,
    rows_unchecked=310,
    filter_bytes=3 * MEGABYTE // 2,
    build_millis=120,
    wait_millis=2100,
    keys=1_200_000,
)

PASSED_ALL = replace(
    OUTCOME,
    filter_id="f2",
    kind="pass_all",
    reason=Reason("BUILD_TIMEOUT", 5000.0, 5000.0, "millis", "spark.aqePlugin.filter.buildTimeout"),
    rows_in=100,
    rows_out=100,
    filter_bytes=0,
    build_millis=0,
    keys=0,
)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), change)
    return merged


def decided(execution_id: int = 7, decision: JoinDecision = DECISION, mode: Mode = "apply") -> JoinDecided:
    return JoinDecided(1, execution_id, 1_700_000_001_000, mode, decision, (PLANNED,))


FLIP = FlipPoint(FACTS.join_id, "build_rows", "rows", 1_200_000, 81_000, "broadcast", False)


SAVING = JoinSaving(FACTS.join_id, True, 3388.0, 6000.0, 98.73 * MEGABYTE, 1000.0)


def ended(
    execution_id: int = 7,
    outcomes: tuple[FilterOutcome, ...] = (OUTCOME,),
) -> QueryEnded:
    counts = (len(outcomes), len(outcomes), 0)
    return QueryEnded(1, execution_id, 1_700_000_009_000, 3400, 35, *counts, outcomes, flips=(FLIP,), savings=(SAVING,))


def limited(execution_id: int = 7, choice: LimitChoice = "fewest_files") -> LimitDecided:
    """`LIMIT 100000` over 2,000 files of 1,000 rows."""
    facts = LimitFacts("collect", "sales", 100_000, 2000, 40 * MEGABYTE, 101, 55)
    decision = LimitDecision(facts, choice, Reason("ENOUGH_ROWS", 100_000.0, 100_000.0, "rows", ""), 100, 100_000)
    applied = choice != "leave_to_spark"
    outcome = LimitOutcome(100, 100_000, 100)
    return LimitDecided(1, execution_id, 1_700_000_000_500, "apply", applied, decision, outcome)


def inferred(execution_id: int = 7, *, applied: bool = True) -> PredicateInferred:
    """A bound of a scan that comparisons of columns give."""
    mode: Mode = "apply" if applied else "observe"
    return PredicateInferred(1, execution_id, 1_700_000_000_400, mode, "sales", "(day <= 17)", "INEQUALITY", applied)


def line(event: JoinDecided | LimitDecided | PredicateInferred | QueryEnded, **changes: object) -> bytes:
    """One of the plugin's own lines; ``changes`` replace or add members."""
    members = encode(event)
    assert isinstance(members, dict)
    return spark_line(f"io.aqeplugin.tell.{type(event).__name__}", **{**members, **changes})


def spark_line(event: str, **members: Any) -> bytes:
    return json.dumps({"Event": event, **members}, separators=(",", ":")).encode() + b"\n"


LOG_START = spark_line("SparkListenerLogStart", **{"Spark Version": "4.1.3"})
APPLICATION_START = spark_line(
    "SparkListenerApplicationStart", **{"App Name": "nightly", "App ID": "app-1", "Timestamp": 1, "User": "someone"}
)
FOREIGN_LINE = spark_line("SparkListenerJobStart", **{"Job ID": 3, "Submission Time": 5})


def started(execution_id: int = 7, description: str = "q93", plan: str = "", force: str = "") -> bytes:
    """``force``: what the session sets for it."""
    return spark_line(
        "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
        executionId=execution_id,
        rootExecutionId=execution_id,
        description=description,
        details="",
        physicalPlanDescription=plan,
        modifiedConfigs={"spark.aqePlugin.force": force} if force else {},
        sparkPlanInfo={},
        time=1_700_000_000_000,
    )


def over(execution_id: int = 7, error: str = "") -> bytes:
    return spark_line(
        "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd",
        executionId=execution_id,
        time=1_700_000_003_400,
        errorMessage=error,
    )


def query_lines(execution_id: int = 7, description: str = "q93", error: str = "") -> list[bytes]:
    """What one query with one decision writes, in Spark's order."""
    return [
        started(execution_id, description),
        FOREIGN_LINE,
        line(decided(execution_id)),
        over(execution_id, error),
        line(ended(execution_id)),
    ]


def log_bytes(*queries: Iterable[bytes]) -> bytes:
    return b"".join([LOG_START, APPLICATION_START, *(line for query in queries for line in query)])


def write_log(path: Path, *queries: Iterable[bytes]) -> Path:
    path.write_bytes(log_bytes(*(queries or (query_lines(),))))
    return path


def zstd_stream(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(data)


def lz4_stream(data: bytes, block_bytes: int = 64 * 1024) -> bytes:
    """What lz4-java's LZ4BlockOutputStream writes."""
    header = struct.Struct("<8sBiiI")
    blocks = []
    for start in range(0, len(data), block_bytes):
        block = data[start : start + block_bytes]
        packed = lz4.block.compress(block, store_size=False)
        stored, method = (packed, 0x20) if len(packed) < len(block) else (block, 0x10)
        blocks.append(header.pack(b"LZ4Block", method | 6, len(stored), len(block), _lz4_checksum(block)) + stored)
    return b"".join(blocks) + header.pack(b"LZ4Block", 0x16, 0, 0, 0)


def _lz4_checksum(data: bytes) -> int:
    """The lower 28 bits of XXH32, with the seed of lz4-java."""
    primes = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
    seed, mask = 0x9747B28C, 0xFFFFFFFF

    def rotated(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    at, lanes = 0, [(seed + add) & mask for add in (primes[0] + primes[1], primes[1], 0, -primes[0])]
    while at + 16 <= len(data):
        words = struct.unpack_from("<4I", data, at)
        lanes = [
            rotated((lane + word * primes[1]) & mask, 13) * primes[0] & mask
            for lane, word in zip(lanes, words, strict=True)
        ]
        at += 16
    whole = (
        sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) if at else seed + primes[4]
    )
    whole = (whole + len(data)) & mask
    while at + 4 <= len(data):
        whole = rotated((whole + struct.unpack_from("<I", data, at)[0] * primes[2]) & mask, 17) * primes[3] & mask
        at += 4
    for byte in data[at:]:
        whole = rotated((whole + byte * primes[4]) & mask, 11) * primes[0] & mask
    for bits, prime in ((15, primes[1]), (13, primes[2])):
        whole = (whole ^ whole >> bits) * prime & mask
    return (whole ^ whole >> 16) & 0x0FFFFFFF


def snappy_stream(data: bytes, block_bytes: int = 32 * 1024) -> bytes:
    """What snappy-java's SnappyOutputStream writes."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[i : i + block_bytes])) for i in range(0, len(data), block_bytes)]
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "zstd": zstd_stream,
    "lz4": lz4_stream,
    "snappy": snappy_stream,
}
