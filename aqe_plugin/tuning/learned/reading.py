"""The history in event logs: of those that were read before from the store, of those that are new or grew from them.

The result is that of reading all logs anew, whatever the store holds and whatever becomes of it. Logs that are there
now count, each as it is now; a log that is gone counts no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.errors import StoreError
from aqe_plugin.logs.files import Files, opened_files
from aqe_plugin.logs.layout import EventLog
from aqe_plugin.logs.queries import Progress
from aqe_plugin.logs.reader import Skipped
from aqe_plugin.tuning.history import History
from aqe_plugin.tuning.learned.lesson import Lesson, learn, name_of, version_of
from aqe_plugin.tuning.learned.store import Store, opened

__all__ = ["Reading", "read_logs"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What some event logs hold.

    Attributes:
        skipped: how many of their lines, or whole files, could not be used; the first of them beside it.
        logs: how many logs there are; ``remembered`` of them were not read again.
        trouble: what is wrong with the store, in words; empty when nothing is.
    """

    history: History
    skipped: int
    first_skipped: Skipped | None
    logs: int
    remembered: int
    trouble: str


class _Memory:
    """A store until there is trouble with it, which is told once; from then on it holds nothing."""

    def __init__(self, store: Store | None, trouble: str = "") -> None:
        self.trouble = trouble
        self._store = store

    def get(self, name: str, version: str | None) -> Lesson | None:
        store = self._store
        return None if store is None or version is None else self._tried(lambda: store.get(name, version))

    def put(self, name: str, version: str | None, lesson: Lesson) -> None:
        store = self._store
        if store is not None and version is not None:
            self._tried(lambda: store.put(name, version, lesson))

    def write(self) -> None:
        if self._store is not None:
            self._tried(self._store.write)
        if self._store is not None and self._store.damaged:
            self.trouble = f"{self._store.damaged} of its entries were damaged, and are replaced"

    def _tried(self, work: Callable[[], Lesson | None]) -> Lesson | None:
        try:
            return work()
        except StoreError as error:
            self._store, self.trouble = None, str(error)
            return None


def read_logs(places: Sequence[str], hadoop_conf: Mapping[str, str], store: Path | None, progress: Progress) -> Reading:
    """Everything in the event logs at ``places``, in that order.

    Args:
        places: paths, or addresses that Spark opens with ``hadoop_conf``.
        store: the file in which lessons are kept, ``None`` to do without.

    Raises:
        EventLogError: one of the places is not there.
        NoDataError: one of them is a folder without any event log.
        SetupError: for an address, PySpark or Java is missing.
    """
    lessons: list[Lesson] = []
    first_skipped: Skipped | None = None
    remembered = 0
    with _memory(store) as memory:
        for place in places:
            with opened_files(place, hadoop_conf) as files:
                logs = files.find()
                progress.found(len(logs))
                for log in logs:
                    lesson, was_known = _lesson(log, files, name_of(log, files.base), memory)
                    lessons.append(lesson)
                    remembered += was_known
                    first_skipped = first_skipped or _first_skipped(log, lesson)
                    progress.done()
    return Reading(
        History(
            tuple(run for lesson in lessons for run in lesson.history.runs),
            tuple(failure for lesson in lessons for failure in lesson.history.failures),
        ),
        sum(lesson.skipped for lesson in lessons),
        first_skipped,
        len(lessons),
        remembered,
        memory.trouble,
    )


def _lesson(log: EventLog, files: Files, name: str, memory: _Memory) -> tuple[Lesson, bool]:
    """What ``log`` teaches, and whether that was known."""
    before = version_of(log, files)
    known = memory.get(name, before)
    if known is not None:
        return known, True
    lesson = learn(log, files)
    # What was written while it was read may be in the lesson or not.
    if version_of(log, files) == before:
        memory.put(name, before, lesson)
    return lesson, False


def _first_skipped(log: EventLog, lesson: Lesson) -> Skipped | None:
    first = lesson.first_skipped
    return None if first is None else Skipped(log.parts[0].path.with_name(first.file), first.line, first.why)


@contextmanager
def _memory(path: Path | None) -> Iterator[_Memory]:
    with ExitStack() as held:
        memory = _Memory(None)
        try:
            if path is not None:
                memory = _Memory(held.enter_context(opened(path)))
        except StoreError as error:
            memory = _Memory(None, str(error))
        # Also of what is stopped halfway: each lesson is whole.
        held.callback(memory.write)
        yield memory
