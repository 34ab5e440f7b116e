"""Follows event logs in a Hadoop file system while applications write to them."""

from __future__ import annotations

from collections.abc import Iterator

from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.logs.file_offsets import Marks
from aqe_plugin.logs.follow import PartsFollower
from aqe_plugin.logs.hadoop.files import HadoopFiles
from aqe_plugin.logs.reader import Record

__all__ = ["HadoopFollower"]

# A file system that fails for so many logs in a row is not asked for the others until the next poll.
_FAILURES_IN_A_ROW = 3


class HadoopFollower:
    """An :class:`~aqe_plugin.logs.EventSource` over what ``files`` finds."""

    def __init__(self, files: HadoopFiles, marks: Marks | None = None) -> None:
        self._files = files
        self._follower = PartsFollower(marks or Marks(), files)

    @property
    def marks(self) -> Marks:
        return self._follower.marks

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """See :class:`~aqe_plugin.logs.EventSource`; a folder without content is no event.

        Raises:
            EventLogError: the folder is gone or cannot be listed, or some logs could not be read; the next call reads
                them.
        """
        try:
            logs = self._files.find()
        except NoDataError:
            # What is emptied by mistake, and filled again, is not to be counted anew.
            return
        failures: list[str] = []
        in_a_row = 0
        present: set[str] = set()
        for log in logs:
            keys = {part.path: str(part.key.relative_to(self._files.root)) for part in log.parts}
            present.update(keys.values())
            if in_a_row == _FAILURES_IN_A_ROW:
                continue
            try:
                yield from self._follower.read(log, log.name, keys)
                in_a_row = 0
            except EventLogError as error:
                failures.append(str(error))
                in_a_row += 1
        self._follower.forget(present)
        if failures:
            raise EventLogError(f"{len(failures)} logs could not be read, the first: {failures[0]}")
