"""Event logs on disk: every layout, every compression, and every kind of damage."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import CodecMissingError, EventLogError, NoDataError
from aqe_plugin.events.lines import Event
from aqe_plugin.events.model import JoinDecided, QueryEnded
from aqe_plugin.logs import FolderFollower, Skipped, find_event_logs, read_log
from aqe_plugin.logs.codecs import decompressor
from samples import (
    APPLICATION_START,
    COMPRESS,
    FOREIGN_LINE,
    LOG_START,
    decided,
    ended,
    line,
    log_bytes,
    lz4_stream,
    query_lines,
    spark_line,
    write_log,
    zstd_stream,
)


def read(path: Path) -> list[Event | Skipped]:
    return [record for log in find_event_logs(path) for record in read_log(log)]


def ours(records: list[Event | Skipped]) -> list[Event | Skipped]:
    return [record for record in records if isinstance(record, JoinDecided | QueryEnded)]


def skipped(records: list[Event | Skipped]) -> list[Skipped]:
    return [record for record in records if isinstance(record, Skipped)]


# Layouts


@pytest.mark.parametrize("codec", sorted(COMPRESS))
@pytest.mark.parametrize("in_progress", ["", ".inprogress"])
def test_a_single_log_is_read_in_every_compression(tmp_path: Path, codec: str, in_progress: str) -> None:
    path = tmp_path / f"app-1{'.' + codec if codec else ''}{in_progress}"
    path.write_bytes(COMPRESS[codec](log_bytes(query_lines())))
    records = read(path)
    assert ours(records) == [decided(), ended()]
    assert skipped(records) == []
    (log,) = find_event_logs(path)
    assert (log.name, log.in_progress) == ("app-1", bool(in_progress))


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_a_rolling_log_is_read_in_the_order_of_its_parts(tmp_path: Path, codec: str) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "appstatus_app-1").touch()
    suffix = f".{codec}" if codec else ""
    for number in (1, 2, 10):
        content = (LOG_START if number == 1 else b"") + b"".join(query_lines(number))
        (folder / f"events_{number}_app-1{suffix}").write_bytes(COMPRESS[codec](content))
    for path in (folder, tmp_path):
        assert [event.execution_id for event in ours(read(path)) if isinstance(event, QueryEnded)] == [1, 2, 10]


def test_a_compacted_part_replaces_all_parts_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for name, execution in (
        ("events_1_app-1", 1),
        ("events_2_app-1", 2),
        ("events_2_app-1.compact", 20),
        ("events_3_app-1", 3),
    ):
        (folder / name).write_bytes(b"".join(query_lines(execution)))
    assert [event.execution_id for event in ours(read(folder)) if isinstance(event, QueryEnded)] == [20, 3]


def test_an_unfinished_compaction_replaces_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for name, execution in (("events_1_app-1", 1), ("events_2_app-1", 2), ("events_2_app-1.compact.inprogress", 20)):
        (folder / name).write_bytes(b"".join(query_lines(execution)))
    assert [event.execution_id for event in ours(read(folder)) if isinstance(event, QueryEnded)] == [1, 2]


def test_a_folder_gives_every_log_and_no_hidden_files(tmp_path: Path) -> None:
    write_log(tmp_path / "app-2")
    write_log(tmp_path / "app-1")
    write_log(tmp_path / ".app-3.crc")
    (tmp_path / "some-folder").mkdir()
    assert [log.name for log in find_event_logs(tmp_path)] == ["app-1", "app-2"]


def test_a_folder_without_logs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoDataError) as error:
        find_event_logs(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: no event log in this folder. "
        "Spark writes them to spark.eventLog.dir when spark.eventLog.enabled is true."
    )


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match="nowhere: no such file or folder"):
        find_event_logs(tmp_path / "nowhere")


def test_reading_a_pipe_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "events_1_app-1"
    os.mkfifo(pipe)
    with pytest.raises(EventLogError, match="a device, a pipe or a socket"):
        find_event_logs(pipe)
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    os.mkfifo(folder / pipe.name)
    assert [str(item) for item in read(folder)] == [f"{folder / pipe.name}: cannot be read (not a file)"]


# Damage: intact lines are read, the rest is reported


def test_a_truncated_log_gives_everything_before_the_cut(tmp_path: Path) -> None:
    whole = log_bytes(query_lines(1), query_lines(2))
    path = tmp_path / "app-1"
    path.write_bytes(whole[:-20])
    records = read(path)
    assert len(ours(records)) == 3
    assert [str(item) for item in skipped(records)] == [f"{path}, line 12: the line is cut off"]


def test_a_cut_line_of_a_running_application_is_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "app-1.inprogress"
    path.write_bytes(log_bytes(query_lines())[:-20])
    assert [item.why for item in skipped(read(path))] == ["the line is cut off (the application has not ended)"]


@given(data=st.data())
def test_truncation_anywhere_never_raises_and_loses_no_whole_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = log_bytes(query_lines(1), query_lines(2))
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path_factory.mktemp("cut") / "app-1"
    path.write_bytes(whole[:cut])
    records = read(path)
    whole_lines = [one for one in whole[:cut].splitlines(keepends=True) if one.endswith(b"\n")]
    expected = sum(b"io.aqeplugin" in one[:30] for one in whole_lines)
    # The last line may lack only its line end.
    assert len(ours(records)) in (expected, expected + 1)


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
@given(data=st.data())
def test_any_damage_to_a_compressed_log_is_reported_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, codec: str, data: st.DataObject
) -> None:
    packed = bytearray(COMPRESS[codec](log_bytes(query_lines(1))))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damage") / f"app-1.{codec}"
    path.write_bytes(packed[: data.draw(st.integers(0, len(packed)))])
    assert len(ours(read(path))) <= 2


def test_blocks_before_a_damaged_block_are_read(tmp_path: Path) -> None:
    path = tmp_path / "app-1.zstd"
    path.write_bytes(zstd_stream(log_bytes(query_lines(1))) + b"this is no frame")
    records = read(path)
    assert len(ours(records)) == 2
    (item,) = skipped(records)
    assert item.line == 8
    assert item.why.startswith("its zstd data is damaged (")


def test_an_lz4_block_with_a_wrong_checksum_is_not_read(tmp_path: Path) -> None:
    # Blocks so small that they are stored uncompressed: a changed digit leaves a valid line.
    packed = lz4_stream(log_bytes(query_lines(1)), block_bytes=11)
    path = tmp_path / "app-1.lz4"
    path.write_bytes(packed)
    assert ours(read(path)) == [decided(1), ended(1)]
    assert packed.count(b"3400") == 1
    path.write_bytes(packed.replace(b"3400", b"9400"))
    records = read(path)
    assert ours(records) == [decided(1)]
    assert [item.why for item in skipped(records)] == ["its lz4 data is damaged (the checksum of a block)"]


def test_a_compressed_file_that_ends_inside_a_frame_is_reported(tmp_path: Path) -> None:
    packed = zstd_stream(log_bytes(query_lines()))
    path = tmp_path / "app-1.zstd"
    path.write_bytes(packed[:-1])
    assert [item.why for item in skipped(read(path))] in (["the file is cut off"], ["the line is cut off"])


@pytest.mark.parametrize(
    "content", [b"a,b,c\n1,2,3\n", b"PAR1" * 100, b"{}", b"\x00" * 5000, b'{"Name":"x"}\n', b"{'Event'"]
)
def test_a_foreign_file_is_skipped_as_a_whole(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "something"
    path.write_bytes(content + b"".join(query_lines()))
    write_log(tmp_path / "zzz")
    records = read(tmp_path)
    assert len(ours(records)) == 2
    assert [str(item) for item in skipped(records)] == [f"{path}: not a Spark event log"]


def test_a_damaged_line_in_the_middle_is_skipped_alone(tmp_path: Path) -> None:
    lines = query_lines(1)
    lines[2] = lines[2][:50] + b"\n"
    path = write_log(tmp_path / "app-1", lines, query_lines(2))
    records = read(path)
    assert len(ours(records)) == 3
    assert [str(item) for item in skipped(records)] == [f"{path}, line 5: JoinDecided: not valid JSON"]


def test_a_newer_schema_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_log(tmp_path / "app-1", [line(decided(), schemaVersion=9)], query_lines())
    records = read(path)
    assert len(ours(records)) == 2
    assert [item.why for item in skipped(records)] == [
        "JoinDecided has schemaVersion 9, this aqe-plugin reads up to 1: upgrade it to read them"
    ]


def test_a_file_without_read_permission_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_log(tmp_path / "app-1")

    def denied(_: Path, *__: object) -> Iterator[bytes]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert [str(item) for item in skipped(read(path))] == [f"{path}: cannot be read (Permission denied)"]


def test_a_file_that_vanished_is_skipped(tmp_path: Path) -> None:
    path = write_log(tmp_path / "app-1")
    (log,) = find_event_logs(path)
    path.unlink()
    assert [str(item) for item in read_log(log)] == [f"{path}: cannot be read (No such file or directory)"]


def test_an_unsupported_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "app-1.lzf"
    path.write_bytes(b"ZV\x01")
    (item,) = skipped(read(path))
    assert item.why == (
        "it is compressed with lzf, which aqe-plugin does not read: "
        "set spark.eventLog.compression.codec to zstd, lz4, snappy or none"
    )


def test_a_missing_codec_package_is_named_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(CodecMissingError) as error:
        decompressor("snappy")
    assert str(error.value) == (
        "it is compressed with snappy, which needs the Python package cramjam: pip install 'aqe-plugin[codecs]'"
    )


# Size


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


# Following


def polled(follower: FolderFollower) -> list[Event | Skipped]:
    return ours(everything(follower))


def everything(follower: FolderFollower) -> list[Event | Skipped]:
    return [record for _, records in follower.poll() for record in records]


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


def test_a_growing_log_gives_each_event_once_and_survives_the_rename_at_its_end(tmp_path: Path) -> None:
    content = log_bytes(query_lines(1), query_lines(2))
    follower = FolderFollower(tmp_path)
    assert polled(follower) == []
    running, seen = tmp_path / "app-1.inprogress", list[Event | Skipped]()
    with running.open("wb") as file:
        for start in range(0, len(content), 500):
            file.write(content[start : start + 500])
            file.flush()
            seen += polled(follower)
    running.rename(tmp_path / "app-1")
    seen += polled(follower)
    assert seen == [decided(1), ended(1), decided(2), ended(2)]
    assert polled(follower) == []
    assert len(follower.offsets) == 1


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_growing_compressed_log_gives_each_event_once(tmp_path: Path, codec: str) -> None:
    packed = COMPRESS[codec](log_bytes(query_lines(1), query_lines(2)))
    follower, seen = FolderFollower(tmp_path), list[Event | Skipped]()
    with (tmp_path / f"app-1.{codec}.inprogress").open("wb") as file:
        for start in range(0, len(packed), 100):
            file.write(packed[start : start + 100])
            file.flush()
            seen += polled(follower)
    assert seen == [decided(1), ended(1), decided(2), ended(2)]


def test_new_parts_are_found_and_compaction_repeats_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    follower = FolderFollower(tmp_path)
    (folder / "events_1_app-1").write_bytes(LOG_START + line(ended(1)))
    assert polled(follower) == [ended(1)]
    (folder / "events_2_app-1").write_bytes(LOG_START + line(ended(2)))
    assert polled(follower) == [ended(2)]
    (folder / "events_1_app-1").rename(folder / "events_1_app-1.compact")
    assert polled(follower) == []


def test_a_log_that_is_overwritten_is_read_from_the_start(tmp_path: Path) -> None:
    path = write_log(tmp_path / "app-1", query_lines(1), query_lines(2))
    follower = FolderFollower(tmp_path)
    assert len(polled(follower)) == 4
    write_log(path, query_lines(3))
    assert polled(follower) == [decided(3), ended(3)]


def test_a_file_that_is_missing_for_a_moment_is_read_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path / "app-1")
    follower = FolderFollower(tmp_path)

    def gone(_: Path, *__: object) -> Iterator[bytes]:
        raise FileNotFoundError(2, "No such file or directory")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", gone)
        assert [type(record) for record in everything(follower)] == [Skipped]
        assert everything(follower) == []
    assert len(polled(follower)) == 2


def test_a_temporary_error_of_the_file_system_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_log(tmp_path / "app-1")
    opened, real = [], Path.open

    def stale_once(self: Path, mode: str = "r") -> object:
        opened.append(self)
        if len(opened) == 1:
            raise OSError(116, "Stale file handle")
        return real(self, mode)

    monkeypatch.setattr(Path, "open", stale_once)
    assert len(ours(read(path))) == 2
    assert len(opened) == 2


def test_an_empty_line_or_an_unfinished_first_line_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "app-1.inprogress"
    path.write_bytes(b'{"Eve')
    assert [item.why for item in skipped(read(path))] == ["the line is cut off (the application has not ended)"]
    path.write_bytes(LOG_START + b"\n" + APPLICATION_START + FOREIGN_LINE)
    assert skipped(read(path)) == []
