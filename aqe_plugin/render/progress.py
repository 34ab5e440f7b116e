"""Progress of reading logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


class LogProgress:
    """How many logs were read, of all sources together; :func:`log_progress` makes one.

    Attributes:
        read: the logs that were handed out and are done with.
    """

    def __init__(self, bar: Progress) -> None:
        self.read = 0
        self._found = 0
        self._bar = bar
        self._task = bar.add_task("reading logs", total=0)

    def track(self, logs: Sequence[T]) -> Iterator[T]:
        """Hands out the logs of one source, and counts each when the next is asked for."""
        self._found += len(logs)
        self._bar.update(self._task, total=self._found)
        for log in logs:
            yield log
            self.read += 1
            self._bar.update(self._task, completed=self.read)

    def hide(self) -> None:
        """Removes the bar for good; reading and counting go on."""
        if not self._bar.disable:
            self._bar.stop()


@contextmanager
def log_progress(console: Console) -> Iterator[LogProgress]:
    """A count of logs, with a bar on ``console`` while the context lasts if that is a terminal with a cursor."""
    bar = Progress(
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        console=console,
        transient=True,
        # Other output keeps its own stream.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_interactive,
    )
    # A disabled bar of an older rich prints a line end when it stops.
    with nullcontext() if bar.disable else bar:
        yield LogProgress(bar)
