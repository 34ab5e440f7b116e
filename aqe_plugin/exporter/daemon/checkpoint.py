"""The daemon's state in one SQLite file: the offsets of files and the sums of what was read up to them.

One transaction holds both, so a process that is killed at any point leaves sums that match its offsets, and the next
continues from there: nothing is lost and nothing counted twice. Prometheus sees no counter fall over a restart, so
``rate`` and ``increase`` are right across it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from aqe_plugin.errors import CheckpointError, ConfError, ConflictError, EventSchemaError, WriteError
from aqe_plugin.events.json_values import Json, decode, encode
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.logs import FileOffset, FileOffsets
from aqe_plugin.machine.disk import lock

SCHEMA_VERSION = 2

# A loss of power must do no more harm than a kill.
_SYNCHRONOUS = "FULL"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (file BLOB PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sums (section BLOB PRIMARY KEY, value TEXT NOT NULL);
"""
_PUT_OFFSET = "INSERT INTO offsets VALUES (?, ?) ON CONFLICT (file) DO UPDATE SET value = excluded.value"
# An update keeps the rowid, so sections are restored in the order of their first appearance.
_PUT_SUMS = "INSERT INTO sums VALUES (?, ?) ON CONFLICT (section) DO UPDATE SET value = excluded.value"
_PUT_ABOUT = "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class Checkpoint:
    """An open checkpoint, held by this process alone; ``opened`` makes one."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database

    def offsets(self) -> FileOffsets:
        """How far each file was read.

        Raises:
            CheckpointError: the file is damaged.
        """
        with _errors_translated(self._path):
            rows = self._database.execute("SELECT file, value FROM offsets")
            return FileOffsets({_text(file): decode(FileOffset, json.loads(value)) for file, value in rows})

    def restore(self, tally: Tally) -> None:
        """Continues in ``tally``, which counted nothing yet, from the stored sums.

        Raises:
            CheckpointError: the file is damaged.
        """
        with _errors_translated(self._path):
            rows = self._database.execute("SELECT section, value FROM sums ORDER BY rowid")
            tally.restore((_text(section), json.loads(value)) for section, value in rows)

    def write(self, offsets: FileOffsets, tally: Tally) -> None:
        """Stores what changed in both since they were last settled, in one transaction.

        Raises:
            WriteError: nothing was stored.
        """
        changed_offsets: dict[str, Json] = {key: encode(file_offset) for key, file_offset in offsets.changes().items()}
        changed_sums = tally.changes()
        if changed_offsets or changed_sums:
            with _errors_translated(self._path), self._database:
                _write(self._database, _PUT_OFFSET, "DELETE FROM offsets WHERE file = ?", changed_offsets)
                _write(self._database, _PUT_SUMS, "DELETE FROM sums WHERE section = ?", changed_sums)

    def note(self, name: str) -> str | None:
        """The value stored under that name."""
        with _errors_translated(self._path):
            row = self._database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
            return None if row is None else str(row[0])

    def take_note(self, name: str, value: str) -> None:
        """Stores a value under a name.

        Raises:
            WriteError: it was not stored.
        """
        with _errors_translated(self._path), self._database:
            self._database.execute(_PUT_ABOUT, (name, value))


@contextmanager
def opened(path: Path, source: str) -> Iterator[Checkpoint]:
    """The checkpoint at ``path``, created if needed, for as long as the context lasts.

    Args:
        path: the file; a ``.lock`` stands beside it and, during a write, SQLite's journal.
        source: the name of the source, the same each time.

    Raises:
        ConflictError: another process works with it.
        ConfError: it belongs to another source.
        CheckpointError: it is damaged, no checkpoint, or of another version.
        WriteError: it cannot be written.
    """
    with ExitStack() as held:
        try:
            held.enter_context(lock(path.with_name(f"{path.name}.lock")))
        except ConflictError as error:
            raise ConflictError(
                f"{path}: another aqe-plugin runs with this checkpoint. Stop it, or give this one another --checkpoint "
                "and other logs: two over the same logs count everything twice."
            ) from error
        checkpoint = Checkpoint(path, held.enter_context(closing(_connected(path))))
        _require(checkpoint, path, source)
        yield checkpoint


def _connected(path: Path) -> sqlite3.Connection:
    with _errors_translated(path):
        database = sqlite3.connect(path)
    try:
        with _errors_translated(path):
            # No write-ahead log: it needs shared memory, which network volumes do not have.
            database.execute("PRAGMA journal_mode = TRUNCATE")
            database.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
            with database:
                database.executescript(_TABLES)
    except BaseException:
        database.close()
        raise
    return database


def _require(checkpoint: Checkpoint, path: Path, source: str) -> None:
    version, of = checkpoint.note("schemaVersion"), checkpoint.note("source")
    if version is None or of is None:
        checkpoint.take_note("schemaVersion", str(SCHEMA_VERSION))
        checkpoint.take_note("source", source)
    elif version != str(SCHEMA_VERSION):
        raise CheckpointError(
            f"{path}: schemaVersion {version}, this aqe-plugin writes {SCHEMA_VERSION}. Use the aqe-plugin that wrote "
            "it, or give another --checkpoint; counts then begin at 0."
        )
    elif of != source:
        raise ConfError(f"{path}: the checkpoint belongs to {of}, not to {source}. Give another --checkpoint.")


def _write(database: sqlite3.Connection, put: str, drop: str, rows: dict[str, Json]) -> None:
    database.executemany(put, [(_bytes(key), json.dumps(row)) for key, row in rows.items() if row is not None])
    database.executemany(drop, [(_bytes(key),) for key, row in rows.items() if row is None])


@contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise WriteError(
            f"{path}: cannot be written ({error}); its content is unchanged. "
            "Make sure that its folder is there, may be written by this user, and has space."
        ) from error
    except (sqlite3.DatabaseError, EventSchemaError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path}: not a checkpoint of aqe-plugin, or damaged ({error}). Give another --checkpoint, or move it "
            "away; counts then begin at 0."
        ) from error


def _bytes(text: str) -> bytes:
    """File names may not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
