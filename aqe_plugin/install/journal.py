"""The journal of a target: what was changed, by whom and why. JSON lines beside the backups, only ever appended.

The journal holds only values of keys that aqe-plugin itself changes; backups hold whole files, secrets included. Only
their owner may read either. A change writes one line before the file is touched and one after,
so that an interrupted change can be recognised. The folder (for a file, ``.aqe-plugin/<file>/`` beside it) holds
``journal.jsonl``, the ``backups``, each named by its digest, and the ``lock``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from aqe_plugin.conf.changes import Change, merged
from aqe_plugin.conf.target import ConfStore
from aqe_plugin.errors import EventSchemaError, StateError
from aqe_plugin.events.json_values import Json, decode, encode
from aqe_plugin.machine.disk import append_line, digest, make_folder, read_or_none, replace_file

SCHEMA_VERSION = 1
_PRIVATE = 0o600
# The rings that follow the first look, in the order in which a rollout takes them.
_RINGS = ("canary", "all", "settled", "rolled_back")


Action = Literal["install", "uninstall", "rollout", "rollback"]
"""The kinds of change."""

Phase = Literal["begun", "done", "abandoned"]
"""``begun`` is written before the file is touched, one of the others at the end."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change and why, and the clock."""

    who: str
    why: str
    now: Callable[[], datetime]

    def time(self) -> str:
        """The time in ISO 8601, UTC."""
        return self.now().astimezone(timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Record:
    """One change of the target.

    Attributes:
        number: from 1, in order.
        at: ISO 8601, UTC.
        before: SHA-256 of the content before, ``None`` when there was none; ``after`` likewise.
        undoes: number of the first change that a rollback undoes; it undoes all later ones too.
        step: the id of the rollout's step that made the change, ``None`` for any other change.
        mode: the permissions of the file before, ``None`` when there was none, or it is no file.
    """

    schema_version: int
    number: int
    phase: Phase
    action: Action
    at: str
    who: str
    why: str
    file: str
    before: str | None
    after: str | None
    changes: tuple[Change, ...]
    undoes: int | None
    step: str | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one target as it was read. What cannot be written raises WriteError.

    Attributes:
        folder: holds the journal and the backups.
        records: each change once, in its latest phase.
        damaged_lines: numbers of the lines that are incomplete or not a record.
    """

    folder: Path
    records: tuple[Record, ...]
    damaged_lines: tuple[int, ...]

    @property
    def interrupted(self) -> Record | None:
        """The change that was begun and whose end was not recorded."""
        return next((record for record in self.records if record.phase == "begun"), None)

    @property
    def damage(self) -> str:
        """The damaged lines as a sentence, empty when there are none."""
        lines = ", ".join(str(number) for number in self.damaged_lines)
        return f"{self.folder}/journal.jsonl: damaged lines left out: {lines}." if lines else ""

    def next_number(self) -> int:
        return 1 + max((record.number for record in self.records), default=0)

    def write(self, record: Record) -> None:
        append_line(self.folder / "journal.jsonl", json.dumps(encode(record)).encode())

    def keep(self, content: bytes | None) -> None:
        """Writes a backup of ``content``, unless there is one."""
        if content is None:
            return
        make_folder(self.folder / "backups", 0o700)
        backup = self._backup(str(digest(content)))
        if not backup.exists():
            replace_file(backup, content, _PRIVATE)

    def kept(self, wanted: str | None) -> bytes | None:
        """The content with this digest; ``None`` for an absent file.

        Raises:
            StateError: its backup is missing or damaged.
        """
        if wanted is None:
            return None
        content = read_or_none(self._backup(wanted))
        if digest(content) != wanted:
            raise StateError(
                f"{self._backup(wanted)}: the backup is missing or damaged; restore the conf by other means."
            )
        return content

    def _backup(self, name: str) -> Path:
        return self.folder / "backups" / name


def journal_of(store: ConfStore) -> Journal:
    """The journal of a target, empty when it was never changed."""
    folder = store.journal_folder
    values, damaged = json_lines(folder / "journal.jsonl")
    records: dict[int, Record] = {}
    for number, value in values:
        version = value.get("schemaVersion") if isinstance(value, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise StateError(
                f"{folder}: the journal has schemaVersion {version}, and this aqe-plugin reads up to {SCHEMA_VERSION}: "
                "upgrade aqe-plugin."
            )
        try:
            record = decode(Record, value)
        except EventSchemaError:
            damaged.append(number)
        else:
            records[record.number] = replace(records.get(record.number, record), phase=record.phase)
    return Journal(folder, tuple(records[number] for number in sorted(records)), tuple(sorted(damaged)))


def json_lines(path: Path) -> tuple[list[tuple[int, Json]], list[int]]:
    """The values in a file of JSON lines, by their numbers, and the numbers of lines that are cut off or damaged."""
    values: list[tuple[int, Json]] = []
    damaged: list[int] = []
    for number, line in enumerate((read_or_none(path) or b"").splitlines(), start=1):
        try:
            values.append((number, json.loads(line)))
        except (ValueError, RecursionError):
            damaged.append(number)
    return values, damaged


def in_force(records: tuple[Record, ...]) -> list[Record]:
    """The changes that were carried out and not undone, oldest first.

    A rollout that went back is undone, unless another change lies between its steps: that one was made with the
    rollout's values in place, and what it replaced is nothing to go back to.
    """
    stack: list[Record] = []
    for record in records:
        if record.phase != "done":
            continue
        if record.action == "rollback":
            stack = [kept for kept in stack if record.undoes is None or kept.number < record.undoes]
        else:
            stack.append(record)
            rollout = of_last_rollout(stack)
            changes = merged(tuple(change for one in rollout for change in one.changes))
            is_undone = len(rollout) > 1 and all(change.old == change.new for change in changes.values())
            if is_undone and stack[-len(rollout) :] == rollout:
                stack = stack[: -len(rollout)]
    return stack


def undone(journal: Journal) -> frozenset[int]:
    """The numbers of the changes that were carried out and are no longer in force."""
    kept = {record.number for record in in_force(journal.records)}
    done = (one.number for one in journal.records if one.phase == "done" and one.action != "rollback")
    return frozenset(done) - kept


def of_last_rollout(changed: list[Record]) -> list[Record]:
    """The last change and, if it is a step of a rollout, the rollout's steps before it; oldest first.

    Numbers begin anew when a ledger was moved away, so a step that is no earlier ring is one of an older rollout.
    """
    found = [changed[-1]]
    number, ring = _rollout_and_ring(found[0])
    for record in reversed(changed[:-1]):
        if ring <= 0:
            break
        of_number, of_ring = _rollout_and_ring(record)
        if of_number != number:
            continue
        if of_ring >= ring:
            break
        found.insert(0, record)
        ring = of_ring
    return found


def went_back(record: Record) -> bool:
    """Whether the change took a rollout back."""
    return _rollout_and_ring(record)[1] == _RINGS.index("rolled_back")


def _rollout_and_ring(record: Record) -> tuple[str, int]:
    """The number of the rollout, and how far it went; -1 for what is no step of one."""
    number, _, ring_and_time = (record.step or "").partition("-")
    ring = ring_and_time.rpartition("-")[0]
    return number, _RINGS.index(ring) if ring in _RINGS else -1
