"""A History Server as the source: a real HTTP server that answers as Spark's does, and sometimes does not."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tenacity import wait_none

from aqe_plugin.errors import EventLogError
from aqe_plugin.exporter import EventLogCollector, Tally, stderr_log
from aqe_plugin.service.checkpoint import opened
from aqe_plugin.sources import history_server
from aqe_plugin.sources.history_server import HistoryServerFollower
from daemons import daemon
from samples import LOG_START, log_bytes, query_lines, zstd_stream
from watching import CODES, Sums, sums


class HistoryServer:
    """Applications by ``id`` or ``id/attempt``, each with the files of its log; ``faults`` come first, then answers."""

    def __init__(self) -> None:
        self.logs: dict[str, dict[str, bytes]] = {}
        self.updated: Counter[str] = Counter()
        self.faults: list[int | bytes] = []
        self.asked: list[str] = []
        self.stands_for: bytes | None = None
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.asked.append(self.path)
                fault = fake.faults.pop(0) if fake.faults else 200
                body = fake.body(self.path.removeprefix("/api/v1/"))
                if isinstance(fault, bytes):
                    # Cut off within the answer.
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body or b"") + 100))
                    self.end_headers()
                    self.wfile.write((body or b"")[:50] + fault)
                    return
                status = 404 if body is None and fault == 200 else fault
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body if body is not None and status == 200 else b"sorry")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def put(self, name: str, **files: bytes) -> None:
        """Makes these an application's log; in their names ``__`` stands for a slash, ``_zstd`` for ``.zstd``."""
        self.logs[name] = {key.replace("__", "/").replace("_zstd", ".zstd"): data for key, data in files.items()}
        self.updated[name] += 1

    def body(self, path: str) -> bytes | None:
        if self.stands_for is not None:
            return self.stands_for
        if path == "applications":
            return json.dumps(self._listed()).encode()
        files = self.logs.get(path.removeprefix("applications/").removesuffix("/logs"))
        if files is None:
            return None
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return packed.getvalue()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _listed(self) -> list[dict[str, object]]:
        listed: dict[str, list[dict[str, object]]] = {}
        for name in self.logs:
            application, _, attempt = name.partition("/")
            told = {"lastUpdatedEpoch": 1_700_000_000_000 + self.updated[name], "completed": True, "endTimeEpoch": 7}
            listed.setdefault(application, []).append({**told, **({"attemptId": attempt} if attempt else {})})
        return [{"id": application, "name": "nightly", "attempts": told} for application, told in listed.items()]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HistoryServer]:
    """A server, and a client that does not wait before it asks again."""
    monkeypatch.setattr(history_server, "wait_exponential", lambda *_, **__: wait_none())
    started = HistoryServer()
    try:
        yield started
    finally:
        started.close()


def read(server: HistoryServer, home: Path) -> Sums:
    """What a process that goes on from the checkpoint in ``home`` has after one look."""
    tally = Tally(CODES)
    with opened(home / "checkpoint.db", server.url) as kept:
        kept.restore(tally)
        follower = HistoryServerFollower(server.url, home, threading.Event(), kept.marks(), timeout_seconds=5)
        EventLogCollector(follower, tally, stderr_log(), kept).read_on()
    assert [path.name for path in home.iterdir() if "checkpoint" not in path.name] == []
    return sums(tally)


def fetched(server: HistoryServer) -> list[str]:
    """The logs that were asked for since the last call."""
    asked, server.asked = server.asked, []
    return [path.removeprefix("/api/v1/applications/") for path in asked if path.endswith("/logs")]


def test_every_attempt_is_read_and_again_only_when_it_changed(server: HistoryServer, tmp_path: Path) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.put("app-2/1", app_2_1_zstd=zstd_stream(log_bytes(query_lines(1))))
    server.put("app-2/2", eventlog_v2_app_2_2__events_1_app=LOG_START + b"".join(query_lines(1)))
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 3
    assert fetched(server) == ["app-1/logs", "app-2/1/logs", "app-2/2/logs"]
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 3
    assert fetched(server) == []
    server.put(
        "app-2/2",
        eventlog_v2_app_2_2__events_1_app=LOG_START + b"".join(query_lines(1) + query_lines(2)),
        eventlog_v2_app_2_2__events_2_app=LOG_START + b"".join(query_lines(3)),
    )
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 5
    assert fetched(server) == ["app-2/2/logs"]


@pytest.mark.parametrize("fault", [500, 503, 429, b"cut"], ids=str)
def test_a_passing_fault_is_asked_again_at_once(server: HistoryServer, tmp_path: Path, fault: int | bytes) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.faults = [fault, fault, 200, fault, fault]
    told = read(server, tmp_path)
    assert told["aqe_plugin_queries_total",] == 1
    assert told["aqe_plugin_exporter_read_errors_total",] == 0


def test_a_server_that_stays_away_is_told_and_nothing_is_lost_or_doubled(
    server: HistoryServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.put("app-2", app_2=log_bytes(query_lines(1)))
    server.faults = [500] * 3
    assert read(server, tmp_path)["aqe_plugin_exporter_read_errors_total",] == 1
    assert f"{server.url}/api/v1/applications: the History Server answers 500" in capsys.readouterr().err
    server.faults = [200, 200, *[503] * 3]
    told = read(server, tmp_path)
    assert told["aqe_plugin_queries_total",] == 1
    assert told["aqe_plugin_exporter_read_errors_total",] == 2
    assert "1 logs could not be fetched, the first: " in capsys.readouterr().err
    fetched(server)
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 2
    assert fetched(server) == ["app-2/logs"]


def test_a_log_that_is_gone_when_it_is_asked_for_is_no_error(server: HistoryServer, tmp_path: Path) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.faults = [200, 404]
    told = read(server, tmp_path)
    assert (told["aqe_plugin_queries_total",], told["aqe_plugin_exporter_read_errors_total",]) == (0, 0)
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 1


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a/b/outside", "..\\outside", ".."])
def test_no_entry_of_an_archive_leaves_the_folder(server: HistoryServer, tmp_path: Path, name: str) -> None:
    home = tmp_path / "a" / "home"
    home.mkdir(parents=True)
    server.logs["app-1"] = {name: b"x", "app-1": log_bytes(query_lines(1))}
    assert read(server, home)["aqe_plugin_queries_total",] == 1
    assert not list(tmp_path.rglob("*outside*"))


@pytest.mark.parametrize("answer", [b'{"message": "hello"}', b"[" * 200_000])
def test_another_server_is_told_apart(server: HistoryServer, tmp_path: Path, answer: bytes) -> None:
    server.stands_for = answer
    follower = HistoryServerFollower(server.url, tmp_path, threading.Event())
    with pytest.raises(EventLogError) as error:
        next(follower.poll())
    assert str(error.value) == f"{server.url}: answers, but not as a Spark History Server does."


def test_when_it_is_to_stop_nobody_is_waited_for(server: HistoryServer, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    server.faults = [503] * 9
    with pytest.raises(EventLogError):
        next(HistoryServerFollower(server.url, tmp_path, stop).poll())
    assert len(server.asked) == 1


def test_the_daemon_watches_a_history_server(server: HistoryServer, tmp_path: Path) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    with daemon(server.url, tmp_path / "checkpoint.db") as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 1)
        server.put("app-1", app_1=log_bytes(query_lines(1), query_lines(2)))
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 2)
        running.process.kill()
    server.put("app-2", app_2=log_bytes(query_lines(1)))
    with daemon(f"{server.url}/", tmp_path / "checkpoint.db") as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 3)
