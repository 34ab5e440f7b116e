"""One session on a Spark Connect server: its confs read and set, by the calls of Spark's own protocol.

The edge to the network: a server that is down is asked again, with patience that ends; whatever it answers then becomes
one of our errors, which say what to do. A call that names a session begins it when it is not there, so every one of
them is preceded by the one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.session_address import SessionAddress
from aqe_plugin.errors import ClusterError, ExtraMissingError, TargetError

try:
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.proto import base_pb2_grpc
except ImportError as missing:
    raise ExtraMissingError(
        "A running session is reached by Spark Connect, whose client is not installed: "
        "pip install 'aqe-plugin[connect]'."
    ) from missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ConnectApi", "connect", "joined"]

T = TypeVar("T")
# Of a query; with DefaultPolicy's waits of 50 ms, four times as long each time, they are over after 17 s.
_RETRIES = 5
_UNRESOLVED = "UNRESOLVABLE_TABLE_VALUED_FUNCTION"


@dataclass(frozen=True, slots=True)
class ConnectApi:
    """The session at ``address``.

    Attributes:
        say: is told, in a sentence, when the server is waited for.
        stub: makes the calls; each carries ``metadata``.
    """

    address: SessionAddress
    patience: Patience
    say: Callable[[str], None]
    stub: Any
    metadata: tuple[tuple[str, str], ...]

    def require_session(self) -> None:
        """Nothing when the session is there.

        Raises:
            TargetError: it is not.
            ClusterError: the server cannot be asked.
        """
        # Of all calls this one neither begins a session nor does anything to one: no operation has this id.
        release = proto.ReleaseExecuteRequest(
            **self._who(), operation_id=str(uuid4()), release_all=proto.ReleaseExecuteRequest.ReleaseAll()
        )
        self._call(self.stub.ReleaseExecute, release)

    def values_below(self, prefix: str) -> dict[str, str]:
        """Every conf that is set and whose key begins with ``prefix``.

        Raises:
            TargetError: the session has ended.
            ClusterError: the server cannot be asked.
        """
        asked = proto.ConfigRequest.GetAll(prefix=prefix)
        # The server leaves the prefix out of its answer.
        return {prefix + pair.key: pair.value for pair in self._config(get_all=asked).pairs}

    def value(self, key: str) -> str | None:
        """The conf ``key``, ``None`` when it is not set; errors as for :meth:`values_below`."""
        (pair,) = self._config(get_option=proto.ConfigRequest.GetOption(keys=[key])).pairs
        return str(pair.value) if pair.HasField("value") else None

    def change(self, values: Mapping[str, str], unset: Sequence[str]) -> None:
        """Sets ``values``, and then makes ``unset`` keys that are not set; errors as for :meth:`values_below`."""
        if values:
            pairs = [proto.KeyValue(key=key, value=value) for key, value in values.items()]
            self._config(set=proto.ConfigRequest.Set(pairs=pairs))
        if unset:
            self._config(unset=proto.ConfigRequest.Unset(keys=list(unset)))

    def resolves(self, query: str) -> bool:
        """Whether the session knows every table function in ``query``, which is not run; errors as for
        :meth:`values_below`.
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
        retrying = Retrying(
            stop=stop_after_attempt(self.patience.attempts),
            wait=wait_random_exponential(
                multiplier=self.patience.first_wait_seconds, max=self.patience.longest_wait_seconds
            ),
            retry=retry_if_exception(_passes),
            before_sleep=self._waits,
            reraise=True,
        )
        try:
            return retrying(method, request, timeout=self.patience.request_seconds, metadata=self.metadata)
        except grpc.RpcError as error:
            raise self._refused(error) from error

    def _waits(self, state: RetryCallState) -> None:
        number = f"{state.attempt_number} of {self.patience.attempts}"
        self.say(f"{self.address.server} does not answer, try {number}; asked again in {state.upcoming_sleep:.1f} s.")

    def _refused(self, error: Any) -> Exception:
        name, server, said = self.address.name, self.address.server, _said(error)
        if _UNRESOLVED in said:
            return _UnresolvedError()
        if "INVALID_HANDLE.SESSION" in said:
            return TargetError(
                f"{name}: {server} has no such session of user {self.address.user_id!r}: it has ended, as one does "
                "that nobody uses for an hour, or is another user's. Its spark.session_id and user_id name it."
            )
        if error.code() is grpc.StatusCode.UNAUTHENTICATED:
            return ClusterError(
                f"{name}: {server} does not know who asks: the token is missing, wrong or expired. "
                "Give it in SPARK_CONNECT_AUTHENTICATE_TOKEN, which Spark's clients read."
            )
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            return ClusterError(f"{name}: {server} forbids it: {said}.")
        if _passes(error):
            return ClusterError(
                f"{name}: {server} does not answer, asked {self.patience.attempts} times ({said}). Is it up, is it a "
                "Spark Connect server, is it reached from here, and does it want use_ssl=true?"
            )
        return ClusterError(f"{name}: {server} cannot be asked ({error.code().name}): {said}.")


class _UnresolvedError(Exception):
    """The session does not know a function; never leaves this module."""


def connect(address: SessionAddress, patience: Patience, say: Callable[[str], None]) -> ConnectApi:
    """The session at ``address``, of which nothing is asked yet."""
    builder = DefaultChannelBuilder(address.connection)
    stub = base_pb2_grpc.SparkConnectServiceStub(builder.toChannel())  # type: ignore[no-untyped-call]
    return ConnectApi(address, patience, say, stub, tuple(builder.metadata()))


@contextmanager
def joined(api: ConnectApi) -> Iterator[SparkSession]:
    """The session as PySpark has it; it goes on afterwards.

    Raises:
        TargetError: it has ended.
        ClusterError: the server cannot be asked, or falls silent.
    """
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    api.require_session()
    session: Any = ConnectSession(connection=api.address.connection)
    session.release_session_on_close = False
    # By itself it would try again for more than ten minutes, untold.
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    try:
        yield session
    except (PySparkException, grpc.RpcError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClusterError(f"{api.address.name}: {api.address.server} did not carry out a query: {said}") from error
    finally:
        # Not stop(), which would end the session for its owner too.
        session.client.close()


def _passes(error: BaseException) -> bool:
    """Whether the same may well go through a little later."""
    return isinstance(error, grpc.RpcError) and error.code() in (
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )


def _said(error: Any) -> str:
    """The first line of what the server, or the network, said."""
    lines = (error.details() or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else error.code().name
