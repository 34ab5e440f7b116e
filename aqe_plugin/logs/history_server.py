"""Follows the event logs of a Spark History Server, which serves each application's log as a zip archive.

Each poll lists the applications and fetches the logs that changed. A log is on disk only while it is read. Spark
documents the API under "Monitoring and Instrumentation, REST API".
"""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tenacity import (
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_after_attempt,
    stop_when_event_set,
    wait_exponential,
)

from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.logs.access import Access
from aqe_plugin.logs.files import Files
from aqe_plugin.logs.follow import Failures, LogFollower
from aqe_plugin.logs.layout import find_event_logs
from aqe_plugin.logs.offsets import FileOffsets
from aqe_plugin.logs.reader import Record

_CHUNK_BYTES = 256 * 1024
_MAX_LIST_BYTES = 256 * 1024 * 1024
_ATTEMPTS = 3
_BUSY_STATUS = 429
_HINTS = {
    http.client.UNAUTHORIZED: " Set history-user and history-password, or history-token, for aqe-plugin run.",
    http.client.FORBIDDEN: " This user has no right to see it (spark.history.ui.acls).",
}
_SERVER_STATUS = 500
# Members of an attempt, one of which changes whenever its log does.
_CHANGING = ("lastUpdatedEpoch", "endTimeEpoch", "completed")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt of an application; ``version`` changes whenever its log does."""

    application: str
    attempt: str
    version: str
    completed: bool

    @property
    def name(self) -> str:
        """Spark's name for its log."""
        return f"{self.application}_{self.attempt}" if self.attempt else self.application

    @property
    def path(self) -> str:
        parts = ["applications", self.application, *([self.attempt] if self.attempt else []), "logs"]
        return "/".join(urllib.parse.quote(part, safe="") for part in parts)


class HistoryServerFollower:
    """An :class:`~aqe_plugin.logs.EventSource` over the REST API of a History Server.

    Args:
        url: the server's address, e.g. ``http://history:18080``.
        spool: an existing folder with space for the largest log, packed and unpacked.
        stop: ends waiting and fetching.
        timeout_seconds: for each answer, and each piece of one.
    """

    def __init__(
        self,
        url: str,
        spool: Path,
        stop: threading.Event,
        offsets: FileOffsets | None = None,
        *,
        access: Access | None = None,
        timeout_seconds: float = 30,
    ) -> None:
        self._url = url.rstrip("/")
        self._spool = spool
        self._stop = stop
        self._timeout_seconds = timeout_seconds
        self._access = access or Access()
        # When the log of each running application was last fetched.
        self._fetched: dict[str, float] = {}
        self._follower = LogFollower(Files(), offsets)

    @property
    def offsets(self) -> FileOffsets:
        return self._follower.offsets

    def poll(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """See :class:`~aqe_plugin.logs.EventSource`.

        Raises:
            EventLogError: the server did not answer, or some logs could not be fetched; the next call fetches them.
        """
        attempts = self._retried(self._attempts)
        failures = Failures()
        for attempt in attempts:
            if self._stop.is_set() or failures.too_many:
                break
            if not self._is_read(attempt) and self._is_due(attempt):
                with failures.counted():
                    yield from self._attempt(attempt)
        running = {attempt.name for attempt in attempts if not attempt.completed}
        self._fetched = {name: at for name, at in self._fetched.items() if name in running}
        if attempts and not self._stop.is_set():
            self._follower.forget({key for attempt in attempts for key in self.offsets.of(attempt.name)})
        failures.raise_any()

    def _is_read(self, attempt: _Attempt) -> bool:
        files = self.offsets.of(attempt.name).values()
        return bool(files) and all(file.version == attempt.version for file in files if file.missing_since is None)

    def _is_due(self, attempt: _Attempt) -> bool:
        """Whether it has finished, or is asked for while it runs and was not fetched a moment ago.

        The log of a running application changes all the time, and the server only gives all of it.
        """
        if attempt.completed:
            self._fetched.pop(attempt.name, None)
            return True
        every_seconds = self._access.running_every_seconds
        last = self._fetched.get(attempt.name)
        return every_seconds is not None and (last is None or time.monotonic() - last >= every_seconds)

    def _attempt(self, attempt: _Attempt) -> Iterator[tuple[str, Iterator[Record]]]:
        with self._folder() as folder:
            if not self._retried(lambda: self._fetch(attempt, folder)):
                return
            try:
                logs = find_event_logs(folder)
            except NoDataError:
                logs = []
            for log in logs:
                keys = {part.path: f"{attempt.name}/{part.key.relative_to(folder)}" for part in log.parts}
                yield from self._follower.read(log, attempt.name, keys, whole=True)
        if not attempt.completed:
            self._fetched[attempt.name] = time.monotonic()
        for key, file in self.offsets.of(attempt.name).items():
            self.offsets.put(key, replace(file, version=attempt.version))

    def _attempts(self) -> list[_Attempt]:
        try:
            with self._get("applications") as answer:
                listed = json.loads(answer.read(_MAX_LIST_BYTES))
            return [
                _Attempt(
                    application=str(application["id"]),
                    attempt=str(attempt.get("attemptId") or ""),
                    version=" ".join(str(attempt.get(member)) for member in _CHANGING),
                    completed=attempt.get("completed") is not False,
                )
                for application in listed
                for attempt in application["attempts"]
            ]
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise EventLogError(f"{self._url}: the answer is not that of a Spark History Server.") from error

    def _fetch(self, attempt: _Attempt, folder: Path) -> bool:
        """Whether the server still has that log, which is then in ``folder``."""
        try:
            answer = self._get(attempt.path)
        except urllib.error.HTTPError as refusal:
            if refusal.code == http.client.NOT_FOUND:
                return False
            raise
        with answer, tempfile.TemporaryFile(dir=self._spool) as archive:
            while chunk := answer.read(_CHUNK_BYTES):
                if self._stop.is_set():
                    raise EventLogError(f"{attempt.name}: not fetched, because aqe-plugin stops.")
                archive.write(chunk)
            with zipfile.ZipFile(archive) as packed:
                self._unpack(packed, folder)
        return True

    def _unpack(self, packed: zipfile.ZipFile, folder: Path) -> None:
        if sum(entry.file_size for entry in packed.infolist()) > shutil.disk_usage(folder).free:
            raise EventLogError(f"{self._spool}: no space for a log of the History Server.")
        # Whatever the names in it, all of it comes to lie in the folder.
        packed.extractall(folder)

    def _get(self, path: str) -> Any:
        request = urllib.request.Request(f"{self._url}/api/v1/{path}", headers={"Accept": "*/*"})  # noqa: S310 - checked
        if self._access.authorization:
            # A redirect must not carry it to another server.
            request.add_unredirected_header("Authorization", self._access.authorization)
        return urllib.request.urlopen(request, timeout=self._timeout_seconds)  # noqa: S310 - by the command line

    def _retried(self, ask: Callable[[], T]) -> T:
        """The answer of ``ask``, tried at most three times.

        Raises:
            EventLogError: the server did not answer, or refused.
        """
        retrying = Retrying(
            retry=retry_if_exception(_is_passing),
            stop=stop_after_attempt(_ATTEMPTS) | stop_when_event_set(self._stop),
            wait=wait_exponential(0.2, max=5),
            sleep=sleep_using_event(self._stop),
            reraise=True,
        )
        try:
            return retrying(ask)
        except urllib.error.HTTPError as error:
            hint = _HINTS.get(error.code, "")
            raise EventLogError(
                f"{error.url}: the History Server answers {error.code} {error.reason}.{hint}"
            ) from error
        except (OSError, http.client.HTTPException, zipfile.BadZipFile, ValueError) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise EventLogError(f"{self._url}: the History Server cannot be read ({reason}).") from error

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        try:
            folder = tempfile.TemporaryDirectory(dir=self._spool, ignore_cleanup_errors=True)
        except OSError as error:
            raise EventLogError(f"{self._spool}: cannot be written ({error.strerror}).") from error
        with folder as name:
            yield Path(name)


def _is_passing(error: BaseException) -> bool:
    """Whether another try may help."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code == _BUSY_STATUS or error.code >= _SERVER_STATUS
    network = (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException)
    # An answer that was cut off is not valid JSON, and no archive.
    return isinstance(error, (*network, ValueError, zipfile.BadZipFile))
