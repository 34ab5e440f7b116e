"""Lists logs in a Hadoop file system, and copies new content to local files, piece by piece."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqe_plugin.errors import EventLogError
from aqe_plugin.logs.files import Files
from aqe_plugin.logs.hadoop.jvm import FileGoneError, FileRefusedError, HadoopJvm
from aqe_plugin.logs.layout import EventLog, LogPart, logs_at
from aqe_plugin.logs.offsets import HEAD_BYTES
from aqe_plugin.logs.reader import PartReader

_PIECE_BYTES = 32 * 1024 * 1024
# For a file that is being written, listings of these show the length at the start of its last block.
_LATE_LISTS = {"hdfs", "swebhdfs", "viewfs", "webhdfs"}


@dataclass(frozen=True, slots=True)
class _Listed:
    """One file or folder, as the file system lists it."""

    name: str
    is_folder: bool
    size_bytes: int
    changed_millis: int


class HadoopFiles(Files):
    """:class:`~aqe_plugin.logs.files.Files` of a Hadoop file system, as of its latest ``find``.

    A part's path is its path in the file system.

    Args:
        uri: a log, or a folder of logs.
        spool: a local folder, with space for 32 MiB.
    """

    def __init__(self, uri: str, jvm: HadoopJvm, spool: Path) -> None:
        scheme, _, rest = uri.partition(":")
        authority, _, inside = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest.lstrip("/"))
        self._base = f"{scheme}://{authority}"
        self.uri = f"{self._base}/{inside.rstrip('/')}"
        super().__init__(Path("/"))
        self._jvm = jvm
        self._spool = spool
        self._listed: dict[Path, _Listed] = {}
        self._growing: set[Path] = set()

    def find(self) -> list[EventLog]:
        """The logs that are there, sorted by name; see :func:`aqe_plugin.logs.find_event_logs`.

        Raises:
            EventLogError: there is nothing at the address, or it cannot be listed.
        """
        self._listed, self._growing = {}, set()
        try:
            path, scheme, is_folder = self._jvm.ask(self.uri, self._root_status)
            self.root = path if is_folder else path.parent
            logs = logs_at(path, self.uri, is_folder, self._children)
        except FileGoneError as error:
            raise EventLogError(f"{self.uri}: no such file or folder.") from error
        except FileRefusedError as error:
            raise EventLogError(f"{self.uri}: cannot be read ({error.strerror}).") from error
        if scheme in _LATE_LISTS:
            self._growing = {log.parts[-1].path for log in logs if log.in_progress}
        return logs

    def signature(self, part: LogPart) -> tuple[int, ...] | None:
        listed = self._listed.get(part.path)
        if listed is None or part.path in self._growing:
            return None
        return listed.size_bytes, listed.changed_millis

    def changed_millis(self, part: LogPart) -> int | None:
        listed = self._listed.get(part.path)
        return None if listed is None else listed.changed_millis

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
                    # Renamed since it was listed; the next listing has its new name.
                    return
                except FileRefusedError:
                    raise
                except OSError as error:
                    raise EventLogError(f"{self._spool}: cannot be written ({error.strerror or error}).") from error
                yield piece
        finally:
            piece.unlink(missing_ok=True)

    def _root_status(self, jvm: Any, conf: Any) -> tuple[Path, str, bool]:
        """The path of the address, the scheme of its file system, and whether it is a folder."""
        path = jvm.org.apache.hadoop.fs.Path(self.uri)
        system = path.getFileSystem(conf)
        status = system.getFileStatus(path)
        listed, where = _listed(status), Path(str(status.getPath().toUri().getPath()))
        if not listed.is_folder:
            self._listed[where] = listed
        return where, str(system.getUri().getScheme()), listed.is_folder

    def _children(self, folder: Path) -> list[tuple[str, bool]]:
        def listed(jvm: Any, conf: Any) -> list[_Listed]:
            path = jvm.org.apache.hadoop.fs.Path(self._name(folder))
            return [_listed(status) for status in path.getFileSystem(conf).listStatus(path)]

        try:
            found = self._jvm.ask(self._name(folder), listed)
        except FileGoneError:
            if folder == self.root:
                raise
            # A rolling log was removed since its folder was listed.
            return []
        self._listed |= {folder / one.name: one for one in found}
        return [(one.name, one.is_folder) for one in found]

    def _copy(self, jvm: Any, conf: Any, name: str, reader: PartReader, piece: Path) -> bool:
        """Copies what ``reader`` reads next into ``piece``; whether there may be more behind it."""
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
            # The reader seeks to its offset; what lies before is a hole in the file, which takes no space.
            os.truncate(piece, begin)
            if not _sought(source, begin):
                return False
            _copied(copy, source, local(str(piece), True), _PIECE_BYTES)
            return piece.stat().st_size - begin == _PIECE_BYTES
        finally:
            source.close()

    def _name(self, path: Path) -> str:
        """The address of a path in this file system."""
        return f"{self._base}{path.as_posix()}"


@contextmanager
def opened_hadoop_files(uri: str, conf: Mapping[str, str], spool: Path | None = None) -> Iterator[HadoopFiles]:
    """The logs at ``uri``, with a JVM that runs as long as the context lasts; see ``opened_files`` of the logs."""
    try:
        if spool is not None:
            # A process that was killed leaves its pieces.
            shutil.rmtree(spool, ignore_errors=True)
            # Nobody else may read a log in HDFS, and so nobody else may read its copy.
            spool.mkdir(mode=0o700, parents=True)
        folder = Path(tempfile.mkdtemp(prefix="aqe-plugin-")) if spool is None else spool
    except OSError as error:
        raise EventLogError(f"{spool or tempfile.gettempdir()}: cannot be written ({error.strerror}).") from error
    jvm = HadoopJvm(conf)
    try:
        jvm.start()
        yield HadoopFiles(uri, jvm, folder)
    finally:
        jvm.close()
        shutil.rmtree(folder, ignore_errors=True)


def _listed(status: Any) -> _Listed:
    return _Listed(
        str(status.getPath().getName()),
        bool(status.isDirectory()),
        int(status.getLen()),
        int(status.getModificationTime()),
    )


def _copied(copy: Any, source: Any, target: Any, size_bytes: int) -> None:
    # Not Hadoop's own IOUtils: for a small length, py4j picks its overload with a buffer size, which copies everything.
    try:
        copy(source, target, 0, size_bytes)
    finally:
        target.close()


def _sought(source: Any, to_bytes: int) -> bool:
    """Seeks to that offset; ``False`` when the file is shorter."""
    from py4j.protocol import Py4JJavaError

    try:
        source.seek(to_bytes)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.io.EOFException":
            return False
        raise
    return True
