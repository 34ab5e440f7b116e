"""Event logs that grow while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aqe_plugin.events.lines import Event
from aqe_plugin.logs import FolderFollower, Skipped
from log_records import ours
from samples import (
    COMPRESS,
    LOG_START,
    decided,
    ended,
    line,
    log_bytes,
    query_lines,
    write_log,
)


def polled(follower: FolderFollower) -> list[Event | Skipped]:
    return ours(everything(follower))


def everything(follower: FolderFollower) -> list[Event | Skipped]:
    return [record for _, records in follower.poll() for record in records]


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
