"""How an object on a Kubernetes API server is named, and where in it a Spark conf is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import parse_qs, quote

from aqe_plugin.errors import ConfError

__all__ = ["Address", "Kind", "parse_address"]

_SCHEME = "kubernetes:"
_CONF_FILE = "spark-defaults.conf"
_EXPECTED = "kubernetes:[NAMESPACE/]KIND/NAME[?context=CONTEXT][&key=KEY]"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object.

    Attributes:
        group: its API group, empty for those that every API server has; ``version`` and ``plural`` are its path.
        spec: where the application's spec is, empty for what is no application.
        effect: what a changed conf does to applications, a sentence.
    """

    group: str
    version: str
    plural: str
    spec: tuple[str, ...]
    effect: str


_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "configmap": Kind("", "v1", "configmaps", (), "Applications that start from then on read it."),
        # kubeflow.org/docs/components/spark-operator/user-guide/working-with-sparkapplication
        "sparkapplication": Kind(
            "sparkoperator.k8s.io",
            "v1beta2",
            "sparkapplications",
            ("spec",),
            "The operator then runs the application again, and KILLS the run that is under way.",
        ),
        "scheduledsparkapplication": Kind(
            "sparkoperator.k8s.io",
            "v1beta2",
            "scheduledsparkapplications",
            ("spec", "template"),
            "The next scheduled run takes it.",
        ),
        # github.com/apache/spark-kubernetes-operator/issues/779
        "sparkapplication.spark.apache.org": Kind(
            "spark.apache.org",
            "v1",
            "sparkapplications",
            ("spec",),
            "The operator takes it only when the application is deleted and made again.",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Address:
    """One object.

    Attributes:
        namespace: ``None`` for that of the context.
        kind_name: as in :data:`_KINDS`.
        context: of the kubeconfig, ``None`` for the present one.
        key: of a ConfigMap's data.
    """

    namespace: str | None
    kind_name: str
    name: str
    context: str | None
    key: str

    @property
    def kind(self) -> Kind:
        return _KINDS[self.kind_name]

    def written(self, namespace: str) -> str:
        """The same as text, which is read as the same object from anywhere in ``namespace``."""
        asked = {"context": self.context, "key": None if self.key == _CONF_FILE else self.key}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items() if value)
        return f"{_SCHEME}{namespace}/{self.kind_name}/{self.name}{query and '?'}{query}"


def parse_address(text: str) -> Address:
    """The object that ``text`` names.

    Raises:
        ConfError: it names none, or one of a kind that holds no Spark conf.
    """
    path, _, query = text.removeprefix(_SCHEME).partition("?")
    parts = path.split("/")
    asked = parse_qs(query)
    if len(parts) not in (2, 3) or not all(parts) or not set(asked) <= {"context", "key"}:
        raise ConfError(f"{text}: expected {_EXPECTED}.")
    kind = parts[-2].lower()
    kind = "configmap" if kind == "cm" else kind
    if kind not in _KINDS:
        # As kubectl takes it, in the plural too.
        word, dot, group = kind.partition(".")
        kind = word.removesuffix("s") + dot + group
    if kind not in _KINDS:
        raise ConfError(f"{text}: {parts[-2]} holds no Spark conf: expected one of {', '.join(_KINDS)}.")
    return Address(
        namespace=parts[0] if len(parts) == 3 else None,
        kind_name=kind,
        name=parts[-1],
        context=asked.get("context", [None])[0],
        key=asked.get("key", [_CONF_FILE])[0] or _CONF_FILE,
    )
