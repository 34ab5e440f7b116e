"""A client for one session of a Spark Connect server: reads and sets its confs, by Spark's own protocol.

A server that is down is asked again a few times; its last answer becomes one of our errors. A call that names a session
starts that session when there is none, so a call that does not goes before each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.session_address import SessionAddress
from aqe_plugin.errors import ClusterError, ExtraMissingError, TargetError
from aqe_plugin.machine.extras import install_command

try:
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.proto import base_pb2_grpc
except ImportError as missing:
    raise ExtraMissingError(
        f"A running session is reached by Spark Connect, whose client is not installed: {install_command('connect')}."
    ) from missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
# For a query; DefaultPolicy's waits, 50 ms and four times as long each time, add up to 17 s.
_RETRIES = 5
_UNRESOLVED = "UNRESOLVABLE_TABLE_VALUED_FUNCTION"


@dataclass(frozen=True, slots=True)
class ConnectApi:
    """The session at ``address``.

    Attributes:
        say: receives a sentence before each wait for the server.
        stub: makes the calls; each carries ``metadata``.
    """

    address: SessionAddress
    patience: Patience
    say: Callable[[str], None]
    stub: Any
    metadata: tuple[tuple[str, str], ...]

    def require_session(self) -> None:
        """Returns if the session exists.

        Raises:
            TargetError: it does not.
            ClusterError: the server cannot be asked.
        """
        # The one call that neither starts a session nor changes one: no operation has this id.
        release = proto.ReleaseExecuteRequest(
            **self._who(), operation_id=str(uuid4()), release_all=proto.ReleaseExecuteRequest.ReleaseAll()
        )
        self._call(self.stub.ReleaseExecute, release)

    def values_below(self, prefix: str) -> dict[str, str]:
        """Every conf that is set and whose key starts with ``prefix``.

        Raises:
            TargetError: the session has ended.
            ClusterError: the server cannot be asked.
        """
        asked = proto.ConfigRequest.GetAll(prefix=prefix)
        # The server's answer leaves the prefix out.
        return {prefix + pair.key: pair.value for pair in self._config(get_all=asked).pairs}

    def value(self, key: str) -> str | None:
        """The conf ``key``, ``None`` when it is not set; errors as for :meth:`values_below`."""
        (pair,) = self._config(get_option=proto.ConfigRequest.GetOption(keys=[key])).pairs
        return str(pair.value) if pair.HasField("value") else None

    def change(self, values: Mapping[str, str], unset: Sequence[str]) -> None:
        """Sets ``values``, then unsets the keys ``unset``; errors as for :meth:`values_below`."""
        if values:
            pairs = [proto.KeyValue(key=key, value=value) for key, value in values.items()]
            self._config(set=proto.ConfigRequest.Set(pairs=pairs))
        if unset:
            self._config(unset=proto.ConfigRequest.Unset(keys=list(unset)))

    def resolves(self, query: str) -> bool:
        """Whether the session knows all table functions in ``query``, which is not run.

        Errors as for :meth:`values_below`.
        """
        plan = proto.Plan(root=proto.Relation(sql=proto.SQL(query=query)))
        asked = proto.AnalyzePlanRequest(**self._who(), schema=proto.AnalyzePlanRequest.Schema(plan=plan))
        self.require_session()
        try:
            self._call(self.stub.AnalyzePlan, asked)
        except _UnresolvedError:
            return False
        return True

    def _config(self, **operation: Any) -> Any:
        self.require_session()
        asked = proto.ConfigRequest(**self._who(), operation=proto.ConfigRequest.Operation(**operation))
        return self._call(self.stub.Config, asked)

    def _who(self) -> dict[str, Any]:
        user = self.address.user_id
        return {
            "session_id": self.address.session_id,
            "user_context": proto.UserContext(user_id=user, user_name=user),
            "client_type": "aqe-plugin",
        }

    def _call(self, method: Callable[..., T], request: Any) -> T:
        def call() -> T:
            return method(request, timeout=self.patience.request_seconds, metadata=self.metadata)

        try:
            return self.patience.ask(call, self._trouble, self.say)
        except grpc.RpcError as error:
            raise self._refused(error) from error

    def _trouble(self, error: Exception) -> str:
        return f"{self.address.server} does not answer" if _passes(error) else ""

    def _refused(self, error: Any) -> Exception:
        name, server, said = self.address.name, self.address.server, _said(error)
        if _UNRESOLVED in said:
            return _UnresolvedError()
        if "INVALID_HANDLE.SESSION" in said:
            return TargetError(
                f"{name}: {server} has no such session of user {self.address.user_id!r}: it has ended, as a session "
                "does after an idle hour, or is another user's. Its spark.session_id and user_id name it."
            )
        if error.code() is grpc.StatusCode.UNAUTHENTICATED:
            return ClusterError(
                f"{name}: {server} rejects the credentials: the token is missing, wrong or expired. "
                "Give it in SPARK_CONNECT_AUTHENTICATE_TOKEN, which Spark's clients read."
            )
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            return ClusterError(f"{name}: {server} forbids it: {said}.")
        if _passes(error):
            return ClusterError(
                f"{name}: {server} does not answer, asked {self.patience.attempts} times ({said}). Is it up, is it a "
                "Spark Connect server, is it reachable from here, and does it need use_ssl=true?"
            )
        return ClusterError(f"{name}: {server} cannot be asked ({error.code().name}): {said}.")


class _UnresolvedError(Exception):
    """The session does not know a function; not raised beyond this module."""


def connect(address: SessionAddress, patience: Patience, say: Callable[[str], None]) -> ConnectApi:
    """The session at ``address``; makes no call yet."""
    builder = DefaultChannelBuilder(address.connection)
    stub = base_pb2_grpc.SparkConnectServiceStub(builder.toChannel())  # type: ignore[no-untyped-call]
    return ConnectApi(address, patience, say, stub, tuple(builder.metadata()))


@contextmanager
def joined(api: ConnectApi) -> Iterator[SparkSession]:
    """The session as a PySpark session; it stays open afterwards.

    Raises:
        TargetError: it has ended.
        ClusterError: the server cannot be asked, or stops answering.
    """
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    api.require_session()
    session: Any = ConnectSession(connection=api.address.connection)
    session.release_session_on_close = False
    # By default it retries silently for more than ten minutes.
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    try:
        yield session
    except (PySparkException, grpc.RpcError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClusterError(f"{api.address.name}: {api.address.server} did not run a query: {said}") from error
    finally:
        # stop() would end the session for its owner too.
        session.client.close()


def _passes(error: Exception) -> bool:
    """Whether the error may pass by itself."""
    return isinstance(error, grpc.RpcError) and error.code() in (
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )


def _said(error: Any) -> str:
    """The first line of the error's message."""
    lines = (error.details() or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else error.code().name
