"""Ctrl-C and SIGTERM end a command, and whatever it started, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from aqe_plugin.tuning.spark_session import held_interrupts


def jvms_with(variable: str) -> list[str]:
    """The living JVMs that have ``variable``, as ``NAME=value``, in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            has_it = variable.encode() in (process / "environ").read_bytes().split(b"\0")
            if has_it and (process / "comm").read_text().strip() == "java":
                found.append(process.name)
    return found


@pytest.mark.spark
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_doctor_that_is_ended_leaves_no_jvm_and_no_folder(tmp_path: Path, number: int, code: int) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    marker = f"TMPDIR={tmp_path}"
    with subprocess.Popen(
        [sys.executable, "-m", "aqe_plugin", "check", "--run"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as command:
        waited = time.monotonic()
        while not jvms_with(marker):
            assert time.monotonic() - waited < 120
            time.sleep(0.05)
        os.kill(command.pid, number)
        try:
            assert command.wait(60) == code
        finally:
            command.kill()
    time.sleep(0.5)
    assert jvms_with(marker) == []
    assert not list(tmp_path.glob("aqe-plugin-*"))


def test_sigterm_waits_for_the_end_of_what_must_not_be_cut_off() -> None:
    done = []
    before = signal.signal(signal.SIGTERM, lambda *_: done.append("ended"))
    try:
        with held_interrupts():
            signal.raise_signal(signal.SIGTERM)
            done.append("started")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done == ["started", "ended"]


def test_an_interrupt_waits_for_the_end_of_what_must_not_be_cut_off() -> None:
    done = []

    def interrupted() -> None:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    # A background job of a shell ignores interrupts.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert done == [True]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, inherited)
