"""Install and uninstall of files: what is in them afterwards, and when they are left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import ConflictError, TargetError, WriteError
from aqe_plugin.install.checks import ADAPTIVE_KEY, AS_IF_OFF, NO_ADAPTIVE
from aqe_plugin.install.controller import carry_out, propose_install, propose_uninstall
from aqe_plugin.install.health import session_checks
from aqe_plugin.install.journal import journal_of
from conf_files import ACTOR, JAR, THEIRS, conf, install, rollback, uninstall
from conf_states import state_of

__all__ = ["conf"]


# what ends up in the file


def test_install_appends_to_both_lists_and_touches_no_other_byte(conf: Path) -> None:
    install(conf)
    assert conf.read_bytes() == THEIRS.replace(b"com.acme.Q", b"com.acme.Q,io.aqeplugin.AqePlugin").replace(
        b"/a.jar", b"/a.jar," + JAR.encode() + b"\r\nspark.aqePlugin.mode:observe"
    )


def test_a_proposal_has_old_and_new_values_with_reasons_and_writes_nothing(conf: Path) -> None:
    proposal = propose_install(FileStore(conf), JAR, "apply")
    assert [(change.key, change.old, change.new) for change in proposal.changes] == [
        ("spark.jars", "/a.jar", f"/a.jar,{JAR}"),
        ("spark.plugins", "com.acme.P, com.acme.Q", "com.acme.P, com.acme.Q,io.aqeplugin.AqePlugin"),
        ("spark.aqePlugin.mode", None, "apply"),
    ]
    assert all(change.why for change in proposal.changes)
    assert conf.read_bytes() == THEIRS
    assert [path.name for path in conf.parent.iterdir()] == ["spark-defaults.conf"]


def test_a_second_install_has_nothing_to_do_and_another_mode_changes_one_key(conf: Path) -> None:
    install(conf)
    assert propose_install(FileStore(conf), JAR, None).nothing_to_do
    assert propose_install(FileStore(conf), f"file:{JAR}", "observe").nothing_to_do
    assert [change.key for change in install(conf, "apply").changes] == ["spark.aqePlugin.mode"]
    assert propose_install(FileStore(conf), JAR, None).nothing_to_do


def test_a_newer_jar_of_the_same_line_replaces_the_older_one(conf: Path) -> None:
    install(conf)
    newer = JAR.replace("0.1.0", "0.2.0")
    (change,) = install(conf, jar=newer).changes
    assert (change.old, change.new) == (f"/a.jar,{JAR}", f"/a.jar,{newer}")
    uninstall(conf)
    assert conf.read_bytes() == THEIRS


def test_install_creates_a_missing_file_and_uninstall_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "spark-defaults.conf"
    install(path)
    assert state_of(FileStore(path)).installed
    uninstall(path)
    assert not path.exists()
    rollback(path)
    assert state_of(FileStore(path)).installed
    rollback(path)
    assert not path.exists()


def test_adaptive_execution_that_is_off_is_remarked_on_and_no_key_of_the_plugin(conf: Path) -> None:
    conf.write_text("spark.sql.adaptive.enabled false\n", encoding="utf-8")
    install(conf)
    found = state_of(FileStore(conf))
    assert (found.remarks, ADAPTIVE_KEY in found.failed) == ((f"false: {NO_ADAPTIVE}",), False)


def test_an_adaptive_switch_that_spark_does_not_take_is_a_problem(conf: Path) -> None:
    conf.write_text("spark.sql.adaptive.enabled no\n", encoding="utf-8")
    install(conf)
    found = state_of(FileStore(conf))
    assert (ADAPTIVE_KEY in found.failed, found.remarks) == (True, ())


def test_no_spark_is_started_that_would_hang(conf: Path) -> None:
    conf.write_text("spark.sql.adaptive.enabled no\n", encoding="utf-8")
    install(conf)
    (check,) = session_checks(FileStore(conf), None, {})
    assert (check.name, check.verdict) == ("session", "not run")
    assert ADAPTIVE_KEY in check.found


def test_a_value_that_is_not_allowed_fails_as_switching_the_plugin_off(conf: Path) -> None:
    conf.write_text("spark.aqePlugin.filter.maxPassRate 7\nspark.aqePlugin.filter.maxByte 1\n", encoding="utf-8")
    install(conf)
    fixes = {
        check.name: check.fix
        for check in state_of(FileStore(conf)).checks
        if "aqePlugin" in check.name and not check.ok
    }
    assert fixes == {"spark.aqePlugin.filter.maxPassRate": AS_IF_OFF, "spark.aqePlugin.filter.maxByte": ""}


def test_a_change_keeps_the_files_owner_mode_and_links(conf: Path) -> None:
    conf.chmod(0o640)
    if os.getuid() == 0:
        os.chown(conf, 12345, 54321)
    link = conf.with_name("link.conf")
    link.symlink_to(conf)
    before = conf.stat()
    install(link.resolve())
    after = conf.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert link.is_symlink()
    assert state_of(FileStore(link.resolve())).installed


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [b"spark.plugins a.B", b"spark.jars=/x.jar,\\\n /y.jar", b"# note", b"", b"spark.x  \\", b"k:v "]
        ),
        max_size=6,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.booleans(),
)
def test_uninstall_restores_the_bytes_from_before_the_install(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], line_end: bytes, ended: bool
) -> None:
    path = tmp_path_factory.mktemp("conf") / "spark-defaults.conf"
    content = line_end.join(lines) + (line_end if ended else b"")
    path.write_bytes(content)
    install(path)
    assert propose_install(FileStore(path), JAR, None).nothing_to_do
    # Without the journal, too, the text itself is cut back to what it was; only the mode, a setting, stays.
    journal = path.parent / ".aqe-plugin"
    journal.rename(path.parent / "aside")
    left = propose_uninstall(FileStore(path), purge=True).after
    assert left == content
    (path.parent / "aside").rename(journal)
    uninstall(path)
    assert path.read_bytes() == content
    assert propose_uninstall(FileStore(path), purge=False).nothing_to_do


def test_uninstall_keeps_what_others_changed_since(conf: Path) -> None:
    install(conf)
    changed = conf.read_bytes().replace(b"AqePlugin\r\n", b"AqePlugin,com.acme.R\r\n") + b"\r\nspark.new 1"
    conf.write_bytes(changed)
    uninstall(conf)
    assert conf.read_bytes() == THEIRS.replace(b"com.acme.Q", b"com.acme.Q,com.acme.R") + b"\r\nspark.new 1"


def test_uninstall_keeps_keys_that_others_set_unless_purged(conf: Path) -> None:
    conf.write_bytes(THEIRS + b"\r\nspark.aqePlugin.filter.maxBytes 1m")
    install(conf)
    conf.write_bytes(conf.read_bytes().replace(b"observe", b"apply"))
    kept = propose_uninstall(FileStore(conf), purge=False).after
    assert kept is not None
    assert kept.endswith(b"spark.aqePlugin.filter.maxBytes 1m\r\nspark.aqePlugin.mode apply")
    uninstall(conf, purge=True)
    assert conf.read_bytes() == THEIRS


def test_uninstall_after_an_install_by_hand_removes_only_our_entries(conf: Path) -> None:
    conf.write_text(f"spark.plugins io.aqeplugin.AqePlugin\nspark.jars {JAR},/b.jar\nspark.aqePlugin.mode apply\n")
    uninstall(conf)
    assert conf.read_text() == "spark.jars /b.jar\nspark.aqePlugin.mode apply\n"


# conflicts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "spark.jars /x/aqe-plugin-spark-4.0-0.1.0.jar",
            (
                "spark.jars lists the jar for Spark 4.0 (/x/aqe-plugin-spark-4.0-0.1.0.jar), and the jar to install is "
                "for Spark 4.1. If the cluster's Spark is now 4.1, run `aqe-plugin uninstall` first; if it is 4.0, "
                "give --spark 4.0."
            ),
        ),
        (
            f"spark.jars {JAR},/x/aqe-plugin-spark-4.1-0.0.9.jar",
            (
                f"spark.jars lists 2 jars of aqe-plugin ({JAR}, /x/aqe-plugin-spark-4.1-0.0.9.jar). "
                "Keep the one that fits the cluster's Spark, or none, and try again."
            ),
        ),
        (
            "spark.plugins io.aqeplugin.AqePlugin,x,io.aqeplugin.AqePlugin",
            (
                "spark.plugins names io.aqeplugin.AqePlugin 2 times, and Spark would load it as often. "
                "Keep one of them and try again."
            ),
        ),
        (
            "spark.plugins.defaultList io.aqeplugin.AqePlugin",
            (
                "spark.plugins.defaultList names io.aqeplugin.AqePlugin already, and with spark.plugins Spark would "
                "load it twice. Remove it there, or leave the conf as it is."
            ),
        ),
        (
            "spark.aqePlugin.mode aply",
            (
                "spark.aqePlugin.mode is 'aply', not allowed: expected one of off, observe, apply. "
                "Correct or remove it and try again."
            ),
        ),
    ],
)
def test_install_refuses_a_conflict_with_a_fix(conf: Path, text: str, message: str) -> None:
    conf.write_text(text + "\n")
    with pytest.raises(ConflictError) as error:
        propose_install(FileStore(conf), JAR, "apply")
    assert str(error.value) == f"{conf}: {message}"
    assert conf.read_text() == text + "\n"


def test_a_manifest_for_another_spark_line_than_the_jar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(
        'apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nspec:\n  sparkVersion: "4.0.1"\n'
    )
    with pytest.raises(ConflictError, match=r"is for Spark 4\.0\.1, and the jar local:.* is for Spark 4\.1\. Give"):
        propose_install(FileStore(path), f"local://{JAR}", None)


# files that cannot be used


def as_nobody(work: Callable[[], object]) -> str:
    """The text or the error of ``work`` when a user without rights does it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(write, str(work() or "").encode())
        except (TargetError, WriteError) as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as answer:
        return answer.read()


@pytest.mark.process
def test_a_file_without_permissions_gives_an_error(conf: Path) -> None:
    folder = conf.parent
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    folder.chmod(0o555)
    try:
        proposal = propose_install(FileStore(conf), JAR, None)
        assert as_nobody(lambda: carry_out(proposal, ACTOR)).startswith(f"WriteError: {folder}/.aqe-plugin: ")
        conf.chmod(0)
        assert as_nobody(lambda: propose_install(FileStore(conf), JAR, None)).startswith(f"TargetError: {conf}: ")
    finally:
        folder.chmod(0o755)


@pytest.mark.process
def test_another_user_sees_the_status_and_that_the_journal_is_not_theirs(conf: Path) -> None:
    install(conf)
    for parent in (conf.parent, *conf.parent.parents[:2]):
        parent.chmod(0o755)
    journal = journal_of(FileStore(conf)).folder / "journal.jsonl"
    assert as_nobody(lambda: " ".join(state_of(FileStore(conf)).remarks)) == (
        f"{journal}: cannot be read (Permission denied). Run as a user who may read it. So whether a change was "
        "interrupted is not known."
    )


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as error:
        propose_install(FileStore(tmp_path), JAR, None)
    assert f"{tmp_path}/spark-defaults.conf" in str(error.value)


def test_a_device_is_neither_read_nor_replaced() -> None:
    with pytest.raises(TargetError, match="/dev/full: a device, a pipe or a socket"):
        propose_install(FileStore(Path("/dev/full")), JAR, None)


def test_reading_a_pipe_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "spark-defaults.conf"
    os.mkfifo(pipe)
    with pytest.raises(TargetError, match="a device, a pipe or a socket"):
        propose_install(FileStore(pipe), JAR, None)


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "no" / "spark-defaults.conf"
    with pytest.raises(TargetError, match="/no: no such folder"):
        install(path)
    assert not path.parent.exists()
