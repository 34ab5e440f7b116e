"""The checkpoint file: one process, one source, and either whole or reported as damaged."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.errors import ConfError, ConflictError, StateError, TargetError, WriteError
from aqe_plugin.exporter import EventLogCollector, Tally, stderr_log
from aqe_plugin.exporter import collector as collector_module
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import FolderFollower, Record
from samples import LOG_START, log_bytes, query_lines, spark_line, write_log
from watching import Killed, KilledAfter, read_with_checkpoint, sums


def test_a_second_process_cannot_open_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    with opened(path, "logs"), pytest.raises(ConflictError) as error, opened(path, "logs"):
        pass
    assert (str(path) in str(error.value), "--checkpoint" in str(error.value)) == (True, True)
    with opened(path, "logs"):
        pass


def test_a_checkpoint_of_another_source_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    with opened(path, "/logs"):
        pass
    with pytest.raises(ConfError) as error, opened(path, "http://history:18080"):
        pass
    assert all(one in str(error.value) for one in (str(path), "/logs", "http://history:18080"))


def test_a_file_that_is_no_checkpoint_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("to be kept\n" * 100)
    damaged = pytest.raises(StateError, match=r"notes\.txt: not a checkpoint of aqe-plugin, or damaged \(")
    with damaged, opened(path, "logs"):
        pass
    assert path.read_text() == "to be kept\n" * 100


@pytest.mark.parametrize("content", ["{}", "[]", "7"])
def test_a_file_without_a_version_is_reported_as_such(content: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    path.write_text(content)
    damaged = pytest.raises(StateError, match=r"or damaged \(it has no schemaVersion\)\. Give another")
    with damaged, opened(path, "logs"):
        pass


def test_a_folder_is_refused_as_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as error, opened(tmp_path, "logs"):
        pass
    assert f"{tmp_path}/checkpoint.db" in str(error.value)


def test_only_its_owner_may_read_a_new_checkpoint_and_a_later_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    with opened(path, "logs") as kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)
        kept.put(replace(kept.state, tuned_at_seconds=1.0))
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_to_a_checkpoint_stays_a_link_and_shares_its_lock(tmp_path: Path) -> None:
    path, link = tmp_path / "stored" / "counts.json", tmp_path / "checkpoint.db"
    path.parent.mkdir()
    link.symlink_to(path)
    with opened(link, "logs") as kept:
        kept.put(replace(kept.state, tuned_at_seconds=1.0))
        with pytest.raises(ConflictError), opened(path, "logs"):
            pass
    assert link.is_symlink()
    assert json.loads(path.read_text())["tuned_at_seconds"] == 1.0


def test_a_checkpoint_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    with opened(path, "logs"):
        pass
    path.write_text(json.dumps({**json.loads(path.read_text()), "schemaVersion": 9}))
    newer = pytest.raises(StateError, match=r"checkpoint\.db: schemaVersion 9, this aqe-plugin writes 3\. ")
    with newer, opened(path, "logs"):
        pass


@pytest.mark.parametrize("member", ["offsets", "tally"])
def test_a_damaged_member_is_an_error(tmp_path: Path, member: str) -> None:
    folder, path = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / "app-1")
    read_with_checkpoint(folder, path)
    path.write_text(json.dumps({**json.loads(path.read_text()), member: {"x": 1}}))
    with pytest.raises(StateError, match="not a checkpoint of aqe-plugin, or damaged"):
        read_with_checkpoint(folder, path)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    absent = pytest.raises(TargetError, match=r"nowhere: no such folder\. Create it")
    with absent, opened(tmp_path / "nowhere" / "checkpoint.db", "logs"):
        pass


def test_on_a_full_disk_only_stored_sums_are_shown_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, path = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / "app-1", *(query_lines(number) for number in range(20)))
    tally = Tally()
    with opened(path, str(folder)) as kept:
        collector = EventLogCollector(FolderFollower(folder, kept.offsets()), tally, stderr_log(), kept.write)
        shown = queries_of(collector)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", without_space)
            for _ in range(2):
                with pytest.raises(WriteError, match=r"cannot be written \(No space left.*\), and holds what it held"):
                    collector.read_on()
                assert shown() == 0
                assert not collector.ready
        collector.read_on()
        assert shown() == 20
        assert collector.ready
    assert read_with_checkpoint(folder, path) == sums(tally)


def without_space(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def queries_of(collector: EventLogCollector) -> Callable[[], float]:
    """The count of queries that a scrape sees."""

    def shown() -> float:
        (family,) = [one for one in collector.collect() if one.name == "aqe_plugin_queries"]
        return family.samples[0].value

    return shown


def test_no_scrape_sees_a_count_fall_over_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is stored, so the next process shows at least that from its start."""
    monkeypatch.setattr(collector_module, "_SECONDS_BETWEEN_WRITES", 0)
    folder, path = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    for number in range(60):
        (folder / f"app-{number:02}").write_bytes(log_bytes(query_lines(number)))
    seen: list[float] = []

    class Scraped(KilledAfter):
        def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
            for log, records in super().poll():
                seen.append(shown())
                yield log, records

    with opened(path, str(folder)) as kept:
        source = Scraped(FolderFollower(folder, kept.offsets()), records=100)
        collector = EventLogCollector(source, Tally(), stderr_log(), kept.write)
        shown = queries_of(collector)
        with pytest.raises(Killed):
            collector.read_on()
    again = Tally()
    with opened(path, str(folder)) as kept:
        kept.restore(again)
        first = queries_of(EventLogCollector(FolderFollower(folder), again, stderr_log(), kept.write))()
    assert seen == sorted(seen)
    assert first == max(seen) == 33


def test_reading_without_news_writes_nothing(tmp_path: Path) -> None:
    folder, path = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / "app-1")
    with opened(path, str(folder)) as kept:
        collector = EventLogCollector(FolderFollower(folder, kept.offsets()), Tally(), stderr_log(), kept.write)
        collector.read_on()
        written = path.stat().st_mtime_ns, path.stat().st_ino
        collector.read_on()
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == written


def test_a_forgotten_application_stays_forgotten(tmp_path: Path) -> None:
    folder, path = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()

    def start(number: int) -> bytes:
        members = {"App Name": f"job {number}", "App ID": f"app-{number}", "Timestamp": number}
        return LOG_START + spark_line("SparkListenerApplicationStart", **members)

    def names(number: int) -> set[str]:
        (folder / f"app-{number}").write_bytes(start(number))
        tally = Tally(applications=2)
        with opened(path, str(folder)) as kept:
            kept.restore(tally)
            EventLogCollector(FolderFollower(folder, kept.offsets()), tally, stderr_log(), kept.write).read_on()
        return {key[1] for key in sums(tally) if key[0] == "aqe_plugin_application_queries_total"}

    assert [names(number) for number in (1, 2, 3, 4)] == [
        {"job 1"},
        {"job 1", "job 2"},
        {"job 2", "job 3"},
        {"job 3", "job 4"},
    ]
