"""The progress of reading logs, for whoever watches a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class LogProgress:
    """A line with the logs read, their number, and the time so far; a :class:`~aqe_plugin.logs.queries.Progress`.

    Attributes:
        logs: the number of logs found so far.
    """

    def __init__(self, line: Progress) -> None:
        self._line = line
        self._task = line.add_task("reading logs", total=0)
        self.logs = 0

    def found(self, logs: int) -> None:
        self.logs += logs
        self._line.update(self._task, total=self.logs)
        self._line.start()

    def done(self) -> None:
        self._line.advance(self._task)

    def stop(self) -> None:
        """Removes the line, to make room for what is printed now."""
        self._line.stop()


@contextmanager
def log_progress(console: Console) -> Iterator[LogProgress]:
    """The progress on ``console``, shown if that is a terminal; removed when the context ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Other output keeps its own stream.
    line = Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    )
    progress = LogProgress(line)
    try:
        yield progress
    finally:
        progress.stop()
