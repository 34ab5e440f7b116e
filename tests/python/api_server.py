"""A real HTTP server that answers as a Kubernetes API server does, for the two verbs that are used of it.

What it keeps to: paths of core and custom resources, bearer tokens (401), a ``resourceVersion`` that grows with each
write and must match when a patch names one (409), a ``uid`` that no other object ever had, JSON Merge Patch (RFC 7396,
415 for other patches), ``dryRun=All``, the field manager of each field, and ``Status`` objects as bodies of refusals.
Of patches at the same time one comes after the other. It can be told to be busy, to hang, to hang up,
to refuse, and to be overtaken by others. No cluster runs in the tests: whatever else a real server does, admission
above all, is not in it.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from http_servers import LocalServer

__all__ = ["ApiServer", "api"]

TOKEN = "good"


class ApiServer:
    """The objects by path, and what was asked; ``faults`` are answered first, one a request."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, dict[str, list[str]]]] = []
        self.faults: list[tuple[int, Mapping[str, str]]] = []
        self.before_patch: list[Callable[[], object]] = []
        self.hang_seconds = 0.0
        self.loses_answers = 0
        self.refuses_patches: int | None = None
        self.port = 0
        self._version = 100
        self._owners: dict[str, dict[str, str]] = {}
        self._writing = threading.Lock()

    def put(self, path: str, **members: Any) -> None:
        """Anybody's write, by which the version grows."""
        self._version += 1
        present = self.objects.get(path, {"metadata": {"name": path.rsplit("/", 1)[1], "uid": str(uuid4())}})
        metadata = {**present["metadata"], "resourceVersion": str(self._version)}
        self.objects[path] = {**copy.deepcopy(present), **copy.deepcopy(members), "metadata": metadata}

    def _note(self, path: str, manager: str, patch: Any) -> None:
        """Each field belongs to who wrote it last; who has none left is forgotten."""
        self._owners.setdefault(path, {}).update(dict.fromkeys(leaves(patch), manager))
        now = {name for name in leaves(self.objects[path]) if name in self._owners[path]}
        managers = sorted({self._owners[path][name] for name in now})
        fields = [{"manager": one, "operation": "Update", "time": "2026-11-21T12:00:00Z"} for one in managers]
        self.objects[path]["metadata"]["managedFields"] = fields

    def kubeconfig(self, folder: Path, token: str = TOKEN, port: int | None = None, scheme: str = "http") -> Path:
        """A kubeconfig with the contexts ``here`` (namespace ``spark``) and ``other``."""
        user = {"name": "me", "user": {"token": token}}
        cluster = {"name": "c", "cluster": {"server": f"{scheme}://127.0.0.1:{port or self.port}"}}
        contexts = [
            {"name": "here", "context": {"cluster": "c", "user": "me", "namespace": "spark"}},
            {"name": "other", "context": {"cluster": "c", "user": "me"}},
        ]
        told = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": [user],
            "contexts": contexts,
            "current-context": "here",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(told))
        return path

    def answer(self, verb: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        url = urlsplit(target)
        asked = parse_qs(url.query)
        self.requests.append((verb, url.path, asked))
        scheme, _, token = headers.get("Authorization", headers.get("authorization", "")).partition(" ")
        if (scheme.lower(), token) != ("bearer", TOKEN):
            return status(401, "Unauthorized")
        if url.path not in self.objects:
            return status(404, f'configmaps "{url.path.rsplit("/", 1)[1]}" not found')
        if verb == "GET":
            return 200, self.objects[url.path]
        if headers.get("Content-Type") != "application/merge-patch+json":
            return status(415, "the body of the request was in an unknown format")
        if self.refuses_patches is not None:
            return status(self.refuses_patches, "no")
        if self.before_patch:
            self.before_patch.pop(0)()
        with self._writing:
            return self._patched(url.path, json.loads(body), asked)

    def _patched(self, path: str, patch: Any, asked: dict[str, list[str]]) -> tuple[int, Any]:
        if path not in self.objects:
            return status(404, f'"{path.rsplit("/", 1)[1]}" not found')
        present = self.objects[path]
        if patch.get("metadata", {}).get("resourceVersion") not in (None, present["metadata"]["resourceVersion"]):
            return status(409, "Operation cannot be fulfilled: the object has been modified")
        if present.get("immutable"):
            return status(422, "field is immutable when `immutable` is set")
        merged = merge(present, patch)
        if not all(isinstance(value, str) for value in (merged.get("data") or {}).values()):
            return status(400, "cannot unmarshal into Go value of type string")
        if asked.get("dryRun") != ["All"]:
            self.objects[path] = {**present, "metadata": merged["metadata"]}
            self.put(path, **{name: value for name, value in merged.items() if name != "metadata"})
            self._note(path, asked["fieldManager"][0], patch)
            merged = self.objects[path]
        return 200, merged


def leaves(value: Any, path: str = "") -> list[str]:
    """The paths of all values in ``data`` and ``spec``."""
    if not path:
        return [leaf for name in ("data", "spec") if name in value for leaf in leaves(value[name], name)]
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in leaves(one, f"{path}/{name}")]
    return [path]


def status(code: int, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


def merge(present: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(present) if isinstance(present, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged


@contextmanager
def serving(server: ApiServer) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply("GET")

        def do_PATCH(self) -> None:
            self.reply("PATCH")

        def reply(self, verb: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            time.sleep(server.hang_seconds)
            extra: Mapping[str, str] = {}
            if server.faults:
                code, extra = server.faults.pop(0)
                answered: Any = status(code, "the server is having a bad day")[1]
                server.requests.append((verb, urlsplit(self.path).path, {"fault": [str(code)]}))
            else:
                code, answered = server.answer(verb, self.path, dict(self.headers), body)
                if verb == "PATCH" and server.loses_answers and "dryRun" not in self.path:
                    server.loses_answers -= 1
                    self.close_connection = True
                    return
            content = json.dumps(answered).encode()
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **extra}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    http = LocalServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A server of its own for one test."""
    server = ApiServer()
    with serving(server):
        yield server
