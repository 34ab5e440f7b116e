"""The daemon's reading: after any kills and splits, the sums are those of one plain read."""

from __future__ import annotations

import contextlib
import os
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.exporter import EventLogCollector, Tally, collector, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import FileOffset, FileOffsets, FolderFollower, Skipped, reader
from aqe_plugin.logs.offsets import Offset
from samples import (
    APPLICATION_START,
    COMPRESS,
    LOG_START,
    OUTCOME,
    decided,
    ended,
    line,
    log_bytes,
    query_lines,
    spark_line,
    write_log,
)
from watching import Killed, read_plainly, read_with_checkpoint, sums


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """Parts of 2 kB, each stored separately, so that a log of a few kilobytes has as many parts as one of gigabytes.

    No test here cuts the power, so none waits for the disk.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_CHUNK_BYTES", 2000)
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr(collector, "_SECONDS_BETWEEN_WRITES", 0)
        yield


def content_of(queries: int) -> bytes:
    """Queries with distinct waits, so that a lost and a doubled query both show; a bad line in between."""
    own = [
        [
            line(decided(number)),
            line(ended(number, (replace(OUTCOME, wait_millis=number * 700, rows_in=2**number, rows_out=1),))),
        ]
        for number in range(queries)
    ]
    return log_bytes(*own[: queries // 2], [line(ended(99), schemaVersion=9)], *own[queries // 2 :])


@pytest.mark.parametrize("codec", sorted(COMPRESS))
@settings(max_examples=40)
@given(data=st.data())
def test_any_split_into_reads_and_kills_gives_the_sums_of_a_plain_read(
    tmp_path_factory: pytest.TempPathFactory, codec: str, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("split")
    folder, checkpoint = home / "logs", home / "checkpoint.db"
    folder.mkdir()
    # One compressed stream or several in a row; Spark writes one for each flush.
    whole = content_of(6)
    flushes = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    pieces = [whole[a:b] for a, b in zip([0, *flushes], [*flushes, len(whole)], strict=True)]
    packed = b"".join(COMPRESS[codec](piece) for piece in pieces)
    name = f"app-1.{codec}" if codec else "app-1"
    with (folder / f"{name}.inprogress").open("wb") as file:
        for end in sorted(data.draw(st.lists(st.integers(0, len(packed)), max_size=4))):
            file.write(packed[file.tell() : end])
            file.flush()
            with contextlib.suppress(Killed):
                read_with_checkpoint(folder, checkpoint, data.draw(st.integers(0, 14) | st.none()))
        file.write(packed[file.tell() :])
    (folder / f"{name}.inprogress").rename(folder / name)
    plain = read_plainly(folder)
    assert plain["aqe_plugin_queries_total",] == 6
    assert plain["aqe_plugin_exporter_skipped_total",] == 1
    assert read_with_checkpoint(folder, checkpoint) == pytest.approx(plain)
    assert read_with_checkpoint(folder, checkpoint) == pytest.approx(plain)


def test_compaction_between_two_reads_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Part 2 is compacted away before it was read to its end, and the compacted file anew with part 3."""
    folder, checkpoint = tmp_path / "logs" / "eventlog_v2_app-1", tmp_path / "checkpoint.db"
    folder.mkdir(parents=True)
    sql = spark_line("org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", executionId=1, time=5)
    parts = [
        LOG_START + APPLICATION_START + sql + b"".join(query_lines(1)),
        LOG_START + b"".join(query_lines(2)) + sql,
        LOG_START + b"".join(query_lines(3)),
    ]

    def queries() -> float:
        return read_with_checkpoint(tmp_path / "logs", checkpoint)["aqe_plugin_queries_total",]

    (folder / "events_1_app-1").write_bytes(parts[0])
    (folder / "events_2_app-1").write_bytes(parts[1][:-300])
    assert queries() == 1
    compacted = LOG_START + APPLICATION_START + line(decided(1)) + line(ended(1)) + line(decided(2)) + line(ended(2))
    (folder / "events_2_app-1.compact").write_bytes(compacted)
    (folder / "events_1_app-1").unlink()
    (folder / "events_2_app-1").unlink()
    (folder / "events_3_app-1").write_bytes(parts[2])
    assert queries() == 3
    (folder / "events_3_app-1.compact").write_bytes(compacted + line(decided(3)) + line(ended(3)))
    (folder / "events_2_app-1.compact").unlink()
    (folder / "events_3_app-1").unlink()
    (folder / "events_4_app-1").write_bytes(LOG_START + b"".join(query_lines(4)))
    assert queries() == 4


@given(numbers=st.lists(st.integers(0, 5), max_size=8))
def test_records_of_a_rolling_log_count_once_over_any_number_of_compactions(numbers: list[int]) -> None:
    """Each part holds so many records; every second one is compacted with all before it."""
    offsets, total = FileOffsets(), 0
    for number, records in enumerate(numbers, start=1):
        total += records
        offsets.put(f"part {number}", FileOffset("app-1", number, compacted=False, offset=Offset(records=records)))
        if number % 2:
            before = offsets.counted("app-1", number)
            assert before == total
            offsets.put(
                f"compact {number}", FileOffset("app-1", number, compacted=True, offset=Offset(repeated=before))
            )
        assert offsets.counted("app-1", number) == total


# Replaced and missing files


def test_a_new_log_of_the_same_name_counts_and_a_grown_copy_continues(tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()

    def queries() -> float:
        return read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",]

    first = log_bytes(query_lines(1), query_lines(2))
    (folder / "app-1").write_bytes(first[:-10])
    assert queries() == 1
    copied = folder / ".app-1.part"
    copied.write_bytes(first)
    copied.replace(folder / "app-1")
    assert queries() == 2
    (folder / "app-1").write_bytes(LOG_START + spark_line("Other", at=1) + b"".join(query_lines(3) + query_lines(4)))
    assert queries() == 4


def test_the_same_log_cut_shorter_is_not_counted_again(tmp_path: Path) -> None:
    """A file system that lost the end of a file in a crash."""
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    whole = log_bytes(*(query_lines(number) for number in range(8)))
    (folder / "app-1").write_bytes(whole)
    before = read_with_checkpoint(folder, checkpoint)
    (folder / "app-1").write_bytes(whole[: len(whole) // 2 + 3000])
    assert read_with_checkpoint(folder, checkpoint) == before
    (folder / "app-1").write_bytes(whole + b"".join(query_lines(8)))
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",] == 9


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_a_truncated_log_is_reported_once_and_read_further_when_it_grows(tmp_path: Path, codec: str) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    packed = COMPRESS[codec](log_bytes(query_lines(1), query_lines(2)))
    path = folder / (f"app-1.{codec}" if codec else "app-1")
    path.write_bytes(packed[:-9])

    def skipped_after(looks: int) -> float:
        tally = Tally()
        with opened(checkpoint, str(folder)) as kept:
            kept.restore(tally)
            reading = EventLogCollector(FolderFollower(folder, kept.offsets()), tally, stderr_log(), kept.write)
            for _ in range(looks):
                reading.read_on()
        return sums(tally)["aqe_plugin_exporter_skipped_total",]

    # It may still be copied here, so the first poll reports nothing.
    assert [skipped_after(looks) for looks in (1, 3, 3)] == [0, 1, 1]
    path.write_bytes(packed)
    assert skipped_after(3) == 1
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",] == 2


def test_the_log_of_a_running_application_is_not_reported_as_truncated(tmp_path: Path) -> None:
    (tmp_path / "app-1.inprogress").write_bytes(log_bytes(query_lines(1))[:-9])
    follower = FolderFollower(tmp_path)
    for _ in range(3):
        assert not any(isinstance(record, Skipped) for _, records in follower.poll() for record in records)


def test_a_folder_missing_for_less_than_a_week_is_not_counted_again(tmp_path: Path) -> None:
    offsets = FileOffsets({"app-1": FileOffset("app-1", 0, compacted=False, offset=Offset(read_bytes=5))})
    day, now = 86_400.0, 1_700_000_000.0
    offsets.miss_all_but((), now)
    offsets.miss_all_but((), now + 6 * day)
    assert offsets.get("app-1") is not None
    offsets.miss_all_but(("app-1",), now + 6.5 * day)
    offsets.miss_all_but((), now + 8 * day)
    # A clock that goes back restarts the week.
    offsets.miss_all_but((), now + 2 * day)
    offsets.miss_all_but((), now + 8.5 * day)
    assert offsets.get("app-1") is not None
    offsets.miss_all_but((), now + 9.5 * day)
    assert offsets.get("app-1") is None


def test_a_file_name_that_is_not_utf8_is_kept(tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / os.fsdecode(b"app-\xff"))
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",] == 1
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",] == 1


# Long lines


@pytest.mark.parametrize("start", [FOREIGN := b'{"Event":"Foreign","x":"', line(ended(1))[:-2] + b',"x":"'])
def test_a_line_of_any_length_takes_bounded_memory_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(reader, "_CHUNK_BYTES", 256 * 1024)
    path, megabyte = tmp_path / "app-1", b"x" * 2**20
    with path.open("wb") as file:
        file.write(LOG_START + start)
        for _ in range(300):
            file.write(megabyte)
        file.write(b'"}\n' + b"".join(query_lines(2)))
    tally = Tally()
    follower = FolderFollower(tmp_path)
    tracemalloc.start()
    try:
        EventLogCollector(follower, tally, stderr_log()).read_on()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 100 * 2**20
    told = sums(tally)
    assert told["aqe_plugin_queries_total",] == 1
    assert told["aqe_plugin_exporter_skipped_total",] == (0 if start == FOREIGN else 1)


def test_a_process_killed_inside_a_long_line_continues_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_MAX_LINE_BYTES", 5000)
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    path = folder / "app-1.inprogress"
    path.write_bytes(log_bytes(query_lines(1)) + line(ended(2))[:-2] + b',"x":"' + b"x" * 20_000)
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_exporter_skipped_total",] == 1
    with path.open("ab") as file:
        file.write(b"x" * 20_000 + b'"}\n' + b"".join(query_lines(3)))
    told = read_with_checkpoint(folder, checkpoint)
    assert told["aqe_plugin_exporter_skipped_total",] == 1
    assert told["aqe_plugin_queries_total",] == 2


def test_a_log_skipped_for_a_missing_package_is_read_once_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    (folder / "app-1.snappy").write_bytes(COMPRESS["snappy"](log_bytes(query_lines(1))))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cramjam", None)
        told = read_with_checkpoint(folder, checkpoint)
        assert (told["aqe_plugin_queries_total",], told["aqe_plugin_exporter_skipped_total",]) == (0, 1)
    assert read_with_checkpoint(folder, checkpoint)["aqe_plugin_queries_total",] == 1


def test_many_logs_are_read_with_few_open_decompressors(tmp_path: Path) -> None:
    for number in range(200):
        write_log(tmp_path / f"app-{number:03}.inprogress")
    follower = FolderFollower(tmp_path)
    assert sum(1 for _, records in follower.poll() for record in records if not isinstance(record, Skipped)) == 600
    for path in tmp_path.iterdir():
        with path.open("ab") as file:
            file.write(line(ended(8)))
    assert sum(1 for _, records in follower.poll() for _ in records) == 200
    assert len(follower._readers) == 64
