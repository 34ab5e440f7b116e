"""deploy/kubernetes: what Kubernetes' own schemas allow, and what a cluster with strict rules lets in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from aqe_plugin import __version__
from commands import Answer
from tests.deploy.kustomize import Manifest, build, built_by_kustomize, documents
from tests.deploy.prometheus_server import DEPLOY

FOLDER = DEPLOY / "kubernetes"
OVERLAYS = sorted(path for path in (FOLDER / "overlays").iterdir() if path.is_dir())
EXAMPLES = sorted((FOLDER / "spark-operator").glob("*.yaml"))
# The oldest and the newest Kubernetes that is worth a promise.
VERSIONS = ("1.28", "1.34")
# Kinds that operators bring; their schemas are not Kubernetes' own.
OF_OPERATORS = {"PrometheusRule", "ServiceMonitor", "SparkApplication"}
MANIFESTS = [
    pytest.param(manifest, id=f"{source}: {manifest['kind']}")
    for source, manifests in (
        *((overlay.name, build(overlay)) for overlay in OVERLAYS),
        *((path.name, documents(path.read_text())) for path in EXAMPLES),
    )
    for manifest in manifests
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_each_manifest_fits_the_schema_of_kubernetes(manifest: Manifest, version: str) -> None:
    if manifest["kind"] in OF_OPERATORS:
        assert {"apiVersion", "kind", "metadata", "spec"} == set(manifest)
    else:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.process
@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: str(path.name))
def test_kustomize_renders_the_validated_manifests(overlay: Path) -> None:
    rendered = built_by_kustomize(overlay)
    if not rendered:
        pytest.skip("neither kustomize nor kubectl is on PATH")
    assert [by_name(one) for one in rendered] == [by_name(build(overlay))] * len(rendered)


def by_name(manifests: list[Manifest]) -> dict[str, Manifest]:
    return {f"{manifest['kind']}/{manifest['metadata']['name']}": manifest for manifest in manifests}


@pytest.fixture(params=OVERLAYS, ids=lambda path: str(path.name))
def overlay(request: pytest.FixtureRequest) -> dict[str, Manifest]:
    return by_name(build(request.param))


def test_the_exporter_runs_without_privileges_and_writes_only_its_checkpoint(overlay: dict[str, Manifest]) -> None:
    pod = pod_of(overlay)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 10_000
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert [mount["name"] for mount in writable] == ["checkpoint"]
    folder = container["args"][container["args"].index("--checkpoint") + 1].rpartition("/")[0]
    assert folder == writable[0]["mountPath"]
    claim = overlay["PersistentVolumeClaim/aqe-plugin-checkpoint"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "checkpoint"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    # Volumes are made for root.
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]


def test_the_exporter_has_limits_probes_and_a_pinned_image(overlay: dict[str, Manifest]) -> None:
    (container,) = pod_of(overlay)["containers"]
    assert container["image"] == f"aqe-plugin:{__version__}"
    assert set(container["resources"]["limits"]) == set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}


def test_there_is_one_exporter_also_while_it_is_replaced(overlay: dict[str, Manifest]) -> None:
    deployment = overlay["Deployment/aqe-plugin-exporter"]["spec"]
    assert deployment["replicas"] == 1
    assert deployment["strategy"] == {"type": "Recreate"}


def test_the_command_line_takes_the_containers_arguments(overlay: dict[str, Manifest], answer: Answer) -> None:
    (container,) = pod_of(overlay)["containers"]
    # Everything but the folder is as it should be, so that is what is complained about.
    code, _, err = answer(*container["args"])
    assert code == 4
    assert err.startswith("/event-logs: no such folder")


def test_service_policy_and_monitor_select_the_same_pods_and_port(overlay: dict[str, Manifest]) -> None:
    template = overlay["Deployment/aqe-plugin-exporter"]["spec"]["template"]
    labels = template["metadata"]["labels"]
    (container,) = template["spec"]["containers"]
    (port,) = container["ports"]
    service = overlay["Service/aqe-plugin-exporter"]
    policy = overlay["NetworkPolicy/aqe-plugin-exporter"]["spec"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert str(port["containerPort"]) in container["args"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["egress"] == []
    assert policy["ingress"][0]["ports"] == [{"port": port["name"], "protocol": "TCP"}]
    monitor = overlay.get("ServiceMonitor/aqe-plugin-exporter")
    if monitor is not None:
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
        # The alerts ask for this job.
        assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "aqe-plugin"


def pod_of(overlay: dict[str, Manifest]) -> dict[str, Any]:
    pod: dict[str, Any] = overlay["Deployment/aqe-plugin-exporter"]["spec"]["template"]["spec"]
    return pod


def test_application_and_exporter_use_the_created_volume_claim() -> None:
    (claim,) = documents((FOLDER / "spark-operator" / "event-logs-claim.yaml").read_text())
    (application,) = documents((FOLDER / "spark-operator" / "spark-application.yaml").read_text())
    exporter = build(OVERLAYS[0])
    pod = pod_of(by_name(exporter))
    claimed = {
        volume["persistentVolumeClaim"]["claimName"]
        for volume in (*application["spec"]["volumes"], *pod["volumes"])
        if volume["name"] != "checkpoint"
    }
    assert claimed == {claim["metadata"]["name"]}
    assert {claim["metadata"]["namespace"], application["metadata"]["namespace"]} == {
        manifest["metadata"]["namespace"] for manifest in exporter
    }
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    mount = application["spec"]["driver"]["volumeMounts"][0]["mountPath"]
    assert application["spec"]["sparkConf"]["spark.eventLog.dir"] == f"file://{mount}"
    # It may read what the driver's group writes.
    assert pod["securityContext"]["supplementalGroups"] == [
        application["spec"]["driver"]["podSecurityContext"]["fsGroup"]
    ]
