"""What a daemon meets in its life: clocks that go back, folders it may not read, logs of other versions, endless lines.

Two at one checkpoint, a port in use and a full disk are in ``test_run``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import FileOffset, FileOffsets
from aqe_plugin.logs.offsets import Offset
from daemons import Daemon, daemon
from samples import LOG_START, decided, ended, line, log_bytes, query_lines, spark_line, write_log

pytestmark = pytest.mark.process

WEEK_SECONDS = 7 * 24 * 3600
# Bytes of the endless line; `make test-long-line` asks for two gigabytes.
LINE_BYTES = int(os.environ.get("AQE_PLUGIN_LINE_BYTES", "256_000_000"))
# <linux/prctl.h> and <linux/capability.h>: to read and to list what its mode forbids.
_PR_CAPBSET_DROP = 24
_RIGHTS_OF_ROOT = (1, 2)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def without_the_rights_of_root() -> None:
    """File permissions apply to the next process, even when root runs the tests."""
    if sys.platform == "linux":
        for right in _RIGHTS_OF_ROOT:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, right, 0, 0, 0)


def peak_bytes(running: Daemon) -> int:
    """The largest resident set of the process so far."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    return next(int(one.split()[1]) for one in status.splitlines() if one.startswith("VmHWM")) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells what memory a process took")
@pytest.mark.parametrize("own", [False, True], ids=["of Spark", "of the plugin"])
def test_an_endless_line_between_others_takes_little_memory(logs: Path, tmp_path: Path, own: bool) -> None:
    event = "io.aqeplugin.tell.QueryEnded" if own else "SparkListenerTaskEnd"
    with (logs / "app-1").open("wb") as file:
        file.write(log_bytes(query_lines(1)) + spark_line(event, text="")[:-3])
        # A hole: many bytes to a reader, none on the disk.
        file.seek(LINE_BYTES, os.SEEK_CUR)
        file.write(b'"}\n' + b"".join(query_lines(2)))
    with daemon(logs, tmp_path / "checkpoint.db") as running:
        running.wait_until(running.is_ready)
        assert running.value("aqe_plugin_queries_total") == 2
        assert running.value("aqe_plugin_exporter_skipped_total") == own
        assert peak_bytes(running) < 200_000_000


def test_unreadable_lines_and_files_are_reported_and_the_rest_counts(logs: Path, tmp_path: Path) -> None:
    newer, older = line(ended(2), schemaVersion=2, outcomes="another shape"), line(decided(3), schemaVersion=0)
    (logs / "app-1").write_bytes(log_bytes(query_lines(1), [newer, older], query_lines(4)))
    (logs / "app-2").write_bytes(log_bytes(query_lines(1)) + line(ended(9))[:-40])
    (logs / "app-3").write_bytes(b"\x7fELF" + bytes(10_000))
    (logs / "app-4.lzf").write_bytes(b"ZV\x01")
    (logs / "app-5").write_bytes(b"")
    with daemon(logs, tmp_path / "checkpoint.db") as running:
        running.wait_until(lambda: running.value("aqe_plugin_exporter_skipped_total") == 5)
        assert running.value("aqe_plugin_queries_total") == 3
        stderr = running.stderr
    for found in (
        "QueryEnded has schemaVersion 2, this aqe-plugin reads up to 1: upgrade it to read them",
        "JoinDecided has schemaVersion 0, this aqe-plugin reads from 1 on",
        "app-2, line 8: the log is cut off; if more of it comes, that is read",
        "app-3: not a Spark event log",
        "app-4.lzf: it is compressed with lzf, which aqe-plugin does not read",
    ):
        assert stderr.count(found) == 1, found


def test_a_folder_without_permission_is_reported_and_read_once_permitted(logs: Path, tmp_path: Path) -> None:
    write_log(logs / "app-1")
    logs.chmod(0)
    try:
        with daemon(logs, tmp_path / "checkpoint.db", preexec_fn=without_the_rights_of_root) as running:
            running.wait_until(lambda: running.value("aqe_plugin_exporter_read_errors_total") > 0)
            assert f"{logs}: cannot be read (Permission denied)." in running.stderr
            assert not running.is_ready()
            logs.chmod(0o755)
            running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 1)
    finally:
        logs.chmod(0o755)


def test_after_the_clock_was_set_back_tuning_runs_at_once(logs: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint.db"
    with opened(checkpoint, str(logs)) as kept:
        kept.put(replace(kept.state, tuned_at_seconds=time.time() + WEEK_SECONDS))
    with daemon(logs, checkpoint, "--tune-every", "24") as running:
        running.wait_until((tmp_path / "checkpoint.db.tuning.jsonl").exists)


def test_a_jumping_clock_keeps_offsets_of_missing_files_for_a_week() -> None:
    offsets = FileOffsets(
        {name: FileOffset(name, 0, compacted=False, offset=Offset(lines=1)) for name in ("here", "gone")}
    )
    for now_seconds in (5.0 * WEEK_SECONDS, 0.0, 0.9 * WEEK_SECONDS):
        offsets.miss_all_but({"here"}, now_seconds)
        assert len(offsets) == 2
    offsets.miss_all_but({"here"}, 1.1 * WEEK_SECONDS)
    assert (len(offsets), offsets.get("gone")) == (1, None)


def test_events_with_any_timestamp_are_counted(logs: Path, tmp_path: Path) -> None:
    lines = [line(ended(number), timeMillis=time_millis) for number, time_millis in enumerate((-5, 0, 2**62))]
    (logs / "app-1").write_bytes(LOG_START + b"".join(lines))
    with daemon(logs, tmp_path / "checkpoint.db") as running:
        running.wait_until(running.is_ready)
        assert running.value("aqe_plugin_queries_total") == 3
