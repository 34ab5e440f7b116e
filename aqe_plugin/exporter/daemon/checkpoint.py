"""The daemon's state in one file: the offsets of files and the sums of what was read up to them.

The file is replaced as a whole, so a process that is killed at any point leaves sums that match its offsets, and the
next continues from there: nothing is lost and nothing counted twice. Prometheus sees no counter fall over a restart, so
``rate`` and ``increase`` are right across it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from aqe_plugin.errors import ConfError, ConflictError, StateError, TargetError
from aqe_plugin.exporter.tally import Tally, TallyState
from aqe_plugin.logs import FileOffset, FileOffsets
from aqe_plugin.machine.disk import leftovers, lock, read_or_none, replace_file

SCHEMA_VERSION = 3
# It names every application.
_NEW_FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class State:
    """What is stored; ``tuned_at_seconds``, since 1970, is when the command that tunes was last started."""

    source: str
    offsets: dict[str, FileOffset]
    tally: TallyState
    tuned_at_seconds: float


class Checkpoint:
    """An open checkpoint, held by this process alone; ``opened`` makes one."""

    def __init__(self, path: Path, state: State) -> None:
        self._path = path
        self.state = state

    def offsets(self) -> FileOffsets:
        """How far each file was read."""
        return FileOffsets(self.state.offsets)

    def restore(self, tally: Tally) -> None:
        """Continues in ``tally``, which counted nothing yet, from the stored sums."""
        tally.restore(self.state.tally)

    def write(self, offsets: FileOffsets, tally: Tally) -> None:
        """Stores both.

        Raises:
            WriteError: nothing was stored.
        """
        self.put(replace(self.state, offsets=offsets.all(), tally=tally.state()))

    def put(self, state: State) -> None:
        """Stores ``state``, unless it is what the file holds; errors as of :meth:`write`."""
        if state != self.state:
            replace_file(self._path, _bytes(state), _NEW_FILE_MODE)
            self.state = state


@contextmanager
def opened(path: Path, source: str) -> Iterator[Checkpoint]:
    """The checkpoint at ``path``, created if needed, for as long as the context lasts.

    Args:
        path: the file, or a link to it, which stays a link. Only its owner may read a new file. A ``.lock``
            stands beside the file and, during a write, its next content.
        source: the name of the source, the same each time.

    Raises:
        ConflictError: another process works with it.
        ConfError: it belongs to another source.
        StateError: it is damaged, no checkpoint, or of another version.
        TargetError: it is a folder, or in none, or cannot be read.
        WriteError: it cannot be written.
    """
    path = path.resolve()
    if path.is_dir():
        raise TargetError(
            f"{path}: a folder, not a file. Give --checkpoint a file in it, e.g. {path / 'checkpoint.db'}."
        )
    if not path.parent.is_dir():
        raise TargetError(f"{path.parent}: no such folder. Create it (mkdir -p), or give another --checkpoint.")
    with ExitStack() as held:
        try:
            held.enter_context(lock(path.with_name(f"{path.name}.lock")))
        except ConflictError as error:
            raise ConflictError(
                f"{path}: another aqe-plugin runs with this checkpoint. Stop it, or give this one another --checkpoint "
                "and other logs: two over the same logs count everything twice."
            ) from error
        for left in leftovers(path.parent, path.name):
            replace_file(left, None)
        content = read_or_none(path)
        if content is None:
            content = _bytes(State(source, {}, Tally().state(), 0.0))
            replace_file(path, content, _NEW_FILE_MODE)
        state = _state(content, path)
        if state.source != source:
            raise ConfError(
                f"{path}: the checkpoint belongs to {state.source}, not to {source}. Give another --checkpoint."
            )
        yield Checkpoint(path, state)


def _bytes(state: State) -> bytes:
    # Python's own JSON keeps file names that are not UTF-8.
    return json.dumps({"schemaVersion": SCHEMA_VERSION, **msgspec.to_builtins(state)}).encode()


def _state(content: bytes, path: Path) -> State:
    try:
        value = json.loads(content)
        version = value["schemaVersion"]
        if version == SCHEMA_VERSION:
            return msgspec.convert(value, State)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = "it has no schemaVersion" if isinstance(error, KeyError | TypeError) else error
        raise StateError(
            f"{path}: not a checkpoint of aqe-plugin, or damaged ({why}). Give another --checkpoint, or move it "
            "away; counts then begin at 0."
        ) from error
    raise StateError(
        f"{path}: schemaVersion {version}, this aqe-plugin writes {SCHEMA_VERSION}. Use the aqe-plugin that wrote "
        "it, or give another --checkpoint; counts then begin at 0."
    )
