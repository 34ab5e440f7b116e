"""A client for one object on a Kubernetes API server: reads it, and patches it unless somebody else changed it first.

A server that is down, slow or busy is asked again a few times; its last answer becomes one of our errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from aqe_plugin.conf.stores.kubernetes_address import Address
from aqe_plugin.errors import AqePluginError, ClusterError, ExtraMissingError, TargetError, WriteError
from aqe_plugin.machine.extras import install_command

try:
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
    from kubernetes.config.config_exception import ConfigException
    from urllib3.exceptions import HTTPError
except ImportError as missing:
    raise ExtraMissingError(
        f"A target on an API server needs the package kubernetes: {install_command('kubernetes')}."
    ) from missing

T = TypeVar("T")
_MERGE_PATCH = "application/merge-patch+json"
_BUSY = (429, 500, 502, 503, 504)
# The start of the field manager of our patches; who sends them follows.
MANAGER = "aqe-plugin "
_MOST_MANAGER_BYTES = 128


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a server is asked.

    Attributes:
        first_wait_seconds: upper end of the first, random wait; it doubles each time.
        longest_wait_seconds: no wait is longer, even when the server asks for it by ``Retry-After``.
        request_seconds: how long a connection, and then each part of an answer, may take.
    """

    attempts: int = 6
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 10.0
    request_seconds: float = 15.0

    def wait_seconds(self, state: RetryCallState) -> float:
        asked = str((getattr(_error(state), "headers", None) or {}).get("Retry-After", ""))
        if asked.isdigit():
            return min(float(asked), self.longest_wait_seconds)
        return wait_random_exponential(self.first_wait_seconds, self.longest_wait_seconds)(state)


def _error(state: RetryCallState) -> BaseException:
    error = None if state.outcome is None else state.outcome.exception()
    assert error is not None
    return error


@dataclass(frozen=True, slots=True)
class ObjectApi:
    """The object at ``address``.

    Attributes:
        server: address of the API server.
        namespace: where the object is.
        say: receives a sentence before each wait for the server.
        connection: the client that reads.
        patching: the client that sends JSON Merge Patches.
    """

    address: Address
    server: str
    namespace: str
    patience: Patience
    say: Callable[[str], None]
    connection: Any
    patching: Any

    @property
    def name(self) -> str:
        return self.address.written(self.namespace)

    def get(self) -> dict[str, Any]:
        """The object as it is now.

        Raises:
            TargetError: it does not exist.
            ClusterError: the server cannot be asked.
        """
        read: Any = client.CoreV1Api(self.connection).read_namespaced_config_map
        if self.address.kind.group:
            read = client.CustomObjectsApi(self.connection).get_namespaced_custom_object
        found = self._call(False, lambda: read(**self._path(), _request_timeout=self._timeout()))
        plain: dict[str, Any] = self.connection.sanitize_for_serialization(found)
        return plain

    def patch(self, body: Mapping[str, Any], who: str | None) -> bool:
        """Merges ``body`` (JSON Merge Patch, RFC 7396) into the object for ``who``; for nobody the server just tries.

        Returns:
            False when the object is newer than the ``resourceVersion`` in ``body``; it is then unchanged.

        Raises:
            WriteError: the server refuses the patch.
            ClusterError: the server cannot be asked; it may have taken the patch.
        """
        send: Any = client.CoreV1Api(self.patching).patch_namespaced_config_map
        if self.address.kind.group:
            send = client.CustomObjectsApi(self.patching).patch_namespaced_custom_object
        sent = {"dry_run": "All"} if who is None else {"field_manager": manager_of(who)}
        asked = {**self._path(), "body": dict(body), **sent}
        try:
            self._call(True, lambda: send(**asked, _request_timeout=self._timeout()))
        except _OutOfDateError:
            return False
        return True

    def _path(self) -> dict[str, str]:
        kind = self.address.kind
        custom = {"group": kind.group, "version": kind.version, "plural": kind.plural} if kind.group else {}
        return {"name": self.address.name, "namespace": self.namespace, **custom}

    def _timeout(self) -> tuple[float, float]:
        return self.patience.request_seconds, self.patience.request_seconds

    def _call(self, writes: bool, ask: Callable[[], T]) -> T:
        retrying = Retrying(
            retry=retry_if_exception(lambda error: bool(self._trouble(error))),
            stop=stop_after_attempt(self.patience.attempts),
            wait=self.patience.wait_seconds,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return retrying(ask)
        except ApiException as error:
            raise self._refused(error, writes) from error
        except HTTPError as error:
            raise ClusterError(
                f"{self.name}: {self.server} does not answer, asked {self.patience.attempts} times "
                f"({_reason(error)}). Is it up and reachable from here? kubectl cluster-info tries the same."
            ) from error

    def _tell(self, state: RetryCallState) -> None:
        attempt = f"try {state.attempt_number} of {self.patience.attempts}"
        self.say(f"{self._trouble(_error(state))}, {attempt}; trying again in {state.upcoming_sleep:.1f} s.")

    def _trouble(self, error: BaseException) -> str:
        """What is wrong with the server, of an error that may pass; empty for any other error."""
        if isinstance(error, ApiException) and error.status in _BUSY:
            return f"{self.server} is busy or broken ({error.status})"
        return f"{self.server} does not answer" if isinstance(error, HTTPError) else ""

    def _refused(self, error: ApiException, writes: bool) -> Exception:
        status, reason = error.status, _message(error)
        kind: type[AqePluginError] = ClusterError
        if status == 409 and writes:
            return _OutOfDateError()
        if status == 404:
            return TargetError(f"{self.name}: not found on {self.server} (404): {reason}.")
        if status == 401:
            problem = (
                "rejects the credentials (401): the kubeconfig's token or certificate is missing, wrong or expired. "
                "Log in again; kubectl auth whoami tries the same"
            )
        elif status == 403:
            verbs = f"The role needs the verbs get and patch for {self.address.kind.plural}"
            problem, kind = f"forbids it (403): {reason}. {verbs}", WriteError if writes else ClusterError
        elif status in _BUSY:
            problem = f"is busy or broken, asked {self.patience.attempts} times ({status}: {reason}). Try again later"
        elif status and writes:
            problem, kind = f"refuses the change ({status}): {reason}. The object is unchanged", WriteError
        else:
            problem = f"cannot be asked ({status or 'TLS'}): {reason}"
        return kind(f"{self.name}: {self.server} {problem}.")


def manager_of(who: str) -> str:
    """The field manager of ``who``, cut to what a server takes."""
    return f"{MANAGER}{who}".encode()[:_MOST_MANAGER_BYTES].decode(errors="ignore")


class _OutOfDateError(Exception):
    """Somebody else changed the object first; not raised beyond this module."""


def connect(
    address: Address, environment: Mapping[str, str], patience: Patience, say: Callable[[str], None]
) -> ObjectApi:
    """The object at ``address``, with the kubeconfig that ``environment`` names, or in a pod with its service account.

    Raises:
        ClusterError: there is neither, or it cannot be used.
    """
    configuration = client.Configuration()
    # urllib3 would retry by itself, at once and silently.
    configuration.retries = False
    file = environment.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    try:
        if (
            address.context is None
            and not Path(file.split(":")[0]).exists()
            and "KUBERNETES_SERVICE_HOST" in environment
        ):
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            namespace = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text(encoding="utf-8")
        else:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                file, context=address.context, client_configuration=configuration
            )
            namespace = _namespace(file, address.context)
    except (ConfigException, OSError, ValueError) as error:
        raise ClusterError(
            f"{address.written(address.namespace or '')}: no API server: {_reason(error)}. Give a kubeconfig by "
            "KUBECONFIG or in ~/.kube/config, with the right context."
        ) from error
    # Every release of the client takes the type of a patch as a header, only newer ones as an argument.
    patching = client.ApiClient(configuration, header_name="Content-Type", header_value=_MERGE_PATCH)
    return ObjectApi(
        address=address,
        server=configuration.host,
        namespace=address.namespace or namespace,
        patience=patience,
        say=say,
        connection=client.ApiClient(configuration),
        patching=patching,
    )


def _namespace(file: str, context: str | None) -> str:
    contexts, active = config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
    chosen = active if context is None else next(one for one in contexts if one["name"] == context)
    return str(chosen["context"].get("namespace") or "default")


def _message(error: ApiException) -> str:
    """The server's own message, else the HTTP reason."""
    try:
        message = json.loads(error.body or "")["message"]
    except (TypeError, ValueError, KeyError):
        message = error.reason
    return " ".join(str(message).split()).rstrip(".")


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
