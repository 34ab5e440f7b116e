"""What the two Spark operators take as a SparkApplication.

Kubeflow's is checked with the models that its project publishes as ``kubeflow-spark-api``. Apache's publishes no
package: its fields that our manifest uses are listed here; ``make test-crds`` compares them with the operator's CRD.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import kubernetes_validate
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from tests.deploy.kustomize import Manifest

__all__ = ["PROBLEMS"]

# Apache's spark-kubernetes-operator 1.0.0: a type, or the fields of an object. A pod template is Kubernetes' own.
_POD_TEMPLATE: Mapping[str, Any] = {}
_APACHE: Mapping[str, Any] = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str, "namespace": str},
    "spec": {
        "runtimeVersions": {"sparkVersion": str},
        "mainClass": str,
        "pyFiles": str,
        "sparkConf": Mapping[str, str],
        "driverSpec": {"podTemplateSpec": _POD_TEMPLATE},
    },
}


def _of_kubeflow(manifest: Manifest) -> list[str]:
    try:
        known = SparkV1beta2SparkApplication.from_dict(manifest)
    except ValueError as error:
        return [str(error)]
    # The models leave out what they do not know.
    assert known is not None
    return [] if known.to_dict() == manifest else ["a field that Kubeflow's SparkApplication does not have"]


def _of_apache(value: Any, known: Any = _APACHE, path: str = "") -> list[str]:
    if known is _POD_TEMPLATE:
        return _of_pod_template(value)
    if known == Mapping[str, str]:
        return [f"{path}.{key}: not a string" for key, text in value.items() if not isinstance(text, str)]
    if isinstance(known, type):
        return [] if isinstance(value, known) else [f"{path}: not {known.__name__}"]
    unknown = [f"{path}.{field}: no such field" for field in value if field not in known]
    fields = ((field, value[field]) for field in value if field in known)
    return unknown + [problem for field, one in fields for problem in _of_apache(one, known[field], f"{path}.{field}")]


def _of_pod_template(template: Any) -> list[str]:
    # Spark adds the containers.
    whole = {**template, "spec": {"containers": [{"name": "spark"}], **template.get("spec", {})}}
    pods = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "driver"}, "template": whole}
    try:
        kubernetes_validate.validate(pods, "1.34", strict=True)
    except kubernetes_validate.ValidationError as error:
        return [str(error)]
    return []


# What an operator would refuse of a manifest, by its apiVersion.
PROBLEMS: Mapping[str, Callable[[Manifest], list[str]]] = {
    "sparkoperator.k8s.io/v1beta2": _of_kubeflow,
    "spark.apache.org/v1": _of_apache,
}
