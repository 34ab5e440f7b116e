"""One object on a Kubernetes API server: read, and patched when nobody else was there first.

The edge to the network: a server that is down, slow or busy is asked again, with patience that ends; whatever it
answers then becomes one of our errors, which say what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from aqe_plugin.conf.stores.address import Address
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.errors import AqePluginError, ClusterError, ExtraMissingError, TargetError, WriteError

try:
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
    from kubernetes.config.config_exception import ConfigException
    from urllib3.exceptions import HTTPError
except ImportError as missing:
    raise ExtraMissingError(
        "A target on an API server needs the package kubernetes: pip install 'aqe-plugin[kubernetes]'."
    ) from missing

__all__ = ["ObjectApi", "connect"]

T = TypeVar("T")
_MERGE_PATCH = "application/merge-patch+json"
_BUSY = (429, 500, 502, 503, 504)
_MANAGER = "aqe-plugin"


@dataclass(frozen=True, slots=True)
class ObjectApi:
    """The object at ``address``.

    Attributes:
        server: address of the API server.
        namespace: where the object is.
        say: is told, in a sentence, when the server is waited for.
        connection: the client that reads; ``patching`` is the one that sends JSON Merge Patches.
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
        """The object as the server has it now.

        Raises:
            TargetError: there is none.
            ClusterError: the server cannot be asked.
        """
        found = self._call(False, self._reader())
        told: dict[str, Any] = self.connection.sanitize_for_serialization(found)
        return told

    def patch(self, body: Mapping[str, Any], dry_run: bool) -> bool:
        """Merges ``body`` (JSON Merge Patch, RFC 7396) into the object; without ``dry_run`` the server keeps it.

        Returns:
            False when the object changed since the ``resourceVersion`` in ``body``; it is then as it was.

        Raises:
            WriteError: the server does not take it.
            ClusterError: the server cannot be asked; it may have taken it.
        """
        asked: dict[str, Any] = {"field_manager": _MANAGER}
        if dry_run:
            asked["dry_run"] = "All"
        try:
            self._call(True, self._writer(dict(body), asked))
        except _OutOfDateError:
            return False
        return True

    def _reader(self) -> Callable[[], Any]:
        kind, seconds = self.address.kind, (self.patience.request_seconds,) * 2
        if not kind.group:
            core = client.CoreV1Api(self.connection)
            return lambda: core.read_namespaced_config_map(self.address.name, self.namespace, _request_timeout=seconds)
        custom = client.CustomObjectsApi(self.connection)
        return lambda: custom.get_namespaced_custom_object(
            kind.group, kind.version, self.namespace, kind.plural, self.address.name, _request_timeout=seconds
        )

    def _writer(self, body: dict[str, Any], asked: dict[str, Any]) -> Callable[[], Any]:
        kind, seconds = self.address.kind, (self.patience.request_seconds,) * 2
        if not kind.group:
            core = client.CoreV1Api(self.patching)
            return lambda: core.patch_namespaced_config_map(
                self.address.name, self.namespace, body, _request_timeout=seconds, **asked
            )
        custom = client.CustomObjectsApi(self.patching)
        return lambda: custom.patch_namespaced_custom_object(
            kind.group, kind.version, self.namespace, kind.plural, self.address.name, body,
            _request_timeout=seconds, **asked
        )  # fmt: skip

    def _call(self, writes: bool, ask: Callable[[], T]) -> T:
        retrying = Retrying(
            stop=stop_after_attempt(self.patience.attempts),
            wait=self._wait,
            retry=retry_if_exception(_passes),
            before_sleep=self._waits,
            reraise=True,
        )
        try:
            return retrying(ask)
        except ApiException as error:
            raise self._refused(error, writes) from error
        except HTTPError as error:
            raise ClusterError(
                f"{self.name}: {self.server} does not answer, asked {self.patience.attempts} times "
                f"({_reason(error)}). Is it up, and reached from here? kubectl cluster-info tries the same."
            ) from error

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = (getattr(error, "headers", None) or {}).get("Retry-After", "")
        longest = self.patience.longest_wait_seconds
        if str(asked).isdigit():
            return min(float(asked), longest)
        return wait_random_exponential(multiplier=self.patience.first_wait_seconds, max=longest)(state)

    def _waits(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        status = getattr(error, "status", None)
        why = f"is busy or broken ({status})" if status else "does not answer"
        number = f"{state.attempt_number} of {self.patience.attempts}"
        self.say(f"{self.server} {why}, try {number}; asked again in {state.upcoming_sleep:.1f} s.")

    def _refused(self, error: ApiException, writes: bool) -> Exception:
        status, said = error.status, _said(error)
        if status == 409 and writes:
            return _OutOfDateError()
        if status == 401:
            return ClusterError(
                f"{self.name}: {self.server} does not know who asks (401): the kubeconfig's token or certificate is "
                "missing, wrong or expired. Log in again; kubectl auth whoami tries the same."
            )
        if status == 403:
            kind: type[AqePluginError] = WriteError if writes else ClusterError
            return kind(
                f"{self.name}: {self.server} forbids it (403): {said}. "
                f"The role needs the verbs get and patch for {self.address.kind.plural}."
            )
        if status == 404:
            return TargetError(f"{self.name}: not found on {self.server} (404): {said}.")
        if status in _BUSY:
            return ClusterError(
                f"{self.name}: {self.server} is busy or broken, asked {self.patience.attempts} times "
                f"({status}: {said}). Try again later."
            )
        if status and writes:
            return WriteError(
                f"{self.name}: {self.server} does not take the change ({status}): {said}. It holds what it held."
            )
        return ClusterError(f"{self.name}: {self.server} cannot be asked ({status or 'TLS'}): {said}.")


class _OutOfDateError(Exception):
    """Somebody else changed the object first; never leaves this module."""


def connect(
    address: Address, environment: Mapping[str, str], patience: Patience, say: Callable[[str], None]
) -> ObjectApi:
    """The object at ``address``, by the kubeconfig that ``environment`` names, or inside a pod by its account.

    Raises:
        ClusterError: neither is there, or it cannot be used.
    """
    configuration = client.Configuration()
    # urllib3 would try again by itself, at once and untold.
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
            "KUBECONFIG or in ~/.kube/config, with the context that is meant."
        ) from error
    # Every release of the client takes the kind of patch as a header; only newer ones as an argument.
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


def _passes(error: BaseException) -> bool:
    """Whether the same may well go through a little later."""
    return isinstance(error, HTTPError) or (isinstance(error, ApiException) and error.status in _BUSY)


def _said(error: ApiException) -> str:
    """What the server said, in its own words where it gave some."""
    try:
        message = json.loads(error.body or "")["message"]
    except (TypeError, ValueError, KeyError):
        message = error.reason
    return " ".join(str(message).split()).rstrip(".")


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
