"""Lists logs in a Hadoop file system, and brings what is new in them here, piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqe_plugin.errors import EventLogError
from aqe_plugin.logs.hadoop.jvm import FileGoneError, FileRefusedError, HadoopJvm
from aqe_plugin.logs.layout import EventLog, LogPart, is_rolling, no_log_in, rolling_log, single_log
from aqe_plugin.logs.offset import HEAD_BYTES
from aqe_plugin.logs.reader import PartReader

__all__ = ["HadoopFiles"]

_PIECE_BYTES = 32 * 1024 * 1024
# Lists of these say of a file that is being written how long it was when its last block was begun.
_LATE_LISTS = {"hdfs", "swebhdfs", "viewfs", "webhdfs"}


@dataclass(frozen=True, slots=True)
class _Listed:
    """One file or folder, as the file system lists it."""

    name: str
    is_folder: bool
    size_bytes: int
    changed_millis: int


class HadoopFiles:
    """:class:`~aqe_plugin.logs.files.Files` of a Hadoop file system, as of its latest ``find``.

    A part's path is its path in the file system.

    Args:
        uri: a log, or a folder of logs.
        spool: a folder here, with space for 32 MiB.
    """

    def __init__(self, uri: str, jvm: HadoopJvm, spool: Path) -> None:
        scheme, _, rest = uri.partition(":")
        authority, _, inside = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest.lstrip("/"))
        self.base = f"{scheme}://{authority}"
        self.uri = f"{self.base}/{inside.rstrip('/')}"
        self.root = Path("/")
        self._jvm = jvm
        self._spool = spool
        self._listed: dict[Path, _Listed] = {}
        self._growing: set[Path] = set()

    def find(self) -> list[EventLog]:
        """The logs that are there, sorted by name; see :func:`aqe_plugin.logs.find_event_logs`.

        Raises:
            EventLogError: there is nothing at the address, or it cannot be listed.
            NoDataError: it is a folder without any event log.
        """
        self._listed, self._growing = {}, set()
        try:
            root, scheme, is_folder = self._jvm.ask(self.uri, self._look)
            self.root = Path(root) if is_folder else Path(root).parent
            logs = list(self._logs(Path(root), is_folder))
        except FileGoneError as error:
            raise EventLogError(f"{self.uri}: no such file or folder.") from error
        except FileRefusedError as error:
            raise EventLogError(f"{self.uri}: cannot be read ({error.strerror}).") from error
        found = sorted((log for log in logs if log.parts), key=lambda log: log.parts[0].path)
        if not found:
            raise no_log_in(self.uri)
        if scheme in _LATE_LISTS:
            self._growing = {log.parts[-1].path for log in found if log.in_progress}
        return found

    def signature(self, part: LogPart) -> tuple[int, ...] | None:
        listed = self._listed.get(part.path)
        if listed is None or part.path in self._growing:
            return None
        return listed.size_bytes, listed.changed_millis

    def pieces(self, part: LogPart, reader: PartReader) -> Iterator[Path]:
        piece, name = self._spool / "piece", self._name(part.path)

        def copied(jvm: Any, conf: Any) -> bool:
            return self._copy(jvm, conf, name, reader, piece)

        more = True
        try:
            while more:
                try:
                    piece.write_bytes(b"")
                    more = self._jvm.ask(name, copied)
                except FileGoneError:
                    # Renamed since it was listed: the next look finds it by its new name.
                    return
                except FileRefusedError:
                    raise
                except OSError as error:
                    raise EventLogError(f"{self._spool}: cannot be written ({error.strerror or error}).") from error
                yield piece
        finally:
            piece.unlink(missing_ok=True)

    def _look(self, jvm: Any, conf: Any) -> tuple[str, str, bool]:
        """The path that the address names, the scheme of its file system, and whether it is a folder."""
        path = jvm.org.apache.hadoop.fs.Path(self.uri)
        system = path.getFileSystem(conf)
        status = system.getFileStatus(path)
        listed = _listed(status)
        where = str(status.getPath().toUri().getPath())
        if not listed.is_folder:
            self._listed[Path(where)] = listed
        return where, str(system.getUri().getScheme()), listed.is_folder

    def _logs(self, root: Path, is_folder: bool) -> Iterator[EventLog]:
        if not is_folder:
            yield single_log(root)
        elif is_rolling(root.name):
            yield self._rolling(root)
        else:
            for child in self._list(root):
                if child.is_folder and is_rolling(child.name):
                    yield self._rolling(root / child.name)
                elif not child.is_folder and not child.name.startswith("."):
                    yield single_log(root / child.name)

    def _rolling(self, folder: Path) -> EventLog:
        try:
            return rolling_log(folder, [child.name for child in self._list(folder)])
        except FileGoneError:
            return rolling_log(folder, [])

    def _list(self, folder: Path) -> list[_Listed]:
        def listed(jvm: Any, conf: Any) -> list[_Listed]:
            path = jvm.org.apache.hadoop.fs.Path(self._name(folder))
            return [_listed(status) for status in path.getFileSystem(conf).listStatus(path)]

        found = self._jvm.ask(self._name(folder), listed)
        self._listed |= {folder / one.name: one for one in found}
        return found

    def _copy(self, jvm: Any, conf: Any, name: str, reader: PartReader, piece: Path) -> bool:
        """Copies what ``reader`` reads next into ``piece``, and says whether there may be more behind it."""
        copy = jvm.org.apache.commons.io.IOUtils.copyLarge
        local = jvm.java.io.FileOutputStream
        remote = jvm.org.apache.hadoop.fs.Path(name)
        source = remote.getFileSystem(conf).open(remote)
        try:
            _copied(copy, source, local(str(piece)), HEAD_BYTES)
            head = piece.read_bytes()
            begin = reader.next_bytes(head)
            if begin is None or len(head) < HEAD_BYTES:
                return False
            begin = max(begin, len(head))
            # The reader goes to where it was by itself; what lies before is a hole, which takes no space.
            os.truncate(piece, begin)
            if not _sought(source, begin):
                return False
            _copied(copy, source, local(str(piece), True), _PIECE_BYTES)
            return piece.stat().st_size - begin == _PIECE_BYTES
        finally:
            source.close()

    def _name(self, path: Path) -> str:
        """The address of a path of this file system."""
        return f"{self.base}{path.as_posix()}"


def _listed(status: Any) -> _Listed:
    return _Listed(
        str(status.getPath().getName()),
        bool(status.isDirectory()),
        int(status.getLen()),
        int(status.getModificationTime()),
    )


def _copied(copy: Any, source: Any, target: Any, size_bytes: int) -> None:
    # Not Hadoop's own IOUtils: py4j takes a small length for the size of a buffer there, and copies everything.
    try:
        copy(source, target, 0, size_bytes)
    finally:
        target.close()


def _sought(source: Any, to_bytes: int) -> bool:
    """Goes to that offset, if the file is that long."""
    from py4j.protocol import Py4JJavaError

    try:
        source.seek(to_bytes)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.io.EOFException":
            return False
        raise
    return True
