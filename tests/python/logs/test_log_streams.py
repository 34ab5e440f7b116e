"""Decompression in pieces and in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.events.model import JoinDecided
from aqe_plugin.logs import find_event_logs, read_log
from aqe_plugin.logs.codecs import decompressor
from log_records import read
from samples import (
    COMPRESS,
    LOG_START,
    query_lines,
    spark_line,
    zstd_stream,
)


@pytest.mark.parametrize("codec", sorted(COMPRESS))
@given(content=st.binary(max_size=5000), cuts=st.lists(st.integers(1, 400), max_size=20))
def test_a_stream_fed_in_any_pieces_gives_the_same_bytes(codec: str, content: bytes, cuts: list[int]) -> None:
    packed = COMPRESS[codec](content)
    stream, out, position = decompressor(codec), b"", 0
    for size in [*cuts, len(packed)]:
        out += b"".join(piece.data for piece in stream.feed(packed[position : position + size]))
        position += size
    assert out == content
    assert stream.complete


@pytest.mark.parametrize("codec", sorted(COMPRESS))
@given(cut=st.integers(0, 60))
def test_two_streams_in_a_row_fed_in_any_pieces_give_the_same_bytes(codec: str, cut: int) -> None:
    packed = [COMPRESS[codec](content) for content in (b"one", b"two")]
    both, end = b"".join(packed), max(0, len(packed[0]) - 20) + cut
    stream = decompressor(codec)
    out = [piece.data for fed in (both[:end], both[end:]) for piece in stream.feed(fed)]
    assert b"".join(out) == b"onetwo"


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    plan = spark_line("org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate", plan="x" * 100_000)
    path = tmp_path / "app-1.zstd"
    path.write_bytes(zstd_stream(LOG_START + (plan * 10 + b"".join(query_lines())) * 100))
    (log,) = find_event_logs(path)
    tracemalloc.start()
    try:
        events = sum(1 for record in read_log(log) if isinstance(record, JoinDecided))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert events == 100
    assert peak_bytes < 30_000_000  # the log holds 100 MB


def test_memory_stays_bounded_for_a_few_bytes_of_zstd_that_expand_far(tmp_path: Path) -> None:
    packed = COMPRESS["zstd"](LOG_START + b'{"Event":"a line","of":"' + b"a" * 200 * 2**20 + b'"}\n')
    assert len(packed) < 16 * 1024
    path = tmp_path / "app-1.zstd"
    path.write_bytes(packed)
    del packed
    tracemalloc.start()
    try:
        assert read(path) == []
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 160 * 2**20
