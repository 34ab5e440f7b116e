"""The systemd unit and its drop-in: what each starts runs under its limits of memory and of writable code."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from daemons import daemon
from fleet import fleet_of, log_of
from samples import write_log
from tests.deploy.prometheus_server import DEPLOY

UNIT = DEPLOY / "standalone" / "aqe-plugin-exporter.service"
DROP_IN = DEPLOY / "standalone" / "aqe-plugin-exporter.service.d" / "jvm.conf"
UNITS = {"M": 2**20, "G": 2**30}
# prctl(2), since Linux 6.3: what systemd refuses by a filter of system calls.
SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
CAN_DENY_CODE = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 3)
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")


def limits_of(*files: Path) -> tuple[int, bool]:
    """The bytes of memory, and whether code that was written may not run; a later file wins, as in systemd."""
    settings = dict(
        line.split("=", 1)
        for file in files
        for line in file.read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    memory = settings["MemoryMax"]
    return int(memory[:-1]) * UNITS[memory[-1]], settings["MemoryDenyWriteExecute"] == "yes"


@contextmanager
def under(*files: Path) -> Iterator[Callable[[], None]]:
    """What a new process calls first to have the limits of ``files``, as far as this machine lets its user do so."""
    memory, denies_code = limits_of(*files)
    group = MEMORY_GROUPS / f"aqe-plugin-test-{os.getpid()}"
    limits_memory = False
    with suppress(OSError):
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(memory))
        limits_memory = True
    libc = ctypes.CDLL(None)

    def limit() -> None:
        if limits_memory:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        if denies_code and CAN_DENY_CODE and libc.prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
            os._exit(99)

    try:
        yield limit
    finally:
        if limits_memory:
            for process in (group / "cgroup.procs").read_text().split():
                (MEMORY_GROUPS / "cgroup.procs").write_text(process)
            group.rmdir()


@pytest.mark.process
def test_the_unit_reads_local_logs_under_its_limits(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "app-1")
    with (
        under(UNIT) as limit,
        daemon(tmp_path / "logs", tmp_path / "checkpoint.db", preexec_fn=limit) as running,
    ):
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 1)
        assert running.is_ready()


@pytest.mark.spark
def test_the_drop_in_reads_a_hadoop_file_system_and_tunes_under_its_limits(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    fleet = fleet_of(0, queries=4)
    for day in range(12):
        (logs / f"app-{day}").write_bytes(log_of(fleet.week(None, runs=1), f"app-{day}"))
    tunes = ("--tune-every", "1")
    with (
        under(UNIT, DROP_IN) as limit,
        daemon(logs.as_uri(), tmp_path / "checkpoint.db", *tunes, preexec_fn=limit) as running,
    ):
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 48)
        running.wait_until(lambda: "event=tuned" in running.stderr)
        assert "event=tuned exit_code=0" in running.stderr


@pytest.mark.skipif(not CAN_DENY_CODE, reason="Linux before 6.3 has no call that denies code made at run time")
@pytest.mark.spark
def test_without_the_drop_in_no_jvm_starts(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "app-1")
    with (
        under(UNIT) as limit,
        pytest.raises(AssertionError, match="Java"),
        daemon((tmp_path / "logs").as_uri(), tmp_path / "checkpoint.db", preexec_fn=limit),
    ):
        pass
