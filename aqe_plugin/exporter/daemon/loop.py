"""The daemon's loop: read on, write down, tune when it is time, wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import WriteError
from aqe_plugin.exporter import EventLogCollector

__all__ = ["watch"]


def watch(
    collector: EventLogCollector,
    every_seconds: float,
    stop: threading.Event,
    log: FilteringBoundLogger,
    tune: Callable[[], None] = lambda: None,
) -> None:
    """Runs until ``stop`` is set; all that was counted is then written down.

    A checkpoint that cannot be written, e.g. on a full disk, is logged and tried again before more is read; the metrics
    stay at what is written down.

    Args:
        every_seconds: from the end of one read to the start of the next.
        tune: called after each read; must not wait.

    Raises:
        WriteError: at the end the checkpoint cannot be written; the next process reads again what is not in it.
    """
    while not stop.is_set():
        was_ready = collector.ready
        try:
            collector.read_on()
        except WriteError as error:
            log.error("checkpoint not written", error=str(error))  # noqa: TRY400 - no trace for a full disk
        if collector.ready and not was_ready:
            log.info("event logs read", files=collector.files)
        tune()
        # Not by the clock on the wall, which may go back.
        stop.wait(every_seconds)
    collector.write_down()
