"""The manifests of deploy/kubernetes/spark-operator against the operators' whole CRDs; run by `make test-crds`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from tests.deploy.kustomize import documents
from tests.deploy.test_operators import APPLICATIONS, misspelt


def schemas() -> Iterator[tuple[str, Any]]:
    """The schema of each version of each CRD in the files that CRDS names, by the apiVersion of its manifests."""
    for path in os.environ.get("CRDS", "").split():
        crd = YAML(typ="safe").load(Path(path).read_text())["spec"]
        for version in crd["versions"]:
            yield f"{crd['group']}/{version['name']}", closed(version["schema"]["openAPIV3Schema"])


def closed(schema: Any) -> Any:
    """A schema that refuses fields it does not list, as `kubectl apply` does; those of all objects are listed."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(one) for key, one in schema.items()}
    if schema.get("type") != "object" or "properties" not in schema:
        return inner
    everywhere: dict[str, Any] = (
        {"apiVersion": {}, "kind": {}, "metadata": {}} if "spec" in schema["properties"] else {}
    )
    return {**inner, "properties": {**everywhere, **inner["properties"]}, "additionalProperties": False}


@pytest.mark.parametrize("path", APPLICATIONS, ids=lambda path: str(path.stem))
def test_the_whole_crd_takes_the_manifest_and_no_misspelt_one(path: Path) -> None:
    (manifest,) = documents(path.read_text())
    taken = Draft202012Validator(dict(schemas())[manifest["apiVersion"]])
    assert [error.message for error in taken.iter_errors(manifest)] == []
    wrong = [one for one in misspelt(manifest) if one.get("metadata") == manifest["metadata"]]
    assert len(wrong) > 10
    assert [one for one in wrong if taken.is_valid(one)] == []
