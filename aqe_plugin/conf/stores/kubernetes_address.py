"""The address of an object on a Kubernetes API server, and where in the object a Spark conf is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import parse_qs, quote

from aqe_plugin.errors import ConfError

_SCHEME = "kubernetes:"
_CONF_FILE = "spark-defaults.conf"
_EXPECTED = "kubernetes:[NAMESPACE/]KIND/NAME[?context=CONTEXT][&key=KEY]"


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object.

    Attributes:
        group: its API group, empty for the core group.
        name: as in a manifest.
        spec: the path of the application's spec, empty for a kind that is not an application.
        effect: a sentence: what a changed conf does to applications.
        restarts: whether a changed conf ends the run that is under way.
    """

    group: str
    version: str
    plural: str
    name: str
    spec: tuple[str, ...]
    effect: str
    restarts: bool = False


KINDS: Mapping[str, ObjectKind] = MappingProxyType(
    {
        "configmap": ObjectKind(
            "", "v1", "configmaps", "ConfigMap", (), "Drivers that it is mounted for find it when they start."
        ),
        # kubeflow.org/docs/components/spark-operator/user-guide/working-with-sparkapplication
        "sparkapplication": ObjectKind(
            "sparkoperator.k8s.io",
            "v1beta2",
            "sparkapplications",
            "SparkApplication",
            ("spec",),
            "The operator then restarts the application, and KILLS the present run.",
            restarts=True,
        ),
        "scheduledsparkapplication": ObjectKind(
            "sparkoperator.k8s.io",
            "v1beta2",
            "scheduledsparkapplications",
            "ScheduledSparkApplication",
            ("spec", "template"),
            "The next scheduled run uses it.",
        ),
        # github.com/apache/spark-kubernetes-operator/issues/779
        "sparkapplication.spark.apache.org": ObjectKind(
            "spark.apache.org",
            "v1",
            "sparkapplications",
            "SparkApplication",
            ("spec",),
            "The operator uses it only after the application is deleted and created again.",
        ),
    }
)


def jars_beside(in_deps: bool, own: str) -> str:
    """Which jars beside ``sparkConf`` do not go together with ``spark.jars``, and what to move; empty for none.

    Args:
        in_deps: whether ``spec.deps.jars`` (Kubeflow) lists jars.
        own: ``spec.jars`` (Apache): the application's own, which are ``spark.jars`` where that is unset.
    """
    if in_deps:
        return "spec.deps.jars lists jars, which override spark.jars. Move them"
    return (
        "spec.jars lists several jars, which spark.jars overrides. Leave one, and move the others" if "," in own else ""
    )


@dataclass(frozen=True, slots=True)
class Address:
    """One object.

    Attributes:
        namespace: ``None`` for the context's namespace.
        context: a context of the kubeconfig, ``None`` for the current one.
        key: a key of a ConfigMap's data.
    """

    namespace: str | None
    kind_name: str
    name: str
    context: str | None
    key: str

    @property
    def kind(self) -> ObjectKind:
        return KINDS[self.kind_name]

    def written(self, namespace: str) -> str:
        """The address as text, with its namespace."""
        asked = {"context": self.context, "key": None if self.key == _CONF_FILE else self.key}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items() if value)
        return f"{_SCHEME}{namespace}/{self.kind_name}/{self.name}{query and '?'}{query}"


def parse_address(text: str) -> Address:
    """The address in ``text``.

    Raises:
        ConfError: it is not an address, or of a kind that holds no Spark conf.
    """
    path, _, query = text.removeprefix(_SCHEME).partition("?")
    parts = path.split("/")
    asked = parse_qs(query)
    if len(parts) not in (2, 3) or not all(parts) or not set(asked) <= {"context", "key"}:
        raise ConfError(f"{text}: expected {_EXPECTED}.")
    kind = parts[-2].lower()
    kind = "configmap" if kind == "cm" else kind
    # kubectl takes the plural too.
    word, dot, group = kind.partition(".")
    kind = word.removesuffix("s") + dot + group
    if kind not in KINDS:
        raise ConfError(f"{text}: {parts[-2]} holds no Spark conf: expected one of {', '.join(KINDS)}.")
    return Address(
        namespace=parts[0] if len(parts) == 3 else None,
        kind_name=kind,
        name=parts[-1],
        context=asked.get("context", [None])[0],
        key=asked.get("key", [_CONF_FILE])[0] or _CONF_FILE,
    )
