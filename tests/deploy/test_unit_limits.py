"""The systemd unit and its drop-ins: what each starts runs under its limits of memory, of writable code and folders."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from api_server import ApiServer, serving
from aqe_plugin.conf.keys import CANARY_SHARE, PREFIX
from aqe_plugin.conf.stores.locate import find_target, read_target
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.tuning.rollout.beginnings import begin_with_values
from aqe_plugin.tuning.rollout.ledger import write
from aqe_plugin.tuning.rollout.rollouts import read_rollouts
from conf_files import ACTOR
from daemons import daemon
from fleet import fleet_of, log_of
from samples import write_log
from tests.deploy.prometheus_server import DEPLOY

UNIT = DEPLOY / "standalone" / "aqe-plugin-exporter.service"
JVM, APPLY = (UNIT.with_name(f"{UNIT.name}.d") / name for name in ("jvm.conf", "rollout.conf"))
UNITS = {"M": 2**20, "G": 2**30}
# prctl(2), since Linux 6.3: what systemd refuses by a filter of system calls.
SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
CAN_DENY_CODE = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 3)
DROP_CAPABILITY, LAST_CAPABILITY = 24, 40
# mount(2) and unshare(2)
NEW_MOUNTS, READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 0x20000, 1, 32, 4096, 16384, 1 << 18
LIBC = ctypes.CDLL(None, use_errno=True)
CONFIGMAP = "/api/v1/namespaces/spark/configmaps/conf"


def settings_of(*files: Path) -> list[tuple[str, str]]:
    lines = [line for file in files for line in file.read_text().splitlines()]
    pairs = (line.partition("=")[::2] for line in lines if "=" in line and not line.startswith("#"))
    return [(key, value) for key, value in pairs]


@contextmanager
def memory_group(most_bytes: int) -> Iterator[Path]:
    """A control group, of either version, for processes that may use so much memory together."""
    for above, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        try:
            group = Path(tempfile.mkdtemp(prefix="aqe-plugin-test-", dir=above))
        except OSError:
            continue
        try:
            # The kernel fills a control group's folder; above the mounts of version 1, a folder stays empty.
            with (group / limit).open("r+") as file:
                file.write(str(most_bytes))
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            remove_group(group)
        return
    pytest.skip("this machine lets its user make no control group with a limit of memory")


def remove_group(group: Path) -> None:
    """Removes a control group; a JVM whose parent was killed leaves it some time later."""
    end = time.monotonic() + 60
    while group.exists():
        for process in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (group.parent / "cgroup.procs").write_text(process)
        try:
            group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.1)


def enter_read_only_root(writable: tuple[Path, ...]) -> None:
    """Lets this process write in these folders alone, as ``ProtectSystem=strict`` does, and drops its capabilities."""

    def call(done: int) -> None:
        if done != 0:
            os._exit(98)

    def mount(source: Path, target: Path, flags: int) -> None:
        call(LIBC.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None))

    call(LIBC.unshare(NEW_MOUNTS))
    root = Path("/")
    mount(root, root, RECURSIVE | PRIVATE)
    for folder in writable:
        mount(folder, folder, BIND)
    mount(root, root, REMOUNT | BIND | READ_ONLY)
    os.chdir("/")
    for capability in range(LAST_CAPABILITY + 1):
        LIBC.prctl(DROP_CAPABILITY, capability, 0, 0, 0)


@contextmanager
def under(*files: Path, writable: tuple[Path, ...] = ()) -> Iterator[Callable[[], None]]:
    """What a new process calls first to have the limits of ``files``; a later file wins, as in systemd.

    Args:
        writable: the only folders that it may write, if any are named.
    """
    settings = dict(settings_of(*files))
    memory = settings["MemoryMax"]
    denies_code = settings["MemoryDenyWriteExecute"] == "yes"
    with memory_group(int(memory[:-1]) * UNITS[memory[-1]]) as group:

        def limit() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            if writable:
                enter_read_only_root(writable)
            if denies_code and CAN_DENY_CODE and LIBC.prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
                os._exit(99)

        yield limit


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
        under(UNIT, JVM) as limit,
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


# rollouts on a schedule


def environment_of(file: Path, **specifiers: str) -> dict[str, str]:
    """What the drop-in sets, also in the lines that it offers in place of others, with ``%S`` and ``%d`` filled in."""
    text = re.sub(r"(?m)^# (Environment=)", r"\1", file.read_text())
    pairs = (line.removeprefix("Environment=").split("=", 1) for line in text.splitlines() if "Environment=" in line)
    return {name: re.sub("%(.)", lambda found: specifiers[found[1]], value) for name, value in pairs}


def interrupted_rollout(target: str, environment: Mapping[str, str]) -> ConfStore:
    """A rollout that was interrupted just before it put its canary into the conf."""
    where = find_target(target, environment)
    rollouts = read_rollouts(where, ACTOR)
    step = begin_with_values(rollouts, {f"{PREFIX}filter.buildTimeout": "10"}, 0.1)
    assert step is not None
    for line in step.first:
        write(where, line)
    return where


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make its files read-only for one process")
@pytest.mark.parametrize("kind", ["file", "object"])
@pytest.mark.process
def test_the_drop_in_for_rollouts_changes_its_target_under_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    state, credentials, confs, temporary = (tmp_path / name for name in ("lib/aqe-plugin", "cred", "spark", "tmp"))
    for folder in (state, credentials, confs, temporary, tmp_path / "logs"):
        folder.mkdir(parents=True)
    write_log(tmp_path / "logs" / "app-1")
    settings = dict(settings_of(UNIT, JVM, APPLY))
    assert (settings["DynamicUser"], settings["StateDirectory"]) == ("no", state.name)
    assert (settings["PrivateTmp"], settings["ReadWritePaths"]) == ("yes", "-/etc/spark")
    environment = environment_of(APPLY, S=str(state.parent), d=str(credentials))
    api = ApiServer()
    api.put(CONFIGMAP, data={"spark-defaults.conf": "spark.master yarn\n"})
    with serving(api):
        assert api.kubeconfig(credentials).name == "kubeconfig"
        (confs / "spark-defaults.conf").write_text("spark.master yarn\n")
        target = str(confs / "spark-defaults.conf") if kind == "file" else "kubernetes:spark/configmap/conf"
        environment |= {"AQE_PLUGIN__ROLLOUT__TARGET": target, "HOME": "/nonexistent", "TMPDIR": str(temporary)}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        where = interrupted_rollout(target, environment)
        writable = (state, temporary, *([confs] if kind == "file" else []))
        tunes = ("--tune-every", "1", "--rollout")
        with (
            under(UNIT, JVM, APPLY, writable=writable) as limit,
            daemon(tmp_path / "logs", state / "checkpoint.db", *tunes, preexec_fn=limit) as running,
        ):
            running.wait_until(lambda: "event=tuned" in running.stderr)
            assert "event=tuned exit_code=0" in running.stderr
        assert read_target(where).conf.get(CANARY_SHARE) == "0.1"
