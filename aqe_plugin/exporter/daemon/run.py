"""The daemon: reads on, stores, tunes when it is time, and waits, until a signal stops it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from structlog.typing import FilteringBoundLogger

from aqe_plugin.errors import WriteError
from aqe_plugin.exporter import EventLogCollector, Tally, listening, on_signals, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.exporter.daemon.tuner import Schedule, Tuner
from aqe_plugin.exporter.server import opened_folder, require_folder
from aqe_plugin.logs import EventSource
from aqe_plugin.logs.access import Access
from aqe_plugin.logs.addresses import conf_of, is_hadoop_uri, is_url
from aqe_plugin.logs.history_server import HistoryServerFollower
from aqe_plugin.render.messages import say


def serve_for_good(
    source: str,
    checkpoint: Path | None,
    *,
    port: int,
    address: str,
    applications: int,
    every_seconds: float,
    schedule: Schedule | None = None,
    hadoop_conf: Sequence[str] = (),
    access: Access | None = None,
) -> None:
    """Watches ``source`` until SIGTERM or SIGINT, and then stores what was counted.

    A checkpoint that cannot be written, on a full disk say, is logged and tried again before more is read; the metrics
    show what is stored.

    Args:
        source: a folder of event logs, its address in a Hadoop file system, or the address of a History Server.
        checkpoint: the file that keeps what was counted; without it, nothing is kept.
        applications: how many applications, the latest, have metrics of their own.
        every_seconds: from the end of one read to the start of the next.
        schedule: when to tune, and with which command; ``None`` for never.
        hadoop_conf: ``KEY=VALUE`` for Hadoop's file systems.
        access: the rights for requests to a History Server.
    """
    log, stop = stderr_log(), threading.Event()
    conf = conf_of(hadoop_conf)
    if not is_url(source):
        require_folder(source)
    with ExitStack() as held:
        held.enter_context(on_signals(lambda *_: stop.set()))
        if checkpoint is None:
            checkpoint = Path(held.enter_context(TemporaryDirectory(prefix="aqe-plugin-run-"))) / "checkpoint.db"
        path = checkpoint.resolve()
        stored = held.enter_context(opened(path, _name_of(source)))
        tally = Tally(applications)
        stored.restore(tally)
        if is_url(source):
            follower: EventSource = HistoryServerFollower(source, path.parent, stop, stored.offsets(), access=access)
        else:
            # Beside the checkpoint, whose lock excludes other processes.
            spool = path.with_name(f"{path.name}.spool")
            follower = held.enter_context(opened_folder(source, conf, spool, stored.offsets()))
        collector = EventLogCollector(follower, tally, log, stored.write, stop.is_set)
        served = held.enter_context(listening(collector, port, address))
        say(f"Serving http://{address}:{served}/metrics - Ctrl-C stops.")
        log.info("watching", source=source, checkpoint=str(checkpoint), files=collector.files)
        tuner = None
        if schedule is not None:
            journal = path.with_name(f"{path.name}.tuning.jsonl")
            if schedule.target:
                log.info("changes are rolled out", target=schedule.target)
            tuner = Tuner(schedule, stored, journal, log)
            held.callback(tuner.close)
        while not stop.is_set():
            _read_on(collector, log)
            if tuner is not None:
                tuner.poll()
            stop.wait(every_seconds)
        collector.store()
        log.info("stopped", files=collector.files)


def _name_of(source: str) -> str:
    return source.rstrip("/") if is_url(source) or is_hadoop_uri(source) else str(Path(source).resolve())


def _read_on(collector: EventLogCollector, log: FilteringBoundLogger) -> None:
    was_ready = collector.ready
    try:
        collector.read_on()
    except WriteError as error:
        log.error("checkpoint not written", error=str(error))  # noqa: TRY400 - no trace for a full disk
    if collector.ready and not was_ready:
        log.info("event logs read", files=collector.files)
