"""Event logs on disk in every layout and compression."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.events.model import QueryEnded
from aqe_plugin.logs import find_event_logs
from aqe_plugin.logs.reader import PartReader, Record
from log_records import ours, read, skipped
from samples import (
    COMPRESS,
    LOG_START,
    decided,
    ended,
    log_bytes,
    query_lines,
    write_log,
)


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


@pytest.mark.parametrize("content", sorted(COMPRESS))
@pytest.mark.parametrize("named", ["", ".zstd", ".lz4", ".lzf"])
def test_a_part_is_in_the_compression_of_its_content_whatever_its_name_says(
    tmp_path: Path, named: str, content: str
) -> None:
    # A History Server compacts with its own codec, and keeps the name that the application gave.
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    part = folder / f"events_2_app-1{named}.compact"
    part.write_bytes(COMPRESS[content](log_bytes(query_lines(20))))
    (folder / "events_3_app-1").write_bytes(b"".join(query_lines(3)))
    for path in (tmp_path, part):
        records = read(path)
        assert [event.execution_id for event in ours(records) if isinstance(event, QueryEnded)] == [20, 3][
            : 2 - (path == part)
        ]
        assert skipped(records) == []


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_a_file_that_grows_from_nothing_is_read_by_its_content(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "app-1"
    content = COMPRESS[codec](log_bytes(query_lines()))
    path.touch()
    (log,) = find_event_logs(path)
    reader, records = PartReader(log.parts[0]), list[Record]()
    for size in (0, 3, 200, len(content)):
        path.write_bytes(content[:size])
        records += [record for chunk in reader.chunks() for record in chunk]
    assert ours(records) == [decided(), ended()]
    assert skipped(records) == []


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
