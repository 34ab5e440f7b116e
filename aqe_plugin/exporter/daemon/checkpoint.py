"""Where the daemon got to, in one SQLite file: the marks of files and the sums that were made of them, always together.

One transaction holds both, so a process that is killed at any point leaves sums that are exactly those of what its
marks are behind, and the next goes on there: nothing is lost and nothing counted twice.

Counters therefore go on where they were. Prometheus sees none fall, hence no reset, and ``rate`` and ``increase`` over
a restart are right. They begin at 0 only with a new checkpoint, which Prometheus takes for the reset that it is.
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
from aqe_plugin.logs import Mark, Marks
from aqe_plugin.machine.disk import lock

__all__ = ["SCHEMA_VERSION", "Checkpoint", "opened"]

SCHEMA_VERSION = 1

# A machine that loses power is no other matter than a process that is killed.
_SYNCHRONOUS = "FULL"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS marks (file BLOB PRIMARY KEY, mark TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sums (section BLOB PRIMARY KEY, value TEXT NOT NULL);
"""
_PUT_MARK = "INSERT INTO marks VALUES (?, ?) ON CONFLICT (file) DO UPDATE SET mark = excluded.mark"
# An update keeps the row's number, by which sections come back in the order in which they first came.
_PUT_SUMS = "INSERT INTO sums VALUES (?, ?) ON CONFLICT (section) DO UPDATE SET value = excluded.value"
_PUT_ABOUT = "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class Checkpoint:
    """An open checkpoint, held by this process alone; ``opened`` makes one."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database

    def marks(self) -> Marks:
        """How far each file was read.

        Raises:
            CheckpointError: the file is damaged.
        """
        with _told(self._path):
            rows = self._database.execute("SELECT file, mark FROM marks")
            return Marks({_text(file): decode(Mark, json.loads(mark)) for file, mark in rows})

    def restore(self, tally: Tally) -> None:
        """Makes ``tally``, which counted nothing yet, go on from the sums.

        Raises:
            CheckpointError: the file is damaged.
        """
        with _told(self._path):
            rows = self._database.execute("SELECT section, value FROM sums ORDER BY rowid")
            tally.restore((_text(section), json.loads(value)) for section, value in rows)

    def write(self, marks: Marks, tally: Tally) -> None:
        """Writes down what changed in both since they were last settled; see :class:`~aqe_plugin.exporter.Memory`."""
        changed_marks: dict[str, Json] = {key: encode(mark) for key, mark in marks.changes().items()}
        changed_sums = tally.changes()
        if changed_marks or changed_sums:
            with _told(self._path), self._database:
                _write(self._database, _PUT_MARK, "DELETE FROM marks WHERE file = ?", changed_marks)
                _write(self._database, _PUT_SUMS, "DELETE FROM sums WHERE section = ?", changed_sums)

    def note(self, name: str) -> str | None:
        """What was noted under that name."""
        with _told(self._path):
            row = self._database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
            return None if row is None else str(row[0])

    def take_note(self, name: str, value: str) -> None:
        """Notes a value under a name.

        Raises:
            WriteError: it is not written.
        """
        with _told(self._path), self._database:
            self._database.execute(_PUT_ABOUT, (name, value))


@contextmanager
def opened(path: Path, source: str) -> Iterator[Checkpoint]:
    """The checkpoint at ``path``, made when there is none, for as long as the context lasts.

    Args:
        path: the file; beside it come a ``.lock`` and, while it is written, SQLite's journal.
        source: what is read, by a name that is the same each time.

    Raises:
        ConflictError: another process holds it.
        ConfError: it is of another source.
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
    with _told(path):
        database = sqlite3.connect(path)
    try:
        with _told(path):
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
            "it, or give another --checkpoint: counting then begins anew."
        )
    elif of != source:
        raise ConfError(f"{path}: is the checkpoint of {of}, not of {source}. Give another --checkpoint.")


def _write(database: sqlite3.Connection, put: str, drop: str, rows: dict[str, Json]) -> None:
    database.executemany(put, [(_bytes(key), json.dumps(row)) for key, row in rows.items() if row is not None])
    database.executemany(drop, [(_bytes(key),) for key, row in rows.items() if row is None])


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise WriteError(
            f"{path}: cannot be used ({error}), and holds what it held. "
            "Make sure that its folder is there, may be written by this user, and has space."
        ) from error
    except (sqlite3.DatabaseError, EventSchemaError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path}: is no checkpoint of aqe-plugin, or damaged ({error}). Give another --checkpoint, or move it "
            "away: counting then begins anew."
        ) from error


def _bytes(text: str) -> bytes:
    """Names of files may be no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
