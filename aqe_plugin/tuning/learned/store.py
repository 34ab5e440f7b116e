"""The lessons of event logs in one SQLite file, found by a log's address and version.

It is a memory, never a source: whatever is not in it, or cannot be had from it, is read from the log again. A log that
is gone is asked for by nobody, and what was not used for a month goes.

Several processes may use it at once. Each write is one short transaction, and whoever comes second waits for it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from aqe_plugin.errors import StoreError
from aqe_plugin.machine.state import state_home
from aqe_plugin.tuning.learned.lesson import READER, Lesson, packed, unpacked

__all__ = ["KEPT_DAYS", "SCHEMA_VERSION", "Store", "default_store", "opened"]

SCHEMA_VERSION = 1
KEPT_DAYS = 30

# "aqeL": by which SQLite files of others are told.
_APPLICATION_ID = 0x6171654C
_WAIT_SECONDS = 10.0
# What a kill loses, and what is held in memory meanwhile.
_UNWRITTEN_BYTES = 8 * 1024 * 1024
_UNWRITTEN_LESSONS = 200

_TABLE = """
CREATE TABLE lessons (
  log BLOB NOT NULL, reader TEXT NOT NULL, version TEXT NOT NULL, used_day INTEGER NOT NULL, lesson BLOB NOT NULL,
  PRIMARY KEY (log, reader)
)
"""
_GET = "SELECT version, used_day, lesson FROM lessons WHERE log = ? AND reader = ?"
_PUT = "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?)"
_USED = "UPDATE lessons SET used_day = ? WHERE log = ? AND reader = ?"
# A day in the future is of a clock that was set back since.
_SET_BACK = "UPDATE lessons SET used_day = ? WHERE used_day > ?"
_DROP = "DELETE FROM lessons WHERE used_day < ?"


class Store:
    """An open store; ``opened`` makes one.

    Attributes:
        damaged: so many lessons were asked for that are damaged; they are none, and replaced by the next ``put``.
    """

    def __init__(self, path: Path, database: sqlite3.Connection, today: int) -> None:
        self.damaged = 0
        self._path = path
        self._database = database
        self._today = today
        self._used: list[bytes] = []
        self._unwritten: dict[bytes, tuple[str, bytes]] = {}
        self._unwritten_bytes = 0

    def get(self, log: str, version: str) -> Lesson | None:
        """What the log at that address teaches, if it was read in that version.

        Raises:
            StoreError: the file is damaged, or cannot be read.
        """
        key = _bytes(log)
        found = self._unwritten.get(key)
        used_day = self._today
        if found is None:
            with _told(self._path):
                row = self._database.execute(_GET, (key, READER)).fetchone()
            if row is None:
                return None
            found, used_day = (row[0], row[2]), row[1]
        if found[0] != version:
            return None
        lesson = unpacked(found[1])
        if lesson is None:
            self.damaged += 1
        elif used_day != self._today:
            self._used.append(key)
        return lesson

    def put(self, log: str, version: str, lesson: Lesson) -> None:
        """Keeps a lesson in place of what was known of that log, by ``write`` at the latest.

        Raises:
            StoreError: it is not written.
        """
        data = packed(lesson) if lesson.lasting else None
        if data is None:
            return
        self._unwritten[_bytes(log)] = version, data
        self._unwritten_bytes += len(data)
        if self._unwritten_bytes >= _UNWRITTEN_BYTES or len(self._unwritten) >= _UNWRITTEN_LESSONS:
            self.write()

    def write(self) -> None:
        """Writes down what was put and what was used, and drops what nobody used for ``KEPT_DAYS``.

        Raises:
            StoreError: nothing of it is written.
        """
        oldest = self._today - KEPT_DAYS
        with _told(self._path):
            if not self._unwritten and not self._used and not _has_old(self._database, oldest):
                return
            with _transaction(self._database):
                rows = [(key, READER, version, self._today, data) for key, (version, data) in self._unwritten.items()]
                self._database.executemany(_PUT, rows)
                self._database.executemany(_USED, [(self._today, key, READER) for key in self._used])
                self._database.execute(_SET_BACK, (self._today, self._today))
                self._database.execute(_DROP, (oldest,))
        self._unwritten, self._unwritten_bytes, self._used = {}, 0, []


def default_store(environment: Mapping[str, str]) -> Path:
    """Where the store is unless a place is named."""
    return state_home(environment) / "aqe-plugin" / "learned.db"


@contextmanager
def opened(path: Path, today: int | None = None) -> Iterator[Store]:
    """The store at ``path``, made with its folder when there is none, for as long as the context lasts.

    Args:
        path: the file; beside it comes, while it is written, SQLite's journal.
        today: days since 1970.

    Raises:
        StoreError: it is damaged, no store, of another version, or cannot be used.
    """
    with closing(_connected(path)) as database:
        yield Store(path, database, int(time.time() // 86_400) if today is None else today)


def _connected(path: Path) -> sqlite3.Connection:
    with _told(path):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Names of columns and applications are in it. SQLite gives its journal the same rights.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if not stat.S_ISREG(path.stat().st_mode):
            raise _none_of_ours(path, "a folder, a device or a pipe")
        database = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
    try:
        with _told(path):
            if _is_new(database):
                # Before the first table; from then on the file shrinks when something is dropped.
                database.execute("PRAGMA auto_vacuum = FULL")
                with _transaction(database):
                    if _is_new(database):
                        database.execute(_TABLE)
                        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            _require(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _require(database: sqlite3.Connection, path: Path) -> None:
    if _pragma(database, "application_id") != _APPLICATION_ID:
        raise _none_of_ours(path, "made by another program")
    version = _pragma(database, "user_version")
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schemaVersion {version}, this aqe-plugin keeps {SCHEMA_VERSION}. "
            "Give another --store, or move it away"
        )


def _is_new(database: sqlite3.Connection) -> bool:
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and _pragma(database, "application_id") == 0


def _has_old(database: sqlite3.Connection, oldest: int) -> bool:
    return database.execute("SELECT 1 FROM lessons WHERE used_day < ? LIMIT 1", (oldest,)).fetchone() is not None


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    # A lock that is taken later, after something was read, is refused at once instead of waited for.
    database.execute("BEGIN IMMEDIATE")
    with database:
        yield


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(
            f"{path}: cannot be used ({error}). "
            "Make sure that its folder may be written by this user and has space, or give another --store"
        ) from error
    except (sqlite3.DatabaseError, TypeError, ValueError) as error:
        raise _none_of_ours(path, str(error)) from error


def _none_of_ours(path: Path, why: str) -> StoreError:
    return StoreError(f"{path}: is no store of aqe-plugin, or damaged ({why}). Give another --store, or move it away")


def _bytes(text: str) -> bytes:
    """Names of files may be no UTF-8, and those of other file systems no whole characters."""
    return text.encode("utf-8", "surrogatepass")
