"""An object that two machines change: each sees what the other did, rolls it back, and steps on nobody's toes."""

from __future__ import annotations

import copy
import stat
import threading
from pathlib import Path

import pytest

from api_server import ApiServer
from aqe_plugin.errors import AqePluginError, ConflictError, WriteError
from aqe_plugin.install.controller import carry_out, propose_rollback, propose_tuning
from aqe_plugin.install.status import status_of
from live_objects import APPLICATION, CONFIGMAP, THEIRS, Machine, ann, bob, here, without_version
from shared_object import ANN, ANNOTATION, BOB, COPY_SHOWN, annotated, conf, setting, shared_lines

__all__ = ["ann", "bob", "here"]


# what one did, the other sees


def test_a_change_made_on_one_machine_is_seen_and_rolled_back_on_another(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    before = copy.deepcopy(api.objects[CONFIGMAP])
    ann.tunes("mode", "off")
    assert bob.history() == [(1, "done", ANN)]
    assert setting(api, "mode") == "off"
    bob.rolls_back()
    assert without_version(api.objects[CONFIGMAP]) == without_version(before)
    assert ann.history() == [(1, "done", ANN), (2, "done", BOB)]
    assert ann.said == bob.said == []


def test_the_machines_take_turns_and_end_with_the_same_records(api: ApiServer, ann: Machine, bob: Machine) -> None:
    for number in range(1, 9):
        (ann, bob)[number % 2].tunes("filter.buildTimeout", str(number))
    for machine in (bob, ann):
        carry_out(propose_rollback(machine.opened(), force=False, to=3), machine.actor)
        assert setting(api, "filter.buildTimeout") == "3"
        machine.tunes("filter.buildTimeout", "10")
    assert ann.history() == bob.history()
    journals = {(machine.folder / "journal.jsonl").read_bytes() for machine in (ann, bob)}
    assert len(journals) == 1
    bob.opened()
    assert {path.name for path in (ann.folder / "backups").iterdir()} == {
        path.name for path in (bob.folder / "backups").iterdir()
    }


def test_a_change_and_its_record_come_in_one_patch(api: ApiServer, ann: Machine) -> None:
    seen = []
    api.before_patch = [
        lambda: seen.append((conf(api) == THEIRS, annotated(api) == {})),
        lambda: seen.append((conf(api) == THEIRS, annotated(api) == {})),
        lambda: seen.append((conf(api) == THEIRS, [line["phase"] for line in shared_lines(api)] == ["begun"])),
    ]
    ann.tunes("mode", "off")
    assert seen == [(True, True), (True, True), (False, True)]
    assert [line["phase"] for line in shared_lines(api)] == ["begun", "done"]


def test_files_that_came_from_the_object_are_their_owners_alone(ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    bob.opened()
    files = [path for path in bob.state.rglob("*") if path.is_file() and path.name != "lock"]
    assert {path.name for path in files} >= {"journal.jsonl"}
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_journal_of_an_older_version_is_its_owners_alone_once_lines_come_from_the_object(
    ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    journal = bob.folder / "journal.jsonl"
    journal.chmod(0o644)
    ann.tunes("mode", "observe")
    assert len(bob.history()) == 2
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


def test_each_key_of_a_configmap_and_an_application_have_records_of_their_own(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    texts = ("kubernetes:cm/conf", "kubernetes:cm/conf?key=other.conf", "kubernetes:sparkapplication/nightly")
    for text in texts:
        carry_out(propose_tuning(ann.opened(text), {"spark.aqePlugin.mode": "off"}, ""), ann.actor)
    assert set(annotated(api)) == {ANNOTATION, "aqeplugin.io/state.other.conf"}
    assert set(annotated(api, APPLICATION)) == {"aqeplugin.io/state"}
    for text in texts:
        assert bob.history(text) == [(1, "done", ANN)]


def test_a_look_writes_nothing_to_the_server(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    api.requests.clear()
    bob.history()
    status_of(bob.opened())
    assert {verb for verb, _, _ in api.requests} == {"GET"}


def test_a_machine_that_cannot_keep_records_can_look(
    api: ApiServer, ann: Machine, here: dict[str, str], tmp_path: Path
) -> None:
    ann.tunes("mode", "off")
    # A folder that cannot be made, also not by root.
    (tmp_path / "bob").symlink_to(tmp_path / "gone" / "away")
    bob = Machine(here, tmp_path / "bob")
    assert status_of(bob.opened()).mode == "off"
    (said,) = bob.said
    assert "the folder of the journal cannot be created" in said
    assert said.endswith(COPY_SHOWN)
    with pytest.raises(WriteError, match="cannot be created"):
        bob.tunes("mode", "observe")


# two at once


def test_of_two_changes_at_once_one_is_made_and_the_other_told_who_made_it(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    # The first patch is the rehearsal.
    api.before_patch = [lambda: None, lambda: bob.tunes("filter.buildTimeout", "7")]
    with pytest.raises(ConflictError) as error:
        ann.tunes("filter.buildTimeout", "9")
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: bob@host-bob, 2026-11-21T12:00:00+00:00 went on with it from another machine "
        "in the meantime; nothing was written. Look (aqe-plugin history) and try again."
    )
    assert setting(api, "filter.buildTimeout") == "7"
    assert bob.history() == [(1, "done", BOB)]
    lost = (ann.state.rglob("journal.jsonl")).__next__().read_text().splitlines()
    assert ann.history() == [(1, "done", BOB)]
    (aside,) = ann.state.rglob("*.apart-*")
    assert aside.read_text().splitlines() == lost
    (said,) = ann.said
    assert said == (
        "kubernetes:spark/configmap/conf: this machine recorded something that the object does not know, and "
        "bob@host-bob, 2026-11-21T12:00:00+00:00 went on elsewhere. What the object knows counts; what this machine "
        f"had is kept in {aside}."
    )
    assert ann.history() == [(1, "done", BOB)]
    assert ann.said == []
    ann.tunes("filter.buildTimeout", "9")
    assert bob.history() == [(1, "done", BOB), (2, "done", ANN)]


def test_the_same_change_from_two_machines_at_once_is_made_once(api: ApiServer, ann: Machine, bob: Machine) -> None:
    api.before_patch = [lambda: None, lambda: bob.tunes("mode", "off")]
    with pytest.raises(ConflictError, match="went on with it from another machine"):
        ann.tunes("mode", "off")
    assert [line["who"] for line in shared_lines(api)] == [BOB, BOB]


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
    done = [line for line in shared_lines(api) if line["phase"] == "done"]
    assert sorted(str(line["who"]) for line in done) == sorted(made)
    # Each began where the one before it ended: nothing was made twice, and nothing lost.
    assert [line["before"] for line in done[1:]] == [line["after"] for line in done[:-1]]
    last = machines[0]
    for _ in done:
        last.rolls_back()
    assert conf(api) == THEIRS


# clocks apart


def test_a_clock_an_hour_behind_keeps_the_order_of_changes(api: ApiServer, ann: Machine, here: dict[str, str]) -> None:
    late = Machine(here, ann.state.parent / "late", hours=-1)
    ann.tunes("mode", "off")
    late.tunes("mode", "observe")
    ann.tunes("mode", "apply")
    assert [number for number, _, _ in late.history()] == [1, 2, 3]
    late.rolls_back()
    assert setting(api, "mode") == "observe"
    late.rolls_back()
    assert setting(api, "mode") == "off"
