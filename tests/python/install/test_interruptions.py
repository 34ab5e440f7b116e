"""Changes of a file that were cut off, could not be written, or met another's."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import ConflictError, StateError, TargetError, WriteError
from aqe_plugin.install.controller import (
    Proposal,
    carry_out,
    propose_install,
    propose_rollback,
    propose_tuning,
    propose_uninstall,
)
from aqe_plugin.install.journal import journal_of
from aqe_plugin.machine.disk import leftovers, lock
from conf_files import ACTOR, JAR, THEIRS, conf, done, install, rollback, uninstall
from conf_states import state_of

__all__ = ["conf"]

pytestmark = pytest.mark.process


STEPS = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "fchmod", "fchown", "close")


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Runs ``work`` in a process that is killed with -9 at its ``step``-th call that touches the disk.

    A write that is killed has written half. Gives back whether the process came that far.
    """
    child = os.fork()
    if child == 0:
        count = 0

        def guarded(name: str) -> Callable[..., Any]:
            real: Callable[..., Any] = getattr(os, name)

            def call(*words: Any, **named: Any) -> Any:
                nonlocal count
                count += 1
                if count == step:
                    if name == "write":
                        real(words[0], bytes(words[1])[: len(words[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*words, **named)

            return call

        try:
            for name in STEPS:
                setattr(os, name, guarded(name))
            work()
        finally:
            os._exit(0)
    _, ended = os.waitpid(child, 0)
    return os.WIFSIGNALED(ended)


@pytest.mark.parametrize("action", ["install", "uninstall", "rollback", "first install"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_file(tmp_path: Path, action: str) -> None:
    states = set()
    for step in range(1, 200):
        path = tmp_path / str(step) / "spark-defaults.conf"
        path.parent.mkdir()
        if action != "first install":
            path.write_bytes(THEIRS)
        proposal = propose_install(FileStore(path), JAR, None)
        if action in ("uninstall", "rollback"):
            done(proposal)
            proposal = (
                propose_uninstall(FileStore(path), False)
                if action == "uninstall"
                else propose_rollback(FileStore(path), False)
            )
        came_that_far = killed_at(step, lambda proposal=proposal: carry_out(proposal, ACTOR))  # type: ignore[misc]
        found = path.read_bytes() if path.exists() else None
        assert found in (proposal.before, proposal.after)
        states.add(found)

        # Looking at it works at once, and so does the next change, whichever state it was left in.
        state_of(FileStore(path))
        install(path, "apply")
        assert state_of(FileStore(path)).mode == "apply"
        journal = journal_of(FileStore(path))
        assert journal.interrupted is None
        assert leftovers(path.parent) == leftovers(journal.folder / "backups") == []
        rollback(path)
        assert (path.read_bytes() if path.exists() else None) == found
        if not came_that_far:
            break
    assert step > 20
    assert states == {proposal.before, proposal.after}


def test_status_reports_an_interrupted_install_until_the_next_change(conf: Path) -> None:
    for step in range(1, 200):
        killed_at(step, lambda: carry_out(propose_install(FileStore(conf), JAR, None), ACTOR))
        if journal_of(FileStore(conf)).interrupted is not None:
            break
    (remark,) = [one for one in state_of(FileStore(conf)).remarks if one.startswith("install no. 1")]
    assert remark == (
        "install no. 1 of 2026-11-21T12:00:00+00:00 was interrupted; the file holds the old state, "
        "and the next change records that."
    )
    said = carry_out(propose_install(FileStore(conf), JAR, None), ACTOR)
    assert said[-1] == "install no. 1 of 2026-11-21T12:00:00+00:00 was interrupted and had changed nothing"
    assert [record.phase for record in journal_of(FileStore(conf)).records] == ["abandoned", "done"]


def interrupted_before_its_end_was_recorded(proposal: Proposal) -> None:
    for step in range(1, 200):
        journal = journal_of(proposal.store)
        if journal.interrupted is not None and proposal.store.read() == proposal.after:
            return
        for line in (journal.folder / "journal.jsonl", journal.folder / "lock"):
            line.unlink(missing_ok=True)
        proposal.store.replace(proposal.store.read(), proposal.before, "ann")
        killed_at(step, lambda: carry_out(proposal, ACTOR))
    raise AssertionError("never interrupted there")


def test_an_interrupted_change_that_others_edited_since_is_known_by_its_keys(conf: Path) -> None:
    interrupted_before_its_end_was_recorded(propose_install(FileStore(conf), JAR, "apply"))
    with conf.open("a") as file:
        file.write("\nspark.executor.memory 4g\n")
    assert any("holds the new state" in one for one in state_of(FileStore(conf)).remarks)
    with pytest.raises(ConflictError, match=r"by somebody else: it differs in spark\.executor\.memory"):
        propose_rollback(FileStore(conf), force=False)
    assert propose_rollback(FileStore(conf), force=True).after == THEIRS
    left = propose_uninstall(FileStore(conf), purge=False).after
    assert left is not None
    assert left.split() == [*THEIRS.split(), b"spark.executor.memory", b"4g"]
    said = carry_out(propose_tuning(FileStore(conf), {"spark.aqePlugin.filter.maxPassRate": "0.5"}, ""), ACTOR)
    assert said[-1].endswith("was interrupted and had been carried out")


def test_an_interrupted_change_that_never_came_to_the_file_is_known_though_others_edited_it(conf: Path) -> None:
    for step in range(1, 200):
        killed_at(step, lambda: carry_out(propose_install(FileStore(conf), JAR, "apply"), ACTOR))
        if journal_of(FileStore(conf)).interrupted is not None:
            break
    with conf.open("a") as file:
        file.write("\nspark.executor.memory 4g\n")
    assert any("holds the old state" in one for one in state_of(FileStore(conf)).remarks)
    with pytest.raises(StateError, match="nothing to roll back"):
        propose_rollback(FileStore(conf), force=True)


def test_status_reports_damaged_lines_in_one_sentence(conf: Path) -> None:
    install(conf)
    with (journal_of(FileStore(conf)).folder / "journal.jsonl").open("a") as file:
        file.write("cut of\n")
    (remark,) = state_of(FileStore(conf)).remarks
    assert remark.endswith("damaged lines left out: 3.")


def test_a_full_disk_leaves_the_file_unchanged_and_gives_an_error(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = propose_install(FileStore(conf), JAR, None)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(WriteError, match=r"cannot be written \(No space left on device\), and holds what it held"):
            carry_out(proposal, ACTOR)
    assert conf.read_bytes() == THEIRS
    carry_out(proposal, ACTOR)
    assert state_of(FileStore(conf)).installed


def test_two_processes_cannot_change_one_file_at_once(conf: Path) -> None:
    install(conf)
    with (
        lock(journal_of(FileStore(conf)).folder / "lock"),
        pytest.raises(ConflictError, match="another aqe-plugin is changing the same file"),
    ):
        uninstall(conf)


def test_a_file_system_without_locks_is_refused_and_nothing_changes(
    conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", unsupported)
        with pytest.raises(TargetError, match=r"its file system gives no lock \(No locks available\)"):
            install(conf)
    assert conf.read_bytes() == THEIRS
    install(conf)


def test_a_file_that_changed_after_the_proposal_is_not_overwritten(conf: Path) -> None:
    proposal = propose_install(FileStore(conf), JAR, None)
    conf.write_bytes(b"spark.x 1\n")
    with pytest.raises(ConflictError, match="somebody else changed it in the meantime"):
        carry_out(proposal, ACTOR)
    assert conf.read_bytes() == b"spark.x 1\n"
