"""A History Server as the source: a real HTTP server that answers like Spark's, or with errors."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tenacity import wait_none

from aqe_plugin.errors import ConfError, EventLogError
from aqe_plugin.exporter import EventLogCollector, Tally, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import history_server
from aqe_plugin.logs.access import Access, access
from aqe_plugin.logs.history_server import HistoryServerFollower
from commands import Answer
from daemons import daemon
from http_servers import LocalServer
from samples import LOG_START, log_bytes, query_lines, zstd_stream
from watching import Sums, sums


class HistoryServer:
    """Applications by ``id`` or ``id/attempt``, each with the files of its log; ``faults`` come first, then answers."""

    def __init__(self) -> None:
        self.logs: dict[str, dict[str, bytes]] = {}
        self.updated: Counter[str] = Counter()
        self.faults: list[int | bytes] = []
        self.asked: list[str] = []
        self.stands_for: bytes | None = None
        self.asks_for = ""
        self.running: set[str] = set()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.asked.append(self.path)
                fault = fake.faults.pop(0) if fake.faults else 200
                if fake.asks_for and self.headers.get("Authorization") != fake.asks_for:
                    fault = 401
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

        self._server = LocalServer(("127.0.0.1", 0), Handler)
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
            found = {"lastUpdatedEpoch": 1_700_000_000_000 + self.updated[name], "endTimeEpoch": 7}
            found["completed"] = name not in self.running
            listed.setdefault(application, []).append({**found, **({"attemptId": attempt} if attempt else {})})
        return [{"id": application, "name": "nightly", "attempts": found} for application, found in listed.items()]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HistoryServer]:
    """A server, and a client that retries without waiting."""
    monkeypatch.setattr(history_server, "wait_exponential", lambda *_, **__: wait_none())
    started = HistoryServer()
    try:
        yield started
    finally:
        started.close()


def read(server: HistoryServer, home: Path, access: Access | None = None) -> Sums:
    """The sums after one poll, continued from the checkpoint in ``home``."""
    tally = Tally()
    with opened(home / "checkpoint.db", server.url) as kept:
        kept.restore(tally)
        follower = HistoryServerFollower(
            server.url, home, threading.Event(), kept.offsets(), access=access, timeout_seconds=5
        )
        EventLogCollector(follower, tally, stderr_log(), kept.write).read_on()
    assert [path.name for path in home.iterdir() if "checkpoint" not in path.name] == []
    return sums(tally)


def fetched(server: HistoryServer) -> list[str]:
    """The logs requested since the last call."""
    asked, server.asked = server.asked, []
    return [path.removeprefix("/api/v1/applications/") for path in asked if path.endswith("/logs")]


def test_every_attempt_is_read_once_and_again_only_after_a_change(server: HistoryServer, tmp_path: Path) -> None:
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
def test_a_temporary_error_is_retried_at_once(server: HistoryServer, tmp_path: Path, fault: int | bytes) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.faults = [fault, fault, 200, fault, fault]
    found = read(server, tmp_path)
    assert found["aqe_plugin_queries_total",] == 1
    assert found["aqe_plugin_exporter_read_errors_total",] == 0


def test_an_unreachable_server_is_reported_and_nothing_is_lost_or_doubled(
    server: HistoryServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.put("app-2", app_2=log_bytes(query_lines(1)))
    server.faults = [500] * 3
    assert read(server, tmp_path)["aqe_plugin_exporter_read_errors_total",] == 1
    assert f"{server.url}/api/v1/applications: the History Server answers 500" in capsys.readouterr().err
    server.faults = [200, 200, *[503] * 3]
    found = read(server, tmp_path)
    assert found["aqe_plugin_queries_total",] == 1
    assert found["aqe_plugin_exporter_read_errors_total",] == 2
    assert "1 log could not be read, the first: " in capsys.readouterr().err
    fetched(server)
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 2
    assert fetched(server) == ["app-2/logs"]


def test_a_log_deleted_since_it_was_listed_is_no_error(server: HistoryServer, tmp_path: Path) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.faults = [200, 404]
    found = read(server, tmp_path)
    assert (found["aqe_plugin_queries_total",], found["aqe_plugin_exporter_read_errors_total",]) == (0, 0)
    assert read(server, tmp_path)["aqe_plugin_queries_total",] == 1


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a/b/outside", "..\\outside"])
def test_archive_entries_are_unpacked_inside_the_folder_only(server: HistoryServer, tmp_path: Path, name: str) -> None:
    home = tmp_path / "a" / "home"
    home.mkdir(parents=True)
    server.logs["app-1"] = {name: b"x", "app-1": log_bytes(query_lines(1))}
    assert read(server, home)["aqe_plugin_queries_total",] == 1
    assert not list(tmp_path.rglob("*outside*"))


@pytest.mark.parametrize("answer", [b'{"message": "hello"}', b"[" * 200_000])
def test_a_server_that_is_no_history_server_is_an_error(server: HistoryServer, tmp_path: Path, answer: bytes) -> None:
    server.stands_for = answer
    follower = HistoryServerFollower(server.url, tmp_path, threading.Event())
    with pytest.raises(EventLogError) as error:
        next(follower.poll())
    assert server.url in str(error.value)


def test_a_stop_ends_waiting_for_the_server(server: HistoryServer, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    server.faults = [503] * 9
    with pytest.raises(EventLogError):
        next(HistoryServerFollower(server.url, tmp_path, stop).poll())
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("words", "header"),
    [(("ada", "pass:w\u00f6rd", None), "Basic YWRhOnBhc3M6d8O2cmQ="), ((None, None, "t0ken"), "Bearer t0ken")],
)
def test_a_password_is_sent_to_the_server(
    server: HistoryServer,
    tmp_path: Path,
    words: tuple[str | None, str | None, str | None],
    header: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    server.asks_for = header
    assert read(server, tmp_path)["aqe_plugin_exporter_read_errors_total",] == 1
    stderr = capsys.readouterr().err
    assert "answers 401 Unauthorized. Set history-user and history-password, or history-token, for " in stderr
    assert read(server, tmp_path, access(server.url, *words, 60))["aqe_plugin_queries_total",] == 1


def test_a_redirect_does_not_carry_the_password_to_another_server(server: HistoryServer, tmp_path: Path) -> None:
    seen: list[str | None] = []

    class SendsOn(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(302)
            self.send_header("Location", f"{server.url}/api/v1/applications")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            pass

    server.asks_for = "Bearer t0ken"
    with LocalServer(("127.0.0.1", 0), SendsOn) as sends_on:
        thread = threading.Thread(target=sends_on.serve_forever, args=(0.05,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{sends_on.server_port}"
            follower = HistoryServerFollower(url, tmp_path, threading.Event(), access=Access("Bearer t0ken"))
            with pytest.raises(EventLogError, match="answers 401"):
                next(follower.poll())
        finally:
            sends_on.shutdown()
            thread.join()
    assert seen == ["Bearer t0ken"]


def test_deleted_logs_are_forgotten_though_another_cannot_be_fetched(server: HistoryServer, tmp_path: Path) -> None:
    server.put("app-1", app_1=log_bytes(query_lines(1)))
    follower = HistoryServerFollower(server.url, tmp_path, threading.Event())
    assert sum(len(list(records)) for _, records in follower.poll()) > 0
    del server.logs["app-1"]
    server.put("app-2", app_2=log_bytes(query_lines(2)))
    server.faults = [200, 403]
    with pytest.raises(EventLogError, match=r"1 log could not be read, the first: .* answers 403"):
        list(follower.poll())
    (file,) = follower.offsets.of("app-1").values()
    assert file.missing_since is not None


@pytest.mark.parametrize(
    ("url", "words", "message"),
    [
        ("http://a:secret@h", (None, None, None), "The History Server's address contains a user: remove it, and set "),
        ("http://[::1", (None, None, None), "http://[::1: not the address of a server. Write it as http://HOST:18080."),
        ("http://h:none", (None, None, None), "http://h:none: not the address of a server."),
        ("http:///history", (None, None, None), "http:///history: not the address of a server."),
        ("http://h", ("ada", None, None), "history-password is not set: a user needs a password"),
        ("http://h", (None, "secret", None), "history-user is not set: a user needs a password"),
        ("http://h", ("ada", "secret", "secret"), "Set history-token, or history-user and history-password, not both."),
        ("http://h", (None, None, "secret\r\nX: y"), "history-token is invalid: expected printable ASCII"),
        ("http://h", ("a:b", "secret", None), "--history-user a:b: basic authentication allows no colon in a user."),
    ],
)
def test_invalid_credentials_are_refused_without_being_shown(
    url: str, words: tuple[str | None, str | None, str | None], message: str
) -> None:
    with pytest.raises(ConfError) as error:
        access(url, *words, 60)
    assert str(error.value).startswith(message)
    assert "secret" not in str(error.value)
    assert "secret" not in repr(access("http://h", "ada", "secret", None, 60))


def test_a_password_comes_from_the_environment_or_a_file_and_is_not_shown(
    tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for option in ("--history-password", "--history-token"):
        code, _, err = answer("run", "http://h", "--checkpoint", str(tmp_path / "c.db"), option, "hunter2")
        assert code == 5
        assert err.startswith(f"{option} is not taken from the command line, which others on this machine can read. ")
        assert "hunter2" not in err
    settings = tmp_path / "config.toml"
    settings.write_text('[run]\nhistory-password = "hunter2"\nhadoop-conf = ["fs.s3a.secret.key=hunter2", "a=b"]\n')
    monkeypatch.setenv("AQE_PLUGIN__RUN__HISTORY_TOKEN", "hunter2")
    for form in ("table", "json"):
        code, out, err = answer("--config", str(settings), "config", "run", "--format", form)
        assert (code, err) == (0, "")
        assert "hunter2" not in out
        assert "history-password" in out
    for wrong, shown in (
        ('hadoop-conf = "fs.s3a.secret.key=hunter2"', "hadoop-conf: expected a list"),
        ('history-password = ["hunter2"]', "history-password: expected one value"),
    ):
        settings.write_text(f"[run]\n{wrong}\n")
        code, out, err = answer("--config", str(settings), "config")
        assert (code, out) == (5, "")
        assert (err.startswith(f"{settings}: [run] {shown}"), "hunter2" in err) == (True, False)


def test_a_running_application_is_read_only_if_asked_for_and_then_not_at_every_poll(
    server: HistoryServer, tmp_path: Path
) -> None:
    server.running.add("app-1")
    server.put("app-1", app_1=log_bytes(query_lines(1)))

    def looks(every_seconds: float | None) -> list[str]:
        """The logs that four polls fetch; the log changes between the second and the third."""
        seldom = Access("", running_every_seconds=every_seconds)
        follower = HistoryServerFollower(server.url, tmp_path, threading.Event(), access=seldom)
        for number in range(4):
            for _, records in follower.poll():
                list(records)
            if number == 1:
                server.put("app-1", app_1=log_bytes(query_lines(1), query_lines(2)))
        return fetched(server)

    assert looks(None) == []
    assert looks(0) == ["app-1/logs"] * 2
    assert looks(3600) == ["app-1/logs"]
    server.running.clear()
    assert looks(None) == looks(3600) == ["app-1/logs"] * 2


@pytest.mark.process
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
