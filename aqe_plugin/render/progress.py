"""The progress of reading logs, for whoever watches a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def log_progress(console: Console) -> Progress:
    """A line on ``console`` for what is tracked, if that is a terminal; removed when its context ends."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        # Other output keeps its own stream.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    )
