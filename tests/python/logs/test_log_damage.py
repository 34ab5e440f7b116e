"""Damaged event logs: intact lines are read, and the rest is reported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqe_plugin.errors import ExtraMissingError
from aqe_plugin.logs import find_event_logs, read_log
from aqe_plugin.logs.codecs import decompressor
from aqe_plugin.machine.extras import install_command
from log_records import ours, read, skipped
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
    write_log,
    zstd_stream,
)


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
    # Blocks so small that they are stored uncompressed: a changed digit leaves a valid line. None splits the number.
    log = log_bytes(query_lines(1))
    packed = lz4_stream(log, block_bytes=next(size for size in range(8, 12) if log.rindex(b"3400") % size + 4 <= size))
    path = tmp_path / "app-1.lz4"
    path.write_bytes(packed)
    assert ours(read(path)) == [decided(1), ended(1)]
    duration = packed.rindex(b"3400")
    path.write_bytes(packed[:duration] + b"9" + packed[duration + 1 :])
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
    with pytest.raises(ExtraMissingError) as error:
        decompressor("snappy")
    assert str(error.value) == (
        f"it is compressed with snappy, which needs the Python package cramjam: {install_command('codecs')}"
    )


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
