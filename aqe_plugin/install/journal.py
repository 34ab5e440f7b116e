"""What was done to a file, by whom and why: JSON lines beside the backups, only ever added to.

Anybody may read the journal, which therefore holds values of keys alone that aqe-plugin itself changes; backups hold
whole files, secrets included, and are their owner's alone. Two lines are written for each change, one before the file
is touched and one after, so that a change that was cut off can be told from one that was not. The folder
``.aqe-plugin/<file>/`` beside the file holds ``journal.jsonl``, the ``backups`` (each named by its digest) and the
``lock``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path

from aqe_plugin.conf.changes import Change
from aqe_plugin.conf.stores.file_store import Where, store_of
from aqe_plugin.errors import EventSchemaError, JournalError
from aqe_plugin.events.json_values import decode, encode
from aqe_plugin.machine.disk import append_line, digest, make_folder, read_or_none, replace_file

__all__ = ["SCHEMA_VERSION", "Action", "Actor", "Journal", "Phase", "Record", "in_force", "journal_of"]

SCHEMA_VERSION = 1
_PRIVATE = 0o600


class Action(str, Enum):
    """What was done."""

    INSTALL = "install"
    UNINSTALL = "uninstall"
    TUNE = "tune"
    ROLLBACK = "rollback"


class Phase(str, Enum):
    """How far it came: ``begun`` is the line before the file is touched, the other two say how it ended."""

    BEGUN = "begun"
    DONE = "done"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes a file, why, and by which clock."""

    who: str
    why: str
    now: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Record:
    """One change of the file.

    Attributes:
        number: from 1, in order.
        at: ISO 8601, UTC.
        before: SHA-256 of the file before, ``None`` when it was absent; ``after`` likewise.
        undoes: number of the change that a rollback takes back, with all that came after it.
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


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one file as it was read.

    Attributes:
        folder: where it and the backups are.
        records: each change once, with how far it came.
        damaged_lines: numbers of the lines that are cut off or no record of ours.
    """

    folder: Path
    records: tuple[Record, ...]
    damaged_lines: tuple[int, ...]

    @property
    def interrupted(self) -> Record | None:
        """The change that was begun and of which nobody knows how it ended."""
        return next((record for record in self.records if record.phase is Phase.BEGUN), None)

    def next_number(self) -> int:
        return 1 + max((record.number for record in self.records), default=0)

    def write(self, record: Record) -> None:
        """Adds ``record``.

        Raises:
            WriteError: it is not in the journal.
        """
        append_line(self.folder / "journal.jsonl", json.dumps(encode(record)).encode())

    def keep(self, content: bytes | None) -> None:
        """Makes sure that ``content`` can be had back.

        Raises:
            WriteError: it is not kept.
        """
        if content is None:
            return
        make_folder(self.folder / "backups", 0o700)
        backup = self._backup(str(digest(content)))
        if not backup.exists():
            replace_file(backup, content, _PRIVATE)

    def kept(self, wanted: str | None) -> bytes | None:
        """The content with this digest; ``None`` stands for an absent file.

        Raises:
            JournalError: its backup is gone or damaged.
        """
        if wanted is None:
            return None
        content = read_or_none(self._backup(wanted))
        if digest(content) != wanted:
            raise JournalError(f"{self._backup(wanted)}: the backup is missing or damaged; restore it by other means.")
        return content

    def _backup(self, name: str) -> Path:
        return self.folder / "backups" / name


def journal_of(where: Where) -> Journal:
    """The journal of a file or an object, empty when nothing was ever done to it.

    Raises:
        JournalError: a newer aqe-plugin wrote it.
        TargetError: it cannot be read.
    """
    folder = store_of(where).journal_folder
    records: dict[int, Record] = {}
    damaged: list[int] = []
    for number, line in enumerate((read_or_none(folder / "journal.jsonl") or b"").splitlines(), start=1):
        record = _record(line, folder)
        if record is None:
            damaged.append(number)
        else:
            first = records.get(record.number, record)
            records[record.number] = replace(first, phase=record.phase)
    return Journal(folder, tuple(records[number] for number in sorted(records)), tuple(damaged))


def in_force(records: tuple[Record, ...]) -> list[Record]:
    """The changes that were carried out and not rolled back, oldest first."""
    stack: list[Record] = []
    for record in records:
        if record.phase is not Phase.DONE:
            continue
        if record.action is Action.ROLLBACK:
            stack = [kept for kept in stack if record.undoes is None or kept.number < record.undoes]
        else:
            stack.append(record)
    return stack


def _record(line: bytes, folder: Path) -> Record | None:
    try:
        value = json.loads(line)
        if isinstance(value, dict) and isinstance(value.get("schemaVersion"), int):
            version = value["schemaVersion"]
            if version > SCHEMA_VERSION:
                raise JournalError(
                    f"{folder}: the journal has schemaVersion {version}, this aqe-plugin reads up to {SCHEMA_VERSION}: "
                    "upgrade it."
                )
        return decode(Record, value)
    except (ValueError, RecursionError, EventSchemaError):
        return None
