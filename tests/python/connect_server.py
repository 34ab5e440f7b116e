"""A gRPC server that answers as a Spark Connect server does, for the three calls that a target is read and set by.

What it keeps to, as a real one of Spark 4.1 was seen to: confs by user and session, a session begun by any call but
``ReleaseExecute``, keys answered without the prefix that was asked for, and the error classes of what is not there. It
can be told to be down or to refuse. A real server is in ``test_api_connect.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto import base_pb2_grpc

__all__ = ["ConnectServer", "server"]


class ConnectServer(base_pb2_grpc.SparkConnectServiceServicer):
    """Sessions by user and id, each with its confs; ``faults`` are answered first, one a call.

    ``silent_for`` names calls that are never answered; those of ``Config`` by what they do.
    """

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], dict[str, str]] = {}
        self.faults: list[tuple[grpc.StatusCode, str]] = []
        self.silent_for: set[str] = set()
        self.calls: list[str] = []
        self.tokens: set[str] = set()
        self.has_plugin = True
        self.port = 0
        self.secure_port = 0

    def ReleaseExecute(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's names
        self._begin("ReleaseExecute", context)
        if self._key(request) not in self.sessions:
            said = f"[INVALID_HANDLE.SESSION_NOT_FOUND] The handle {request.session_id} is invalid. Session not found."
            context.abort(grpc.StatusCode.INTERNAL, said)
        return proto.ReleaseExecuteResponse(session_id=request.session_id)

    def Config(self, request: Any, context: Any) -> Any:  # noqa: N802
        operation = request.operation
        kind = operation.WhichOneof("op_type")
        self._begin(kind, context)
        confs = self.sessions.setdefault(self._key(request), {})
        pairs: list[Any] = []
        if kind == "get_all":
            prefix = operation.get_all.prefix
            found = [(key.removeprefix(prefix), value) for key, value in confs.items() if key.startswith(prefix)]
            pairs = [proto.KeyValue(key=key, value=value) for key, value in found]
        elif kind == "get_option":
            pairs = [proto.KeyValue(key=key, value=confs.get(key)) for key in operation.get_option.keys]
        elif kind == "set":
            confs.update({pair.key: pair.value for pair in operation.set.pairs})
        else:
            for key in operation.unset.keys:
                confs.pop(key, None)
        return proto.ConfigResponse(session_id=request.session_id, pairs=pairs)

    def AnalyzePlan(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._begin("AnalyzePlan", context)
        if not self.has_plugin:
            said = "[UNRESOLVABLE_TABLE_VALUED_FUNCTION] Could not resolve `aqe_metrics` to a table-valued function."
            context.abort(grpc.StatusCode.INTERNAL, said)
        return proto.AnalyzePlanResponse(session_id=request.session_id)

    def _begin(self, call: str, context: Any) -> None:
        self.calls.append(call)
        self.tokens |= {value for name, value in context.invocation_metadata() if name == "authorization"}
        if call in self.silent_for:
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        if self.faults:
            context.abort(*self.faults.pop(0))

    def _key(self, request: Any) -> tuple[str, str]:
        return request.user_context.user_id, request.session_id


@pytest.fixture
def server() -> Iterator[ConnectServer]:
    """A server that runs, and is down when the test ends."""
    made, running = ConnectServer(), grpc.server(ThreadPoolExecutor(2))
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(made, running)  # type: ignore[no-untyped-call]
    made.port = running.add_insecure_port("127.0.0.1:0")
    # What a client uses that has a token for this very machine.
    made.secure_port = running.add_secure_port("localhost:0", grpc.local_server_credentials())
    running.start()
    yield made
    running.stop(None).wait()
