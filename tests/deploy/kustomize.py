"""What kustomize makes of an overlay, of the three things that ours use: resources, a namespace and image tags."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

__all__ = ["Manifest", "build", "built_by_kustomize", "documents"]

Manifest = dict[str, Any]
_PROGRAMS = {"kustomize": ["kustomize", "build"], "kubectl": ["kubectl", "kustomize"]}


def documents(text: str) -> list[Manifest]:
    return [document for document in YAML(typ="safe", pure=True).load_all(text) if document]


def build(folder: Path) -> list[Manifest]:
    """The manifests of the kustomization in ``folder``; anything else that it asks for is an error."""
    (asked,) = documents((folder / "kustomization.yaml").read_text())
    assert set(asked) <= {"apiVersion", "kind", "resources", "namespace", "images"}
    manifests: list[Manifest] = []
    for resource in asked["resources"]:
        path = folder / resource
        manifests += build(path) if path.is_dir() else documents(path.read_text())
    for manifest in manifests:
        if "namespace" in asked:
            manifest["metadata"]["namespace"] = asked["namespace"]
        for container in containers(manifest):
            for image in asked.get("images", ()):
                name = container["image"].rpartition(":")[0]
                container["image"] = f"{name}:{image['newTag']}" if name == image["name"] else container["image"]
    return manifests


def containers(manifest: Manifest) -> list[dict[str, Any]]:
    if manifest["kind"] != "Deployment":
        return []
    found: list[dict[str, Any]] = manifest["spec"]["template"]["spec"]["containers"]
    return found


def built_by_kustomize(folder: Path) -> list[list[Manifest]]:
    """The same by each kustomize that is on PATH: its own program, kubectl, both or none."""
    return [
        documents(subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True).stdout)
        for program, command in _PROGRAMS.items()
        if shutil.which(program)
    ]
