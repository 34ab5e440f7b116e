"""Progress of long work: of reading logs, and of measuring in rounds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

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
    bar = _bar(console, TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # A disabled bar of an older rich prints a line end when it stops.
    with nullcontext() if bar.disable else bar:
        yield LogProgress(bar)


class RoundsProgress:
    """Which round of a measurement runs; :func:`rounds_progress` makes one."""

    def __init__(self, bar: Progress, console: Console, runs_of_a_round: int, seconds: float) -> None:
        self._bar = bar
        self._console = console
        self._runs_of_a_round = runs_of_a_round
        self._seconds = seconds
        self._begin = time.monotonic()
        self._round = -1
        self._runs = 0
        self._task = bar.add_task("", total=seconds)

    def ran(self, turn: int, name: str) -> None:
        """The run ``name`` of round ``turn`` begins; round 0 warms up."""
        spent = time.monotonic() - self._begin
        description = f"{'warm-up' if turn == 0 else f'round {turn}'}, {name}"
        # Of a short limit, the least number of rounds takes longer.
        total = max(self._seconds, spent * (1 + self._runs_of_a_round / max(1, self._runs)))
        self._bar.update(self._task, description=description, completed=spent, total=total)
        if turn != self._round and self._bar.disable:
            self._console.print(f"{'Warm-up' if turn == 0 else f'Round {turn}'}, after {spent:.0f} s", highlight=False)
        self._round = turn
        self._runs += 1


@contextmanager
def rounds_progress(console: Console, runs_of_a_round: int, seconds: float) -> Iterator[RoundsProgress]:
    """A bar on ``console`` while the context lasts if that is a terminal with a cursor, else a line a round.

    Args:
        seconds: how long the measurement takes.
    """
    bar = _bar(console, TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with nullcontext() if bar.disable else bar:
        yield RoundsProgress(bar, console, runs_of_a_round, seconds)


def _bar(console: Console, *columns: ProgressColumn) -> Progress:
    return Progress(
        *columns,
        console=console,
        transient=True,
        # Other output keeps its own stream.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_interactive,
    )
