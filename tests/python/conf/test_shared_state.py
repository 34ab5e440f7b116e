"""What machines share of an object: packed, read back, and put together whatever each of them knows."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqe_plugin.conf.stores.shared_state import (
    FORMAT,
    LOGS,
    MOST_BYTES,
    Lead,
    SharedState,
    annotation_name,
    compared,
    packed,
    room_for,
    signature,
    unpacked,
    without_spent,
)
from aqe_plugin.errors import StateError

LINES = st.lists(st.binary(min_size=1, max_size=12).filter(lambda line: b"\n" not in line), max_size=6)


def log(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def text_of(value: object) -> str:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def change(phase: str, before: str | None = "old", after: str | None = "new") -> bytes:
    return json.dumps({"number": 1, "phase": phase, "before": before, "after": after}).encode()


def pairs(number: int, name: str) -> bytes:
    return json.dumps({"schemaVersion": 4, "number": number, "pairs": [name]}).encode()


def step(number: int, ring: str) -> bytes:
    return json.dumps({"schemaVersion": 4, "number": number, "ring": ring}).encode()


# packed and read back


@given(st.text(max_size=20), LINES, LINES, st.lists(st.binary(max_size=40), max_size=4))
def test_any_state_is_read_back_as_it_was(
    target: str, journal: list[bytes], rollouts: list[bytes], contents: list[bytes]
) -> None:
    state = SharedState(
        target, dict(zip(LOGS, (log(journal), log(rollouts)), strict=True)), {digest_of(one): one for one in contents}
    )
    text = packed(state, MOST_BYTES)
    assert text is not None
    assert unpacked(text, "here") == state


@given(st.text(max_size=300))
def test_the_name_of_an_annotation_is_one_that_kubernetes_takes(key: str) -> None:
    domain, _, name = annotation_name(key).partition("/")
    assert domain == "aqeplugin.io"
    assert len(name) <= 63
    assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", name)


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_keys_of_a_configmap_have_two_annotations(one: str, other: str) -> None:
    assert (annotation_name(one) == annotation_name(other)) is (one == other)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no base64 ä", "it is not base64"),
        ("bm8gemxpYg==", "it is not what zlib compressed"),
        (base64.b64encode(zlib.compress(b"{")).decode(), "it is not JSON"),
        (base64.b64encode(zlib.compress(b"{}" * 999)[:-9]).decode(), "it was cut off, or is too large"),
        (base64.b64encode(zlib.compress(b" " * (65 << 20))).decode(), "it was cut off, or is too large"),
        (text_of([]), "it has no format that is known"),
        (text_of({"format": "1"}), "it has no format that is known"),
        (text_of({"format": FORMAT, "target": "a", "logs": {}}), "it lacks a part"),
        (text_of({"format": FORMAT, "target": "a", "logs": {"x": 1}, "backups": {}}), "it lacks a part"),
        (text_of({"format": FORMAT, "target": "a", "logs": {"../x": ""}, "backups": {}}), "it holds a log that is not"),
        (text_of({"format": FORMAT, "target": "a", "logs": {}, "backups": {"../x": "a"}}), "a backup in it is not the"),
        (text_of({"format": FORMAT, "target": "a", "logs": {LOGS[0]: "\ud800"}, "backups": {}}), "it holds what is"),
    ],
)
def test_a_text_that_is_not_ours_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unpacked(text, "here")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for text in (content.decode("latin-1"), base64.b64encode(zlib.compress(content)).decode()):
        with pytest.raises(ValueError, match=r"^it "):
            unpacked(text, "here")


def test_a_newer_format_asks_for_an_upgrade() -> None:
    with pytest.raises(StateError) as error:
        unpacked(text_of({"format": FORMAT + 1}), "x, annotation y")
    assert str(error.value) == (
        "x, annotation y: it has format 2, and this aqe-plugin reads up to 1: upgrade aqe-plugin."
    )


# room


def test_the_oldest_backups_are_left_out_where_there_is_no_room() -> None:
    noise = random.Random(1)
    contents = [noise.randbytes(2000) for _ in range(20)]
    journal = log([json.dumps({"before": digest_of(one)}).encode() for one in contents])
    state = SharedState("t", {LOGS[0]: journal}, {digest_of(one): one for one in contents})
    text = packed(state, 20_000)
    assert text is not None
    assert len(text) <= 20_000
    kept = unpacked(text, "here")
    assert kept.logs == state.logs
    assert 0 < len(kept.backups) < 20
    assert set(kept.backups) == {digest_of(one) for one in contents[-len(kept.backups) :]}
    one_more = {digest_of(one): one for one in contents[-len(kept.backups) - 1 :]}
    assert len(packed(SharedState("t", state.logs, one_more), 10**9) or "") > 20_000


def test_lines_that_do_not_fit_are_not_cut_off() -> None:
    state = SharedState("t", {LOGS[0]: log([random.Random(1).randbytes(500).hex().encode()])}, {})
    assert packed(state, 100) is None


def test_the_room_is_what_others_leave_of_the_servers_limit_and_of_ours() -> None:
    name = annotation_name("a")
    assert room_for(name, {}) == room_for(name, {name: "x" * 9999, "b": "y"}) == MOST_BYTES - len(name)
    other = annotation_name("b")
    assert room_for(name, {other: "x" * 1000}) == MOST_BYTES - len(name) - len(other) - 1000
    assert room_for(name, {"c": "x" * (200 << 10)}) == (56 << 10) - len(name) - 1


# who knows more


@given(LINES, LINES)
def test_the_longer_of_two_copies_with_the_same_beginning_counts(lines: list[bytes], more: list[bytes]) -> None:
    short, long = log(lines), log([*lines, *more])
    behind, ahead = compared(short, long), compared(long, short)
    assert (behind.merged, ahead.merged) == (long, long)
    assert behind.news == tuple(more)
    assert (behind.lead, ahead.lead) == ((Lead.THEIRS, Lead.OURS) if more else (Lead.SAME, Lead.SAME))


@given(LINES, LINES, LINES)
def test_copies_that_parted_are_told_and_the_shared_one_counts(
    lines: list[bytes], here: list[bytes], there: list[bytes]
) -> None:
    mine, shared = log([*lines, b"a", *here]), log([*lines, b"b", *there])
    found = compared(mine, shared)
    assert (found.lead, found.merged, found.news) == (Lead.NEITHER, shared, (b"b", *there))


@given(LINES, LINES, st.integers(0, 40))
def test_a_log_that_was_cut_off_anywhere_is_completed(lines: list[bytes], more: list[bytes], length: int) -> None:
    whole = log([*lines, *more])
    cut_off = whole[: min(length, len(whole))]
    assert compared(cut_off, whole).merged in (whole, whole[:-1])
    # What nobody else has stays.
    assert compared(cut_off, b"").merged == cut_off


def test_a_cut_off_line_that_nobody_else_has_goes_out_as_it_is() -> None:
    found = compared(b"one\ntw", b"one\n")
    assert (found.lead, found.merged) == (Lead.OURS, b"one\ntw")
    assert without_spent(b"one\ntw") == b"one\ntw\n"
    assert compared(b"one\ntw", b"one\ntw\n").merged == b"one\ntw"
    assert compared(b"one\ntw", b"one\nthree\n").lead is Lead.NEITHER


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_machines_that_look_before_they_write_never_part(turns: list[tuple[bool, bool]]) -> None:
    machines, shared = [b"", b""], b""
    for number, (machine, begins) in enumerate(turns):
        found = compared(machines[machine], shared)
        assert found.lead in (Lead.SAME, Lead.THEIRS)
        rollout = 1 + shared.count(b'"ring"')
        line = step(rollout, "observe") if begins else pairs(rollout, f"app-{number}")
        machines[machine] = found.merged + line + b"\n"
        shared = without_spent(machines[machine])
    for log_there in machines:
        assert without_spent(compared(log_there, shared).merged) == shared


# pairs of rollouts that are over


def test_pairs_of_a_rollout_that_is_over_are_not_shared_and_stay_here() -> None:
    mine = log([step(1, "canary"), pairs(1, "a"), step(1, "settled"), step(2, "observe"), pairs(2, "b")])
    shared = without_spent(mine)
    assert shared == log([step(1, "canary"), step(1, "settled"), step(2, "observe"), pairs(2, "b")])
    assert compared(mine, shared).lead is Lead.SAME
    assert compared(mine, shared + log([step(2, "all")])).merged == mine + log([step(2, "all")])
    assert compared(mine, log([step(1, "canary"), step(1, "settled")])).lead is Lead.OURS


def test_a_machine_that_missed_a_whole_rollout_takes_it_over() -> None:
    mine = log([step(1, "canary"), pairs(1, "a")])
    shared = without_spent(mine + log([pairs(1, "b"), step(1, "settled"), step(2, "observe")]))
    found = compared(mine, shared)
    assert (found.lead, found.merged) == (Lead.THEIRS, mine + log([step(1, "settled"), step(2, "observe")]))


# who it was


@pytest.mark.parametrize(
    ("lines", "who"),
    [
        ([b'{"who": "ann@a", "at": "2026-11-21T12:00:00+00:00"}', b"cut o"], "ann@a, 2026-11-21T12:00:00+00:00"),
        ([b'{"who": "bob@b", "atMillis": 1763712000000}', b'{"pairs": []}'], "bob@b, 2025-11-21T08:00:00+00:00"),
        ([b'{"who": "bob@b", "atMillis": 1e400}'], "bob@b, at an unknown time"),
        ([b"[]", b"x"], ""),
        ([], ""),
    ],
)
def test_the_last_signed_line_says_who_went_on(lines: list[bytes], who: str) -> None:
    assert signature(lines) == who


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([], set()),
        ([change("begun")], {"old", "new"}),
        ([change("begun"), change("done")], {"new"}),
        ([change("done"), change("abandoned", "new", "newer")], {"new"}),
        ([change("done"), b'{"cut'], {"new"}),
        ([change("done", "old", None)], set()),
    ],
)
def test_what_the_conf_holds_since_the_last_change_is_known(lines: list[bytes], left: set[str]) -> None:
    state = SharedState("t", {"journal.jsonl": log(lines)})
    assert state.left == left
