"""The HTTP server that Prometheus scrapes.

``/metrics`` has the metrics. ``/healthz`` answers 200 while the process runs, ``/readyz`` once the logs were read to
their end and sums are complete; before, it answers 503.
"""

from __future__ import annotations

import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from types import FrameType
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from structlog.typing import EventDict, FilteringBoundLogger

from aqe_plugin.errors import ConfError, EventLogError, NoDataError, PortInUseError
from aqe_plugin.exporter.collector import EventLogCollector
from aqe_plugin.logs import FileOffsets, FolderFollower
from aqe_plugin.logs.addresses import is_hadoop_uri
from aqe_plugin.logs.files import opened_files
from aqe_plugin.render.terminal import visible

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# How often the server checks whether to stop.
_SHUTDOWN_LOOK_SECONDS = 0.1


@contextmanager
def opened_folder(
    folder: str,
    hadoop_conf: Mapping[str, str] | None = None,
    spool: Path | None = None,
    offsets: FileOffsets | None = None,
) -> Iterator[FolderFollower]:
    """Follows ``folder``, a path or an address in a Hadoop file system; arguments as for ``opened_files``."""
    require_folder(folder)
    with opened_files(folder, hadoop_conf, spool) as files:
        if is_hadoop_uri(folder):
            with suppress(NoDataError):
                files.find()
        yield FolderFollower(files, offsets)


def require_folder(folder: str) -> None:
    """Checks that a local folder exists; an address is checked when it is opened.

    Raises:
        EventLogError: the folder does not exist.
    """
    if not is_hadoop_uri(folder) and not Path(folder).is_dir():
        raise EventLogError(f"{folder}: no such folder; give the folder that spark.eventLog.dir names.")


@contextmanager
def listening(collector: EventLogCollector, port: int, address: str) -> Iterator[int]:
    """Serves ``collector`` while the context lasts, and gives the port (0 asks for any free one).

    Raises:
        PortInUseError: another process listens on that port.
        ConfError: the address or port is not one of this machine's, or may not be used.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    try:
        server = _Server(address, port)
    except UnicodeError as error:
        raise ConfError(f"Cannot listen on {address}: not the name of a machine.") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(f"Port {port} is in use on {address}: choose another with --port.") from error
        raise ConfError(f"Cannot listen on {address} port {port}: {error.strerror or error}.") from error
    server.set_app(_endpoint(registry, lambda: collector.ready))
    thread = threading.Thread(
        target=server.serve_forever, args=(_SHUTDOWN_LOOK_SECONDS,), name="aqe-plugin exporter", daemon=True
    )
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def on_signals(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``handle`` while the context lasts.

    The first process of a container ignores a signal that it does not handle.
    """
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _endpoint(registry: CollectorRegistry, ready: Callable[[], bool]) -> WSGIApplication:
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            return metrics(environ, start_response)  # type: ignore[no-any-return]  # typed as a bare Callable
        status, text = _page(path, ready)
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [text.encode()]

    return answer


def _page(path: str, ready: Callable[[], bool]) -> tuple[str, str]:
    if path == "/healthz":
        return "200 OK", "ok\n"
    if path == "/readyz":
        return ("200 OK", "ok\n") if ready() else ("503 Service Unavailable", "the event logs are still being read\n")
    if path == "/":
        return "200 OK", "aqe-plugin: /metrics /healthz /readyz\n"
    return "404 Not Found", "not found: there are /metrics, /healthz and /readyz\n"


class _Handler(WSGIRequestHandler):
    """Drops a connection that is silent for ten seconds; logs no requests."""

    timeout = 10

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        pass


class _Server(ThreadingMixIn, WSGIServer):
    """A thread for each request, so a scrape that waits for the logs does not hold up a probe."""

    daemon_threads = True

    def __init__(self, address: str, port: int) -> None:
        family, *_, bound = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = family
        super().__init__((str(bound[0]), port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that disconnects is not logged."""


def _without_control(_: object, __: str, values: EventDict) -> EventDict:
    """File names and texts of logs are untrusted: control characters are logged as escapes."""
    return {key: visible(value) if isinstance(value, str) else value for key, value in values.items()}


def stderr_log() -> FilteringBoundLogger:
    """A logger that writes one ``key=value`` line for each event to standard error."""
    log: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            _without_control,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
    )
    return log
