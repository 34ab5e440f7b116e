"""Records that an object has lost, or holds edited, copied or cut short: no change is made on top of them unawares."""

from __future__ import annotations

import base64
import copy
import json
import random
import zlib
from collections.abc import Callable

import pytest

from api_server import ApiServer
from aqe_plugin.conf.stores.shared_state import MOST_BYTES
from aqe_plugin.errors import AqePluginError, ConflictError, StateError, TargetError, WriteError
from aqe_plugin.install.controller import carry_out, propose_rollback, propose_tuning, propose_uninstall
from aqe_plugin.install.journal import journal_of
from live_objects import CONFIGMAP, THEIRS, Machine, ann, bob, here, patches
from shared_object import ANN, ANNOTATION, BOB, COPY_SHOWN, annotated, cem, conf, setting, shared_lines

__all__ = ["ann", "bob", "here"]


def packed_value(value: object) -> str:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


# an annotation that is gone, edited, copied, or full


def test_without_the_annotation_this_machines_copy_counts_and_goes_out_again(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    api.annotate(CONFIGMAP, {})
    assert (ann.history(), bob.history()) == ([(1, "done", ANN)], [])
    assert patches(api).count(False) == 2
    ann.tunes("mode", "observe")
    assert bob.history() == [(1, "done", ANN), (2, "done", ANN)]


def test_an_annotation_that_is_set_back_to_an_earlier_one_loses_nothing(api: ApiServer, ann: Machine) -> None:
    ann.tunes("mode", "off")
    earlier = dict(annotated(api))
    ann.tunes("mode", "observe")
    api.annotate(CONFIGMAP, earlier)
    assert len(ann.history()) == 2
    ann.rolls_back()
    assert len(shared_lines(api)) == 6


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("what?", "it is not base64"),
        ("", "it was cut off, or is too large"),
        ("bm8gemxpYg==", "it is not what zlib compressed"),
        (packed_value({"format": 1, "target": "x", "logs": {}}), "it lacks a part"),
    ],
)
def test_an_edited_annotation_lets_nobody_change_until_it_is_removed(
    api: ApiServer, ann: Machine, bob: Machine, text: str, why: str
) -> None:
    ann.tunes("mode", "off")
    api.annotate(CONFIGMAP, {ANNOTATION: text, "theirs": "1"})
    before = copy.deepcopy(api.objects[CONFIGMAP])
    words = (
        f"kubernetes:spark/configmap/conf, annotation {ANNOTATION}: somebody edited it: {why}. It holds journal and "
        f"rollouts for all machines. Restore it, or remove it: kubectl annotate -n spark configmaps/conf {ANNOTATION}-."
        " Then the copy of the machine that changes the conf next counts for all, so change it next from the machine "
        "that changed it last."
    )
    assert ann.history() == [(1, "done", ANN)]
    assert ann.said == [f"{words} {COPY_SHOWN}"]
    for machine in (ann, bob):
        with pytest.raises(StateError) as error:
            machine.tunes("mode", "observe")
        assert str(error.value) == words
    assert api.objects[CONFIGMAP] == before
    assert ann.history() == [(1, "done", ANN)]
    api.annotate(CONFIGMAP, {"theirs": "1"})
    ann.rolls_back()
    assert conf(api) == THEIRS
    assert annotated(api)["theirs"] == "1"
    assert bob.history() == [(1, "done", ANN), (2, "done", ANN)]


def test_an_annotation_edited_during_a_change_stops_the_change(api: ApiServer, ann: Machine) -> None:
    api.before_patch = [lambda: api.annotate(CONFIGMAP, {ANNOTATION: "?"})]
    with pytest.raises(StateError, match="somebody edited it: it is not base64"):
        ann.tunes("mode", "off")
    assert conf(api) == THEIRS
    assert ann.history() == [(1, "abandoned", ANN)]


def test_an_annotation_of_a_newer_version_asks_for_an_upgrade(api: ApiServer, ann: Machine) -> None:
    api.annotate(CONFIGMAP, {ANNOTATION: packed_value({"format": 2, "anything": []})})
    words = f"annotation {ANNOTATION}: it has format 2, and this aqe-plugin reads up to 1: upgrade aqe-plugin."
    assert ann.history() == []
    assert words in ann.said[0]
    with pytest.raises(StateError, match="upgrade aqe-plugin"):
        ann.tunes("mode", "off")
    assert conf(api) == THEIRS


def test_the_annotation_of_a_copied_object_does_not_count(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    copied = "/api/v1/namespaces/spark/configmaps/copied"
    api.put(copied, data=api.objects[CONFIGMAP]["data"])
    api.annotate(copied, annotated(api))
    assert bob.history("kubernetes:cm/copied") == []
    (said,) = bob.said
    assert said == (
        f"kubernetes:spark/configmap/copied: its annotation {ANNOTATION} is about another object, from which this one "
        "was copied, so it does not count. The next change replaces it."
    )
    carry_out(propose_tuning(bob.opened("kubernetes:cm/copied"), {"spark.aqePlugin.mode": "observe"}, ""), bob.actor)
    assert ann.history("kubernetes:cm/copied") == [(1, "done", BOB)]
    assert ann.said == []
    assert ann.history() == [(1, "done", ANN)]


def test_the_annotation_of_another_clusters_object_of_the_same_name_does_not_count(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    assert bob.history() == [(1, "done", ANN)]
    staging = copy.deepcopy(api.objects.pop(CONFIGMAP))
    api.restore(CONFIGMAP, {**staging, "data": {"spark-defaults.conf": "spark.master production\n"}})
    other = cem(ann)
    assert other.history() == []
    (said,) = other.said
    assert "is about another object, from which this one was copied, so it does not count" in said


@pytest.mark.parametrize(
    "undone", [False, True], ids=["as its last change left it", "as before a change without effect"]
)
def test_the_annotation_of_an_object_that_came_back_from_a_backup_counts(
    api: ApiServer, ann: Machine, bob: Machine, undone: bool
) -> None:
    ann.tunes("filter.buildTimeout", "10")
    if undone:
        api.before_patch = [lambda: None, lambda: api.put(CONFIGMAP, immutable=True)]
        with pytest.raises(AqePluginError):
            ann.tunes("filter.buildTimeout", "20")
        del api.objects[CONFIGMAP]["immutable"]
        ann.opened().share_state()
        assert [line["phase"] for line in shared_lines(api)][-1] == "abandoned"
    api.restore(CONFIGMAP, copy.deepcopy(api.objects.pop(CONFIGMAP)))
    ended = ann.history()
    assert (bob.history(), bob.said) == (ended, [])
    bob.rolls_back()
    assert conf(api) == THEIRS
    # From then on it is the object's own, whoever edits the conf.
    api.put(CONFIGMAP, data={"spark-defaults.conf": "spark.master yarn\n"})
    assert cem(ann).history() == bob.history() == ann.history()
    assert len(ann.history()) == len(ended) + 1


def test_the_next_command_that_shares_records_makes_the_annotation_of_a_restored_object_its_own(
    api: ApiServer, ann: Machine
) -> None:
    ann.tunes("mode", "off")
    api.restore(CONFIGMAP, copy.deepcopy(api.objects.pop(CONFIGMAP)))
    ann.opened().share_state()
    api.put(CONFIGMAP, data={"spark-defaults.conf": "spark.master yarn\n"})
    assert cem(ann).history() == [(1, "done", ANN)]


def test_where_there_is_no_room_the_oldest_backups_stay_where_they_were_made(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    noise = random.Random(1)
    for number in range(1, 9):
        # Bytes that do not compress, as of a conf with keys and certificates.
        theirs = f"# {noise.randbytes(15_000).hex()}\n"
        api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})
        ann.tunes("filter.buildTimeout", str(number))
    assert len(annotated(api)[ANNOTATION]) <= MOST_BYTES
    last = conf(api)
    bob.tunes("mode", "off")
    bob.rolls_back()
    assert conf(api) == last
    bob.rolls_back()
    with pytest.raises(ConflictError, match=r"changed since tune no\. 7"):
        bob.rolls_back()
    with pytest.raises(StateError) as error:
        carry_out(propose_rollback(bob.opened(), force=True, to=0), bob.actor)
    first = journal_of(bob.opened()).records[0].before
    assert str(error.value) == (
        f"{bob.folder}/backups/{first}: the backup is missing or damaged. ann@host-ann made it, with tune no. 1: roll "
        "back on that machine, or copy the file from there, or restore the conf by other means."
    )
    carry_out(propose_rollback(ann.opened(), force=True, to=0), ann.actor)
    assert journal_of(bob.opened()).records[-1].who == ANN


def test_where_not_even_the_lines_have_room_nothing_is_changed(api: ApiServer, ann: Machine) -> None:
    api.annotate(CONFIGMAP, {"kubectl.kubernetes.io/last-applied-configuration": "x" * ((256 << 10) - 500)})
    with pytest.raises(WriteError) as error:
        ann.tunes("mode", "off")
    assert "its journal and rollouts no longer fit into the annotation" in str(error.value)
    assert str(error.value).endswith(
        f"begin new ones: move {ann.folder} away, on every machine that has a copy, and remove that of the object: "
        f"kubectl annotate -n spark configmaps/conf {ANNOTATION}-."
    )
    assert (conf(api), ann.history()) == (THEIRS, [(1, "abandoned", ANN)])


@pytest.mark.parametrize(
    "back", [Machine.rolls_back, lambda ann: carry_out(propose_uninstall(ann.opened(), False), ann.actor)]
)
def test_where_the_records_have_no_room_a_change_still_goes_back(
    api: ApiServer, ann: Machine, bob: Machine, back: Callable[[Machine], object]
) -> None:
    ann.tunes("mode", "off")
    api.annotate(CONFIGMAP, {"theirs": "x" * ((256 << 10) - 500)})
    with pytest.raises(WriteError):
        ann.tunes("filter.buildTimeout", "10")
    back(ann)
    assert conf(api) == THEIRS
    (said,) = ann.said
    assert said.startswith(
        "kubernetes:spark/configmap/conf: the change is made, but what is recorded about it is on this machine alone, "
        "until its next change: kubernetes:spark/configmap/conf: its journal and rollouts no longer fit"
    )
    assert [phase for _, phase, _ in ann.history()] == ["done", "abandoned", "done"]
    api.annotate(CONFIGMAP, {})
    ann.tunes("mode", "observe")
    assert bob.history() == ann.history()


def test_where_the_annotation_was_edited_a_change_still_goes_back(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    api.annotate(CONFIGMAP, {ANNOTATION: "edited"})
    with pytest.raises(StateError, match="nothing to roll back"):
        bob.rolls_back()
    ann.rolls_back()
    assert conf(api) == THEIRS
    assert annotated(api) == {ANNOTATION: "edited"}
    assert any("Until then this machine's copy counts" in line for line in ann.said)
    api.annotate(CONFIGMAP, {})
    ann.tunes("mode", "observe")
    assert bob.history() == [(1, "done", ANN), (2, "done", ANN), (3, "done", ANN)]


def test_a_new_journal_begins_when_no_machine_and_no_object_has_the_old_one(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    ann.tunes("mode", "off")
    bob.opened()
    api.annotate(CONFIGMAP, {})
    for machine in (ann, bob):
        machine.folder.rename(machine.state / "old")
    bob.tunes("mode", "observe")
    assert ann.history() == [(1, "done", BOB)]


# what was cut off


def test_a_journal_that_was_cut_off_is_completed_from_the_object(ann: Machine) -> None:
    ann.tunes("mode", "off")
    ann.tunes("mode", "observe")
    journal = ann.folder / "journal.jsonl"
    whole = journal.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 2):
        journal.write_bytes(whole[:length])
        assert ann.history() == [(1, "done", ANN), (2, "done", ANN)]
        assert (journal.read_bytes(), ann.said) == (whole, [])


def test_a_line_that_was_cut_off_before_it_was_shared_stops_nobody(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    with (ann.folder / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"schemaVersion": 1, "numb')
    ann.tunes("mode", "observe")
    assert bob.history() == ann.history() == [(1, "done", ANN), (2, "done", ANN)]
    assert journal_of(bob.opened()).damaged_lines == (3,)
    bob.rolls_back()
    assert setting(api, "mode") == "off"


def test_a_change_whose_end_could_not_be_shared_is_settled_by_whoever_is_next(
    api: ApiServer, ann: Machine, bob: Machine
) -> None:
    def down() -> None:
        api.faults = [(503, {})] * 3

    api.before_patch = [lambda: None, down]
    ann.tunes("mode", "off")
    assert ann.said[-1].startswith(
        "kubernetes:spark/configmap/conf: the change is made, but what is recorded about it is on this machine alone, "
        "until its next change: kubernetes:spark/configmap/conf: http://127.0.0.1:"
    )
    assert ann.history() == [(1, "done", ANN)]
    assert bob.history() == [(1, "begun", ANN)]
    (said,) = bob.tunes("mode", "observe")
    assert said == "tune no. 1 of 2026-11-21T12:00:00+00:00 was interrupted and had been carried out"
    assert bob.history() == [(1, "done", ANN), (2, "done", BOB)]


# an object that is gone


def test_a_deleted_object_is_an_error_and_keeps_its_records_here(api: ApiServer, ann: Machine, bob: Machine) -> None:
    ann.tunes("mode", "off")
    folder, store = ann.folder, ann.opened()
    journal = (folder / "journal.jsonl").read_bytes()
    proposal = propose_rollback(store, force=False)
    gone = api.objects.pop(CONFIGMAP)
    for look in (lambda: carry_out(proposal, ann.actor), ann.history):
        with pytest.raises(TargetError, match=r"kubernetes:spark/configmap/conf: not found on .* \(404\)"):
            look()
    assert (folder / "journal.jsonl").read_bytes() == journal
    # Made anew from a repository, with the conf and without the annotation.
    api.put(CONFIGMAP, data=gone["data"])
    assert (ann.history(), bob.history()) == ([(1, "done", ANN)], [])
    ann.rolls_back()
    assert conf(api) == THEIRS
    assert bob.history() == [(1, "done", ANN), (2, "done", ANN)]


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
