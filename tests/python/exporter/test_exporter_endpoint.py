"""The exporter's answers to probes, scrapes and unknown paths."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from aqe_plugin.exporter import server, stderr_log
from aqe_plugin.exporter.collector import EventLogCollector
from aqe_plugin.exporter.tally import Tally
from aqe_plugin.logs import FolderFollower, Record
from exporting import serve
from samples import write_log


def ask(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def test_the_daemon_is_healthy_and_ready_once_the_logs_are_read(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1")
    with serve(str(tmp_path), 0) as port:
        assert ask(port, "/healthz") == ask(port, "/readyz") == (200, "ok\n")
        assert ask(port, "/metrics")[0] == 200
        assert ask(port, "/") == (200, "aqe-plugin: /metrics /healthz /readyz\n")


def test_an_unknown_path_answers_404(tmp_path: Path) -> None:
    with serve(str(tmp_path), 0) as port:
        assert ask(port, "/secrets") == (404, "not found: there are /metrics, /healthz and /readyz\n")


def test_while_the_logs_are_read_it_is_healthy_and_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go_on, done = threading.Event(), threading.Event(), threading.Event()

    class Slow(FolderFollower):
        def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
            reading.set()
            assert go_on.wait(30)
            yield from super().poll()

    monkeypatch.setattr(server, "FolderFollower", Slow)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def serve_until_done() -> None:
        with serve(str(tmp_path), port):
            ready.set()
            assert done.wait(30)

    ready = threading.Event()
    exporter = threading.Thread(target=serve_until_done)
    exporter.start()
    try:
        assert reading.wait(30)
        assert ask(port, "/healthz") == (200, "ok\n")
        assert ask(port, "/readyz") == (503, "the event logs are still being read\n")
        go_on.set()
        assert ready.wait(30)
        assert ask(port, "/readyz") == (200, "ok\n")
    finally:
        go_on.set()
        done.set()
        exporter.join()


def test_a_folder_that_could_not_be_read_yet_is_not_ready(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    collector = EventLogCollector(FolderFollower(folder), Tally(), stderr_log())
    collector.read_on()
    assert not collector.ready
    folder.mkdir()
    collector.read_on()
    assert collector.ready


def test_a_silent_client_does_not_block_others(tmp_path: Path) -> None:
    with (
        serve(str(tmp_path), 0) as port,
        socket.create_connection(("127.0.0.1", port)),
    ):
        assert ask(port, "/metrics")[0] == 200


def test_the_exporter_serves_on_an_ipv6_address(tmp_path: Path) -> None:
    with serve(str(tmp_path), 0, "::1") as port, socket.create_connection(("::1", port)) as one:
        one.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200 OK" in one.recv(1000)
