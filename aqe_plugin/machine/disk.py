"""Atomic changes of files: written beside, forced to disk, then renamed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from hashlib import sha256
from pathlib import Path

from aqe_plugin.errors import ConflictError, TargetError, WriteError

_NEW_FILE_MODE = 0o644
_PRIVATE_MODE = 0o600


def digest(content: bytes | None) -> str | None:
    """SHA-256 in hexadecimal, ``None`` for an absent file."""
    return None if content is None else sha256(content).hexdigest()


def read_or_none(path: Path) -> bytes | None:
    """The bytes of a file, ``None`` when it is absent.

    Raises:
        TargetError: it is a folder, a device or a pipe, or may not be read.
    """
    try:
        # Checked before opening: a device has no end, and opening a pipe waits for a writer.
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise TargetError(f"{path}: a device, a pipe or a socket. Give a file.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise TargetError(f"{path}: a folder, not a file. Give the file in it, e.g. {path}/spark-defaults.conf.") from (
            error
        )
    except OSError as error:
        raise TargetError(f"{path}: cannot be read ({error.strerror}). Run as a user who may read it.") from error


def permissions(path: Path) -> int | None:
    """The mode of a file, without its kind; ``None`` when it is absent."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def replace_file(
    path: Path, content: bytes | Iterable[bytes] | None, mode: int | None = None, keeps_mode: bool = True
) -> None:
    """Writes ``content`` to ``path``, or removes it for ``None``; readers see all of the old or all of the new content.

    Owner and mode stay; a new file gets ``mode``, and an old one too unless it ``keeps_mode``.

    Raises:
        WriteError: it failed, and the file is unchanged.
    """
    beside = path.with_name(f".{path.name}.aqe-plugin-{os.getpid()}.tmp")
    try:
        if content is None:
            path.unlink(missing_ok=True)
        else:
            _write_beside(beside, [content] if isinstance(content, bytes) else content, path, mode, keeps_mode)
            beside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def append_line(path: Path, line: bytes) -> None:
    """Appends one line, which only the owner may read, and forces it to disk.

    A truncated last line stays, as a line of its own.

    Raises:
        WriteError: it failed; a part of the line may be there.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _PRIVATE_MODE)
        try:
            size = os.fstat(descriptor).st_size
            whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
            _write_all(descriptor, (b"" if whole else b"\n") + line + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_folder(path.parent)
    except OSError as error:
        raise _not_written(path, error) from error


def make_folder(folder: Path, mode: int) -> None:
    """Creates a folder in an existing one.

    Raises:
        WriteError: it failed.
    """
    try:
        folder.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from error


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder above the journals of targets that are not files on this machine."""
    given = environment.get("XDG_STATE_HOME")
    return Path(given) if given else Path("~/.local/state").expanduser()


def make_state_folder(folder: Path) -> None:
    """Creates a folder below :func:`state_home`, and its parents.

    Raises:
        WriteError: it failed.
    """
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"{folder}: the folder of the journal cannot be created ({error.strerror}). "
            "Set XDG_STATE_HOME to a writable folder."
        ) from error


def leftovers(folder: Path, name: str | None = None) -> list[Path]:
    """Temporary files of killed writers in ``folder``, of the file ``name`` or of all files."""
    return sorted(folder.glob(f".{'*' if name is None else escape(name)}.aqe-plugin-*.tmp"))


@contextmanager
def lock(file: Path) -> Iterator[None]:
    """Locks ``file`` for this process; the system releases the lock when the process ends.

    Raises:
        ConflictError: another process holds the lock.
        TargetError: the file system has no locks.
        WriteError: the file cannot be created.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, _PRIVATE_MODE)
    except OSError as error:
        raise _not_written(file, error) from error
    try:
        _lock_at_once(descriptor, file)
        yield
    finally:
        os.close(descriptor)


def _lock_at_once(descriptor: int, file: Path) -> None:
    # Windows has no fcntl, and can read event logs.
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConflictError(
            f"{file}: another aqe-plugin is changing the same file. Wait until it is done and try again."
        ) from error
    except OSError as error:
        raise TargetError(
            f"{file}: its file system gives no lock ({error.strerror}), so two changes at once would not notice each "
            "other, and nothing was changed. Keep the conf on a file system with locks; NFS has them if it is mounted "
            "without nolock."
        ) from error


def _write_beside(beside: Path, parts: Iterable[bytes], path: Path, mode: int | None, keeps_mode: bool) -> None:
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_MODE)
    try:
        for part in parts:
            _write_all(descriptor, part)
        _copy_owner_and_mode(descriptor, path, mode)
        if mode is not None and not keeps_mode:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _copy_owner_and_mode(descriptor: int, path: Path, mode: int | None) -> None:
    try:
        present = path.stat()
    except FileNotFoundError:
        os.fchmod(descriptor, _NEW_FILE_MODE if mode is None else mode)
        return
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (present.st_uid, present.st_gid):
        os.fchown(descriptor, present.st_uid, present.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(present.st_mode))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_written(path: Path, error: OSError) -> WriteError:
    return WriteError(
        f"{path}: cannot be written ({error.strerror}), and holds what it held. "
        "Make sure that its folder is there, may be written by this user, and has space."
    )
