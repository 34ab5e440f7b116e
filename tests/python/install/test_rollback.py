"""Rollback of files, and the journal that it goes by."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import ConflictError, StateError
from aqe_plugin.install.controller import propose_rollback, propose_tuning, propose_uninstall
from aqe_plugin.install.journal import journal_of
from aqe_plugin.render.control import print_proposal, proposal_json
from conf_files import THEIRS, conf, done, install, rollback, uninstall
from conf_states import state_of

__all__ = ["conf"]


# rollback


def test_rollback_goes_back_one_change_at_a_time(conf: Path) -> None:
    install(conf)
    first = conf.read_bytes()
    install(conf, "apply")
    rollback(conf)
    assert conf.read_bytes() == first
    rollback(conf)
    assert conf.read_bytes() == THEIRS
    with pytest.raises(StateError) as error:
        propose_rollback(FileStore(conf), force=False)
    assert str(conf) in str(error.value)


def test_rollback_over_another_users_change_names_the_keys_without_values(conf: Path) -> None:
    install(conf)
    changed = conf.read_bytes().replace(b"pa$$", b"hunter2")
    conf.write_bytes(changed)
    with pytest.raises(ConflictError) as error:
        propose_rollback(FileStore(conf), force=False)
    assert all(one in str(error.value) for one in (str(conf), "no. 1", "spark.secret", "--force"))
    proposal = propose_rollback(FileStore(conf), force=True)
    printed = StringIO()
    print_proposal(proposal, False, Console(file=printed, width=200))
    for shown in (printed.getvalue(), json.dumps(proposal_json(proposal, applied=False))):
        assert "spark.secret" in shown
        assert "hunter2" not in shown
    rollback(conf, force=True)
    assert conf.read_bytes() == THEIRS
    record = journal_of(FileStore(conf)).records[-1]
    assert journal_of(FileStore(conf)).kept(record.before) == changed
    assert "hunter2" not in (journal_of(FileStore(conf)).folder / "journal.jsonl").read_text()


def test_rollback_reports_a_changed_layout_and_a_missing_file(conf: Path) -> None:
    install(conf)
    conf.write_bytes(conf.read_bytes() + b"\r\n# note")
    with pytest.raises(ConflictError, match="it differs in comments or layout"):
        propose_rollback(FileStore(conf), force=False)
    conf.unlink()
    with pytest.raises(ConflictError, match="the file is gone"):
        propose_rollback(FileStore(conf), force=False)


def test_a_damaged_backup_is_not_restored(conf: Path) -> None:
    install(conf)
    for backup in (journal_of(FileStore(conf)).folder / "backups").iterdir():
        backup.write_bytes(b"half")
    with pytest.raises(StateError, match="the backup is missing or damaged"):
        propose_rollback(FileStore(conf), force=False)


# the journal


def test_the_journal_has_who_when_why_the_change_and_the_digests(conf: Path) -> None:
    install(conf)
    uninstall(conf)
    first, second = journal_of(FileStore(conf)).records
    assert (first.number, first.action, first.phase) == (1, "install", "done")
    assert (first.at, first.who, first.why, first.file) == (
        "2026-11-21T12:00:00+00:00",
        "ann@host",
        "ring 1",
        str(conf),
    )
    assert (first.before, first.after) == (second.after, second.before)
    lines = (journal_of(FileStore(conf)).folder / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["phase"] for line in lines] == ["begun", "done", "begun", "done"]


def test_the_journal_has_no_password_of_an_address_and_uninstall_still_works(conf: Path) -> None:
    conf.write_text("spark.jars https://ann:hunter2@repo/a.jar,s3a://key:hunter2@bucket/b.jar\n")
    before = conf.read_bytes()
    install(conf)
    kept = (journal_of(FileStore(conf)).folder / "journal.jsonl").read_text()
    assert "hunter2" not in kept
    assert "https://(hidden)@repo/a.jar,s3a://(hidden)@bucket/b.jar" in kept
    uninstall(conf)
    assert conf.read_bytes() == before
    # Somebody's edit in between: only our own entries go.
    install(conf)
    conf.write_text(conf.read_text() + "spark.app.name x\n")
    uninstall(conf)
    assert conf.read_text() == before.decode() + "spark.app.name x\n"


def test_only_the_owner_may_read_backups_and_journal(conf: Path) -> None:
    install(conf)
    folder = journal_of(FileStore(conf)).folder
    uninstall(conf)
    modes = [path.stat().st_mode & 0o777 for path in (folder, folder / "journal.jsonl", folder / "backups")]
    assert modes == [0o755, 0o600, 0o700]
    assert all(backup.stat().st_mode & 0o777 == 0o600 for backup in (folder / "backups").iterdir())


def test_an_incomplete_line_of_the_journal_is_skipped(conf: Path) -> None:
    install(conf)
    path = journal_of(FileStore(conf)).folder / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schemaVersion": 1, "num')
    assert journal_of(FileStore(conf)).damaged_lines == (3,)
    assert any("damaged lines left out: 3" in remark for remark in state_of(FileStore(conf)).remarks)
    uninstall(conf)
    assert [record.phase for record in journal_of(FileStore(conf)).records] == ["done", "done"]


def test_a_journal_of_a_newer_version_is_refused(conf: Path) -> None:
    install(conf)
    path = journal_of(FileStore(conf)).folder / "journal.jsonl"
    path.write_text(path.read_text().replace('"schemaVersion": 1', '"schemaVersion": 2'))
    with pytest.raises(StateError, match="schemaVersion 2, and this aqe-plugin reads up to 1: upgrade"):
        propose_uninstall(FileStore(conf), purge=False)


def test_a_line_of_the_plugin_written_by_hand_is_named_with_how_to_keep_it(conf: Path) -> None:
    install(conf)
    by_hand = b"\n# mine\nspark.aqePlugin.filter.maxPassRate  0.5\nspark.password hunter2\n"
    conf.write_bytes(conf.read_bytes() + by_hand)
    number = conf.read_bytes().count(b"\n")
    with pytest.raises(ConflictError) as refused:
        rollback(conf)
    said = str(refused.value)
    assert said.startswith(f"{conf}: changed since install no. 1 by somebody else: ")
    assert f"spark.aqePlugin.filter.maxPassRate (line {number - 1}), spark.password (line {number})" in said
    assert f"then: aqe-plugin rollout --target {conf} --set spark.aqePlugin.filter.maxPassRate=0.5 --yes." in said
    assert "hunter2" not in said


def test_a_file_that_comes_back_has_the_mode_that_it_had(conf: Path) -> None:
    conf.chmod(0o600)
    install(conf)
    conf.unlink()
    rollback(conf, force=True)
    assert (conf.read_bytes(), conf.stat().st_mode & 0o777) == (THEIRS, 0o600)


# a rollout is one change


def takes_step(conf: Path, step: str, values: dict[str, str | None]) -> None:
    done(
        replace(
            propose_tuning(FileStore(conf), {f"spark.aqePlugin.{key}": value for key, value in values.items()}, ""),
            step=step,
        )
    )


CANARY: dict[str, str | None] = {"canary.share": "0.3", "canary.set.filter.buildTimeout": "10"}
NO_CANARY: dict[str, str | None] = dict.fromkeys(CANARY)


def test_a_rollback_of_a_rollout_leaves_no_canary(conf: Path) -> None:
    install(conf)
    before = conf.read_bytes()
    takes_step(conf, "1-canary-100", CANARY)
    takes_step(conf, "1-all-200", {**NO_CANARY, "filter.buildTimeout": "10"})
    rollback(conf)
    assert conf.read_bytes() == before
    rollback(conf)
    assert conf.read_bytes() == THEIRS


def test_no_change_is_gone_back_to_that_has_a_canary_which_is_over(conf: Path) -> None:
    install(conf)
    installed = conf.read_bytes()
    takes_step(conf, "1-canary-100", CANARY)
    install(conf, "observe")
    takes_step(conf, "1-all-200", {**NO_CANARY, "filter.buildTimeout": "10"})
    assert propose_rollback(FileStore(conf), force=False, to=1).after == installed
    for number in (2, 3):
        with pytest.raises(StateError, match=f"change no. {number} has a canary that is over"):
            propose_rollback(FileStore(conf), force=False, to=number)


def test_a_share_that_somebody_edited_and_uninstall_left_is_no_canary(conf: Path) -> None:
    install(conf)
    takes_step(conf, "1-canary-100", CANARY)
    conf.write_bytes(conf.read_bytes().replace(b"canary.share 0.3", b"canary.share 0.2"))
    done(propose_uninstall(FileStore(conf), purge=False))
    assert b"canary.set" not in conf.read_bytes()
    rollback(conf)
    assert b"canary" not in conf.read_bytes()


def test_a_rollout_that_went_back_is_no_change_in_force(conf: Path) -> None:
    install(conf)
    for number in (1, 2):
        takes_step(conf, f"{number}-canary-100", CANARY)
        takes_step(conf, f"{number}-rolled_back-200", NO_CANARY)
    rollback(conf)
    assert conf.read_bytes() == THEIRS


def test_a_rollback_undoes_one_rollout_at_a_time(conf: Path) -> None:
    takes_step(conf, "1-canary-100", CANARY)
    takes_step(conf, "1-all-200", {**NO_CANARY, "filter.buildTimeout": "10"})
    first = conf.read_bytes()
    takes_step(conf, "2-all-300", {"filter.buildTimeout": "20"})
    rollback(conf)
    assert conf.read_bytes() == first
    rollback(conf)
    assert conf.read_bytes() == THEIRS


def test_a_rollback_takes_what_lies_between_the_steps_of_a_rollout_that_went_back_and_never_its_canary(
    conf: Path,
) -> None:
    install(conf)
    installed = conf.read_bytes()
    takes_step(conf, "1-canary-100", CANARY)
    install(conf, "observe")
    takes_step(conf, "1-rolled_back-200", NO_CANARY)
    assert b"canary" not in conf.read_bytes()
    with pytest.raises(StateError, match=r"change no\. 3 has a canary .* in force: 1, 2, 3, 4") as error:
        propose_rollback(FileStore(conf), force=True, to=3)
    assert "--to 1" in str(error.value)
    for force, to in ((False, None), (True, None), (False, 1)):
        assert propose_rollback(FileStore(conf), force=force, to=to).after == installed
    rollback(conf)
    rollback(conf)
    assert conf.read_bytes() == THEIRS


@pytest.mark.parametrize("force", [False, True])
def test_a_rollback_of_a_later_change_leaves_a_rollout_that_went_back_as_it_is(conf: Path, force: bool) -> None:
    install(conf)
    takes_step(conf, "1-canary-100", CANARY)
    install(conf, "observe")
    takes_step(conf, "1-rolled_back-200", NO_CANARY)
    before = conf.read_bytes()
    takes_step(conf, "2-all-300", {"filter.buildTimeout": "20"})
    assert propose_rollback(FileStore(conf), force=force).after == before


def test_a_forced_rollback_over_an_editor_who_ended_a_canary_does_not_bring_it_back(conf: Path) -> None:
    install(conf)
    installed = conf.read_bytes()
    takes_step(conf, "1-canary-100", CANARY)
    install(conf, "observe")
    conf.write_bytes(b"".join(line for line in conf.read_bytes().splitlines(True) if b"canary" not in line))
    assert propose_rollback(FileStore(conf), force=True).after == installed


def test_a_rollout_of_a_new_ledger_is_not_the_one_of_the_same_number_in_an_older(conf: Path) -> None:
    takes_step(conf, "1-canary-100", CANARY)
    takes_step(conf, "1-all-200", {**NO_CANARY, "filter.buildTimeout": "10"})
    install(conf)
    before = conf.read_bytes()
    takes_step(conf, "1-all-300", {"filter.buildTimeout": "20"})
    rollback(conf)
    assert conf.read_bytes() == before
