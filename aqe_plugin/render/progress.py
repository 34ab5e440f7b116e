"""The progress of reading logs, for whoever watches a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class LogProgress:
    """A line with the logs read, their number, and the time so far; nothing where there is no terminal.

    It is a :class:`~aqe_plugin.logs.queries.Progress`.
    """

    def __init__(self, line: Progress | None) -> None:
        self._line = line
        self._task: TaskID | None = None
        self._found = 0

    def found(self, logs: int) -> None:
        self._found += logs
        if self._line is None:
            return
        if self._task is None:
            self._task = self._line.add_task("reading logs", total=self._found)
            self._line.start()
        self._line.update(self._task, total=self._found)

    def done(self) -> None:
        if self._line is not None and self._task is not None:
            self._line.advance(self._task)

    def stop(self) -> None:
        """Removes the line for good, to make room for what is printed now."""
        if self._line is not None:
            self._line.stop()
            self._line = None


@contextmanager
def log_progress(console: Console) -> Iterator[LogProgress]:
    """The progress on ``console``, if that is a terminal; removed when the context ends."""
    progress = LogProgress(_line(console) if console.is_terminal else None)
    try:
        yield progress
    finally:
        progress.stop()


def _line(console: Console) -> Progress:
    # Slow to import, and only a terminal needs it.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # Other output keeps its own stream.
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
