"""What is served under which path, as a WSGI application.

``/metrics`` is what Prometheus reads. ``/healthz`` says that the process answers; ``/readyz`` that the logs were read
to their end once, so that sums are whole: 200 then, 503 before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, make_wsgi_app

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["endpoint"]

_PLAIN_TEXT = ("Content-Type", "text/plain; charset=utf-8")


def endpoint(registry: CollectorRegistry, ready: Callable[[], bool]) -> WSGIApplication:
    """Answers for the metrics of ``registry``; ``ready`` must answer at once."""
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            return metrics(environ, start_response)  # type: ignore[no-any-return]  # typed as a bare Callable
        status, text = _page(path, ready)
        start_response(status, [_PLAIN_TEXT])
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
