"""An object that two machines change: each takes back what it did, is told of the other, and steps on nobody's toes."""

from __future__ import annotations

import copy
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from api_server import ApiServer
from aqe_plugin.conf.syntax.properties import parse_properties
from aqe_plugin.errors import AqePluginError, ConflictError, StateError, TargetError
from aqe_plugin.install.controller import (
    carry_out,
    changed_elsewhere,
    propose_install,
    propose_rollback,
    propose_tuning,
    propose_uninstall,
)
from aqe_plugin.install.journal import journal_of
from commands import Answer
from conf_states import state_of
from live_objects import APPLICATION, CONFIGMAP, JAR, THEIRS, Machine, ann, bob, here, without_version

__all__ = ["ann", "bob", "here"]

ANN, BOB = "ann@host-ann", "bob@host-bob"


def conf(api: ApiServer) -> str:
    return str(api.objects[CONFIGMAP]["data"]["spark-defaults.conf"])


def setting(api: ApiServer, key: str) -> str | None:
    return parse_properties(conf(api).encode(), "conf").get(f"spark.aqePlugin.{key}")


# each has its own journal


def test_nothing_but_the_conf_is_written_to_the_object(api: ApiServer, ann: Machine) -> None:
    before = copy.deepcopy(api.objects[CONFIGMAP])
    ann.tunes("mode", "off")
    after = without_version(api.objects[CONFIGMAP])
    assert after["data"].pop("spark-defaults.conf") == THEIRS + "spark.aqePlugin.mode = off\r\n"
    del before["data"]["spark-defaults.conf"]
    assert after == without_version(before)


def test_no_text_of_an_object_is_kept_on_the_machine(ann: Machine) -> None:
    ann.tunes("mode", "off")
    ann.rolls_back()
    files = [path for path in ann.state.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"journal.jsonl", "lock"}
    assert not any("pa$$" in path.read_text() for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_machine_without_the_journal_says_who_changed_the_object_and_where_the_way_back_is(
    ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    assert changed_elsewhere(ann.opened()) == ""
    assert changed_elsewhere(bob.opened()) == (
        "kubernetes:spark/configmap/conf: changed by ann@host-ann at 2026-11-21T12:00:00+00:00. Journal and rollouts "
        f"of that are not in {bob.folder}: roll it back, and go on with its rollout, on that machine."
    )
    with pytest.raises(StateError) as error:
        bob.rolls_back()
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: there is nothing to roll back; no change of aqe-plugin made on this machine "
        f"(journal: {bob.folder}) is in force."
    )


def test_a_machine_with_a_long_name_knows_its_own_changes(api: ApiServer, ann: Machine) -> None:
    ann.actor = replace(ann.actor, who=f"ann@{'host.' * 40}")
    ann.tunes("mode", "off")
    (noted,) = api.objects[CONFIGMAP]["metadata"]["managedFields"]
    assert len(noted["manager"]) == 128
    assert changed_elsewhere(ann.opened()) == ""


def test_every_command_that_names_the_object_tells_of_the_other_machine(
    here: dict[str, str], ann: Machine, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.tunes("mode", "off")
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    for command in ("check", "history", "uninstall"):
        assert (
            "changed by ann@host-ann at 2026-11-21T12:00:00+00:00."
            in answer(command, "--target", "kubernetes:cm/conf")[2]
        )


def test_a_change_taken_back_leaves_what_the_other_machine_set(api: ApiServer, ann: Machine, bob: Machine) -> None:
    carry_out(propose_install(ann.opened(), JAR, "apply"), ann.actor)
    bob.tunes("filter.buildTimeout", "7")
    ann.rolls_back()
    assert conf(api) == THEIRS + "spark.aqePlugin.filter.buildTimeout = 7\r\n"
    bob.rolls_back()
    assert conf(api) == THEIRS
    assert changed_elsewhere(ann.opened()).startswith("kubernetes:spark/configmap/conf: changed by bob@host-bob at ")


def test_lists_lose_our_entries_and_keep_those_that_came_since(api: ApiServer, ann: Machine) -> None:
    carry_out(propose_install(ann.opened(), JAR, "apply"), ann.actor)
    theirs = conf(api).replace("com.acme.P,", "com.acme.P,com.acme.Q,").replace(JAR, f"{JAR},s3a://u:pa$$@b/c.jar")
    api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})
    ann.rolls_back()
    items = parse_properties(conf(api).encode(), "conf").items()
    assert items == {
        "spark.plugins": "com.acme.P,com.acme.Q",
        "spark.jars": "s3a://u:pa$$@b/c.jar",
        "spark.secret": "pa$$é",
    }


def test_an_uninstall_is_taken_back_with_entries_that_came_since(api: ApiServer, ann: Machine) -> None:
    carry_out(propose_install(ann.opened(), JAR, "apply"), ann.actor)
    carry_out(propose_uninstall(ann.opened(), purge=False), ann.actor)
    assert conf(api) == THEIRS
    api.put(CONFIGMAP, data={"spark-defaults.conf": THEIRS.replace("com.acme.P", "com.acme.P,com.acme.Q")})
    ann.rolls_back()
    assert state_of(ann.opened()).installed
    assert "com.acme.P,com.acme.Q,io.aqeplugin.AqePlugin" in conf(api)


def test_a_key_that_the_other_machine_set_since_is_not_taken_back(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("filter.buildTimeout", "9")
    ann.tunes("mode", "off")
    bob.tunes("filter.buildTimeout", "7")
    with pytest.raises(ConflictError) as error:
        carry_out(propose_rollback(ann.opened(), force=False, to=0), ann.actor)
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: spark.aqePlugin.filter.buildTimeout: changed since by somebody else by "
        "bob@host-bob at 2026-11-21T12:00:00+00:00, so this machine cannot take back its own value. Roll back there, "
        "or set the old value (aqe-plugin history) by hand. --force leaves these keys as they are, and takes back the "
        "others."
    )
    carry_out(propose_rollback(ann.opened(), force=True, to=0), ann.actor)
    assert (setting(api, "filter.buildTimeout"), setting(api, "mode")) == ("7", None)


def test_of_an_application_the_server_notes_who_set_each_key(api: ApiServer, ann: Machine, bob: Machine) -> None:
    text = "kubernetes:sparkapplication/nightly"
    before = without_version(api.objects[APPLICATION])
    for machine, key in ((ann, "filter.buildTimeout"), (bob, "mode")):
        value = {"mode": "off"}.get(key, "7")
        carry_out(propose_tuning(machine.opened(text), {f"spark.aqePlugin.{key}": value}, ""), machine.actor)
    assert "by bob@host-bob" in changed_elsewhere(ann.opened(text))
    assert "by ann@host-ann" in changed_elsewhere(bob.opened(text))
    for machine in (ann, bob):
        carry_out(propose_rollback(machine.opened(text), force=False), machine.actor)
    assert without_version(api.objects[APPLICATION]) == before
    assert changed_elsewhere(ann.opened(text)) == changed_elsewhere(bob.opened(text)) == ""


def test_each_key_of_a_configmap_and_an_application_have_records_of_their_own(ann: Machine) -> None:
    texts = ("kubernetes:cm/conf", "kubernetes:cm/conf?key=other.conf", "kubernetes:sparkapplication/nightly")
    for text in texts:
        carry_out(propose_tuning(ann.opened(text), {"spark.aqePlugin.mode": "off"}, ""), ann.actor)
    for text in texts:
        assert ann.history(text) == [(1, "done", ANN)]


def test_a_machine_that_cannot_keep_records_can_look(ann: Machine, here: dict[str, str], tmp_path: Path) -> None:
    ann.tunes("mode", "off")
    # A folder that cannot be made, also not by root.
    (tmp_path / "bob").symlink_to(tmp_path / "gone" / "away")
    bob = Machine(here, tmp_path / "bob")
    assert state_of(bob.opened()).mode == "off: left over, no effect"
    with pytest.raises(AqePluginError, match="cannot be created"):
        bob.tunes("mode", "observe")


# two at once


def test_of_two_changes_at_once_one_is_made_and_the_other_refused(api: ApiServer, ann: Machine, bob: Machine) -> None:
    # The first patch is the rehearsal.
    api.before_patch = [lambda: None, lambda: bob.tunes("filter.buildTimeout", "7")]
    with pytest.raises(ConflictError) as error:
        ann.tunes("filter.buildTimeout", "9")
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: somebody else changed it in the meantime "
        "(spark.aqePlugin.filter.buildTimeout); nothing was written. Look at it and try again."
    )
    assert setting(api, "filter.buildTimeout") == "7"
    assert (ann.history(), bob.history()) == ([(1, "abandoned", ANN)], [(1, "done", BOB)])


def test_the_same_change_from_two_machines_at_once_is_made_once_and_taken_back_once(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    api.before_patch = [lambda: None, lambda: bob.tunes("mode", "off")]
    ann.tunes("mode", "off")
    assert conf(api) == THEIRS + "spark.aqePlugin.mode = off\r\n"
    bob.rolls_back()
    assert conf(api) == THEIRS
    assert propose_rollback(ann.opened(), force=False).nothing_to_do


def test_many_changes_at_the_same_time_are_each_made_or_refused(
    api: ApiServer, here: dict[str, str], tmp_path: Path
) -> None:
    machines = [Machine(here, tmp_path / name) for name in ("ann", "bob", "cem")]
    rounds, made, refused = 6, list[str](), list[AqePluginError]()
    barrier = threading.Barrier(len(machines), timeout=60)

    def work(machine: Machine) -> None:
        for number in range(rounds):
            barrier.wait()
            try:
                machine.tunes("filter.buildTimeout", str(1 + number * len(machines) + machines.index(machine)))
                made.append(machine.actor.who)
            except ConflictError as error:
                refused.append(error)

    # A thread that fails breaks the barrier for the others, after its timeout.
    threads = [threading.Thread(target=work, args=(machine,), daemon=True) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert len(made) + len(refused) == rounds * len(machines)
    assert len(made) >= rounds
    done = [one for machine in machines for one in journal_of(machine.opened()).records if one.phase == "done"]
    assert sorted(one.who for one in done) == sorted(made)
    # Each began where another one ended: nothing was made twice, and nothing lost.
    assert len({one.after for one in done}) == len(done)
    assert {one.before for one in done} - {one.after for one in done} == {
        one.before for one in done if one.changes[0].old is None
    }


# an object that is gone


def test_a_deleted_object_is_an_error_and_its_records_stay(api: ApiServer, ann: Machine) -> None:
    ann.tunes("mode", "off")
    folder, proposal = ann.folder, propose_rollback(ann.opened(), force=False)
    journal = (folder / "journal.jsonl").read_bytes()
    gone = api.objects.pop(CONFIGMAP)
    for look in (lambda: carry_out(proposal, ann.actor), ann.history):
        with pytest.raises(TargetError, match=r"kubernetes:spark/configmap/conf: not found on .* \(404\)"):
            look()
    assert (folder / "journal.jsonl").read_bytes() == journal
    # Made anew from a repository, with the conf.
    api.put(CONFIGMAP, data=gone["data"])
    ann.rolls_back()
    assert conf(api) == THEIRS


def test_a_deleted_object_during_a_change_is_an_error_and_the_change_is_not_made_later(
    api: ApiServer, ann: Machine
) -> None:
    gone = copy.deepcopy(api.objects[CONFIGMAP])
    api.before_patch = [lambda: None, lambda: api.objects.pop(CONFIGMAP)]
    with pytest.raises(TargetError, match="not found"):
        ann.tunes("mode", "off")
    api.put(CONFIGMAP, data=gone["data"])
    (said,) = ann.tunes("mode", "observe")
    assert said.endswith("was interrupted and had changed nothing")
    assert setting(api, "mode") == "observe"


# what the journal does not know, and what others did between our changes


def jars(api: ApiServer) -> str | None:
    return parse_properties(conf(api).encode(), "conf").get("spark.jars")


def installs(machine: Machine, jar: str) -> None:
    carry_out(propose_install(machine.opened(), jar, None), machine.actor)


OLD_JAR, NEW_JAR, NEWEST_JAR = (f"local:///opt/aqe-plugin-spark-4.1-0.{minor}.0.jar" for minor in (1, 2, 3))
SECRET_JAR, SIGNED_JAR = (
    f"https://{address}/aqe-plugin-spark-4.1-0.1.0.jar" for address in ("u:tok@art", "art/get?sig=tok&file=")
)


@pytest.mark.parametrize("jar", [SECRET_JAR, SIGNED_JAR])
def test_a_jar_with_credentials_goes_when_its_install_is_taken_back(api: ApiServer, ann: Machine, jar: str) -> None:
    installs(ann, jar)
    ann.rolls_back()
    assert conf(api) == THEIRS
    installs(ann, jar)
    installs(ann, NEW_JAR)
    carry_out(propose_rollback(ann.opened(), force=False, to=0), ann.actor)
    assert conf(api) == THEIRS


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("jar", [SECRET_JAR, SIGNED_JAR])
@pytest.mark.parametrize("change", ["upgrade", "other credentials", "uninstall"])
def test_a_rollback_that_needs_credentials_writes_nothing_and_says_what_to_set_by_hand(
    api: ApiServer, ann: Machine, change: str, jar: str, force: bool
) -> None:
    installs(ann, jar)
    theirs = conf(api)
    if change == "uninstall":
        carry_out(propose_uninstall(ann.opened(), purge=False), ann.actor)
    else:
        installs(ann, NEW_JAR if change == "upgrade" else jar.replace("tok", "new"))
    before = conf(api)
    assert before != theirs
    with pytest.raises(ConflictError) as error:
        propose_rollback(ann.opened(), force=force)
    assert str(error.value) == (
        f"kubernetes:spark/configmap/conf: the journal ({ann.folder}) has no credentials, so the old value of "
        "spark.jars cannot be written. Set spark.jars by hand as it was (aqe-plugin history), with the credentials, "
        "and try again."
    )
    assert conf(api) == before
    if change != "other credentials":
        # As the message says.
        jarless = "".join(line for line in before.splitlines(True) if "spark.jars" not in line)
        api.put(CONFIGMAP, data={"spark-defaults.conf": f"{jarless}spark.jars {jar}\n"})
        ann.rolls_back()
        assert jars(api) == jar
        assert state_of(ann.opened()).installed


def test_an_uninstall_does_not_bring_back_a_jar_of_ours_without_its_credentials(api: ApiServer, ann: Machine) -> None:
    api.put(CONFIGMAP, data={"spark-defaults.conf": f"spark.jars {SECRET_JAR}\n"})
    installs(ann, NEW_JAR)
    carry_out(propose_uninstall(ann.opened(), purge=False), ann.actor)
    assert jars(api) is None


def test_a_replaced_entry_comes_back_in_its_place_beside_credentials_that_stay(api: ApiServer, ann: Machine) -> None:
    listed = "s3a://u:pa$$@b/a.jar, {}, s3a://u:pa$$@b/b.jar"
    api.put(CONFIGMAP, data={"spark-defaults.conf": f"spark.jars {listed.format(OLD_JAR)}\n"})
    installs(ann, NEW_JAR)
    ann.rolls_back()
    assert (jars(api) or "").replace(", ", ",") == listed.format(OLD_JAR).replace(", ", ",")


@pytest.mark.parametrize("to", [None, 0])
def test_no_rollback_gives_a_conf_two_jars_of_ours(api: ApiServer, ann: Machine, bob: Machine, to: int | None) -> None:
    installs(ann, OLD_JAR)
    installs(ann, NEW_JAR)
    installs(bob, NEWEST_JAR)
    with pytest.raises(ConflictError, match=r"spark\.jars: changed since by somebody else by bob@host-bob"):
        propose_rollback(ann.opened(), force=False, to=to)
    carry_out(propose_rollback(ann.opened(), force=True, to=to), ann.actor)
    assert jars(api) == NEWEST_JAR


def test_the_first_install_is_not_taken_back_over_another_machines_jar(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    installs(ann, OLD_JAR)
    installs(bob, NEW_JAR)
    with pytest.raises(ConflictError, match=r"spark\.jars: changed since"):
        ann.rolls_back()
    bob.rolls_back()
    ann.rolls_back()
    assert conf(api) == THEIRS


def test_a_value_that_another_machine_set_between_our_changes_is_not_dropped(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    ann.tunes("filter.buildTimeout", "5")
    bob.tunes("filter.buildTimeout", "7")
    ann.tunes("filter.buildTimeout", "9")
    with pytest.raises(ConflictError, match=r"filter\.buildTimeout: changed since by somebody else"):
        propose_rollback(ann.opened(), force=False, to=0)
    carry_out(propose_rollback(ann.opened(), force=True, to=0), ann.actor)
    assert (setting(api, "filter.buildTimeout"), setting(api, "mode")) == ("7", None)


def test_an_entry_that_another_machine_added_between_our_changes_stays(api: ApiServer, ann: Machine) -> None:
    installs(ann, OLD_JAR)
    api.put(CONFIGMAP, data={"spark-defaults.conf": conf(api).replace(OLD_JAR, f"{OLD_JAR},local:///x.jar")})
    installs(ann, NEW_JAR)
    carry_out(propose_rollback(ann.opened(), force=False, to=0), ann.actor)
    assert jars(api) == "local:///x.jar"


def test_a_rollback_over_a_canary_looks_for_edits_in_all_that_it_undoes(api: ApiServer, ann: Machine) -> None:
    ann.tunes("mode", "off")
    canary = {"spark.aqePlugin.canary.share": "0.3", "spark.aqePlugin.canary.set.filter.buildTimeout": "10"}
    carry_out(propose_tuning(ann.opened(), canary, ""), ann.actor)
    ann.tunes("filter.maxBytes", "32m")
    carry_out(propose_uninstall(ann.opened(), purge=True), ann.actor)
    api.put(CONFIGMAP, data={"spark-defaults.conf": f"{THEIRS}spark.aqePlugin.filter.maxBytes 32m\n"})
    with pytest.raises(ConflictError, match=r"filter\.maxBytes: changed since by somebody else, so"):
        ann.rolls_back()
    assert setting(api, "filter.maxBytes") == "32m"


# who changed it, and whether that can be known


def test_history_on_a_second_machine_does_not_deny_the_change_that_it_has_just_told_of(
    ann: Machine, bob: Machine, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.tunes("mode", "off")
    for name, value in bob.here.items():
        monkeypatch.setenv(name, value)
    told, said = answer("history", "--target", "kubernetes:cm/conf")[2].splitlines()
    assert "changed by ann@host-ann" in told
    assert said == (
        f"kubernetes:spark/configmap/conf: no change is recorded on this machine (journal: {bob.folder}/journal.jsonl)."
    )


def test_an_edit_by_hand_is_not_said_to_be_taken_back_elsewhere(api: ApiServer, ann: Machine) -> None:
    ann.tunes("filter.buildTimeout", "9")
    api.put(CONFIGMAP, data={"spark-defaults.conf": f"{THEIRS}spark.aqePlugin.filter.buildTimeout 7\n"})
    with pytest.raises(ConflictError, match=r"its own value\. Set the old value"):
        ann.rolls_back()


def test_another_machine_whose_name_is_the_beginning_of_ours_is_told_of(ann: Machine, bob: Machine) -> None:
    ann.actor, bob.actor = replace(ann.actor, who="ops@host10"), replace(bob.actor, who="ops@host1")
    ann.tunes("mode", "off")
    bob.tunes("mode", "observe")
    assert "changed by ops@host1 at " in changed_elsewhere(ann.opened())


def test_a_long_name_is_cut_by_bytes_as_the_server_counts(api: ApiServer, ann: Machine) -> None:
    ann.actor = replace(ann.actor, who=f"ann@{'höst.' * 40}")
    ann.tunes("mode", "off")
    (noted,) = api.objects[CONFIGMAP]["metadata"]["managedFields"]
    assert 126 < len(noted["manager"].encode()) <= 128
    assert changed_elsewhere(ann.opened()) == ""


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_text(path.read_text().replace('"schemaVersion": 1', '"schemaVersion": 2')), "upgrade"),
        (lambda path: (path.unlink(), path.mkdir()), "a folder, not a file"),
    ],
)
def test_commands_that_look_work_where_the_journal_cannot_be_read(
    here: dict[str, str],
    ann: Machine,
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], object],
    said: str,
) -> None:
    ann.tunes("mode", "off")
    damage(ann.folder / "journal.jsonl")
    told = changed_elsewhere(ann.opened())
    assert told.startswith(
        "kubernetes:spark/configmap/conf: changed by ann@host-ann at 2026-11-21T12:00:00+00:00. Whether on "
        "this machine is not known: "
    )
    assert said in told
    for name, value in ann.here.items():
        monkeypatch.setenv(name, value)
    code, out, err = answer("check", "--target", "kubernetes:cm/conf")
    assert (code, "not known" in out) == (
        answer("check", "--target", "kubernetes:cm/conf?key=log4j2.properties")[0],
        True,
    )
    assert told.rstrip(".") in err
