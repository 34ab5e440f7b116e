"""The daemon as a whole: source, checkpoint, endpoint and tuner, held together until a signal ends them."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from structlog.typing import FilteringBoundLogger

from aqe_plugin.exporter import EventLogCollector, Tally, listening, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import Checkpoint, opened
from aqe_plugin.exporter.daemon.loop import watch
from aqe_plugin.exporter.daemon.tuner import Tuner
from aqe_plugin.exporter.source import opened_folder, require_folder
from aqe_plugin.logs import EventSource
from aqe_plugin.logs.access import Access
from aqe_plugin.logs.addresses import is_hadoop_uri, is_url
from aqe_plugin.logs.hadoop import conf_of
from aqe_plugin.logs.history_server import HistoryServerFollower

__all__ = ["serve_for_good"]


def serve_for_good(
    source: str,
    checkpoint: Path,
    *,
    port: int,
    address: str,
    applications: int,
    every_seconds: float,
    tuning: tuple[tuple[str, ...], float] | None,
    hadoop_conf: Sequence[str] = (),
    access: Access | None = None,
) -> None:
    """Watches ``source`` until SIGTERM or SIGINT.

    Args:
        source: a folder of event logs, its address in a Hadoop file system, or that of a History Server.
        applications: so many, the latest, have metrics of their own.
        every_seconds: between two looks at the logs.
        tuning: the command that tunes, as its words, and the seconds between two of its runs; ``None`` for never.
        hadoop_conf: ``KEY=VALUE`` for Hadoop's file systems.
        access: what a History Server is asked with.

    Raises:
        EventLogError: ``source`` is no folder.
        CheckpointError: the checkpoint is damaged, of another version, or of another source.
        ConflictError: another aqe-plugin works with the same checkpoint.
        PortInUseError: someone else listens on that port.
        ConfError: the address or port is not one of this machine's, or may not be used.
        SetupError: a Hadoop file system is named, and PySpark or Java is missing.
        WriteError: the checkpoint could not be written at the end.
    """
    log, stop = stderr_log(), threading.Event()
    conf = conf_of(hadoop_conf)
    if not is_url(source):
        require_folder(source)
    with ExitStack() as held:
        held.enter_context(_stopped_by_signals(stop))
        kept = held.enter_context(opened(checkpoint, _name_of(source)))
        tally = Tally(applications)
        kept.restore(tally)
        follower = held.enter_context(_follower(source, checkpoint, kept, stop, conf, access))
        collector = EventLogCollector(follower, tally, log, kept, stop.is_set)
        served = held.enter_context(listening(collector, port, address))
        Console(stderr=True, soft_wrap=True).print(f"Serving http://{address}:{served}/metrics - Ctrl-C stops.")
        log.info("watching", source=source, checkpoint=str(checkpoint), files=collector.files)
        tuner = _tuner(tuning, kept, checkpoint, log, hadoop_conf)
        if tuner is not None:
            held.callback(tuner.close)
        watch(collector, every_seconds, stop, log, tuner.look if tuner is not None else lambda: None)
        log.info("stopped", files=collector.files)


def _name_of(source: str) -> str:
    return source.rstrip("/") if is_url(source) or is_hadoop_uri(source) else str(Path(source).resolve())


@contextmanager
def _follower(
    source: str,
    checkpoint: Path,
    kept: Checkpoint,
    stop: threading.Event,
    conf: Mapping[str, str],
    access: Access | None,
) -> Iterator[EventSource]:
    if is_url(source):
        folder = checkpoint.absolute().parent
        yield HistoryServerFollower(source, folder, stop, kept.offsets(), access=access)
    else:
        # Beside the checkpoint, whose lock keeps it to one process.
        spool = checkpoint.absolute().with_name(f"{checkpoint.name}.spool")
        with opened_folder(source, conf, spool, kept.offsets()) as follower:
            yield follower


def _tuner(
    tuning: tuple[tuple[str, ...], float] | None,
    kept: Checkpoint,
    checkpoint: Path,
    log: FilteringBoundLogger,
    hadoop_conf: Sequence[str],
) -> Tuner | None:
    if tuning is None:
        return None
    words, every_seconds = tuning
    journal = checkpoint.absolute().with_name(f"{checkpoint.name}.tuning.jsonl")
    # Not as words, which stand in the journal and in every list of processes.
    environment = {"AQE_PLUGIN__HADOOP_CONF": json.dumps(list(hadoop_conf))} if hadoop_conf else {}
    return Tuner(words, every_seconds, kept, journal, log, environment)


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM set ``stop``; what is at work ends at the next whole part."""
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
