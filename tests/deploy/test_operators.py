"""deploy/kubernetes/spark-operator: what each operator takes, and that the plugin gets in by it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aqe_plugin import __version__
from commands import Answer
from tests.deploy.kustomize import Manifest, documents
from tests.deploy.operators import PROBLEMS
from tests.deploy.prometheus_server import DEPLOY

FOLDER = DEPLOY / "kubernetes" / "spark-operator"
APPLICATIONS = sorted(FOLDER.glob("spark-application*.yaml"))


@pytest.fixture(params=APPLICATIONS, ids=lambda path: str(path.stem))
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_there_is_an_application_for_each_operator_and_its_operator_takes_it() -> None:
    found = [one for path in APPLICATIONS for one in documents(path.read_text())]
    assert {one["apiVersion"] for one in found} == set(PROBLEMS)
    assert [PROBLEMS[one["apiVersion"]](one) for one in found] == [[], []]


def misspelt(value: Any) -> Iterator[Any]:
    """The value with one field misspelt, for each field of it but the keys of a Spark conf."""
    if isinstance(value, list):
        for at, one in enumerate(value):
            yield from ([*value[:at], wrong, *value[at + 1 :]] for wrong in misspelt(one))
    if isinstance(value, dict):
        for field, one in value.items():
            yield {(f"{name}X" if name == field else name): kept for name, kept in value.items()}
            yield from ({**value, field: wrong} for wrong in (misspelt(one) if field != "sparkConf" else ()))


def test_a_misspelt_field_is_refused_wherever_it_stands(file: Path) -> None:
    (manifest,) = documents(file.read_text())
    wrong = list(misspelt(manifest))
    assert len(wrong) > 15
    assert [one for one in wrong if not PROBLEMS[manifest["apiVersion"]](one)] == []


def test_a_value_of_another_type_is_refused(file: Path) -> None:
    (manifest,) = documents(file.read_text())
    number: Manifest = copy.deepcopy(manifest)
    number["spec"]["sparkConf"]["spark.executor.cores"] = 2
    assert PROBLEMS[manifest["apiVersion"]](number)


def test_the_application_has_the_lines_of_install(file: Path, tmp_path: Path, answer: Answer) -> None:
    copied = tmp_path / "application.yaml"
    copied.write_text(file.read_text())
    (manifest,) = documents(copied.read_text())
    jar = manifest["spec"]["sparkConf"]["spark.jars"]
    assert jar.endswith(f"aqe-plugin-spark-4.1-{__version__}.jar")
    code, _, err = answer("install", "--target", str(copied), "--jar", jar)
    assert (code, err) == (0, f"Nothing to do: {copied} is as install would leave it.\n")


def test_both_applications_run_the_same_job_with_the_same_conf_on_the_same_claim() -> None:
    apache, kubeflow = (documents(path.read_text())[0] for path in APPLICATIONS)
    of_apache = apache["spec"]["sparkConf"]
    assert kubeflow["metadata"] == apache["metadata"]
    assert kubeflow["spec"]["mainApplicationFile"] == apache["spec"]["pyFiles"]
    assert kubeflow["spec"]["sparkConf"].items() <= of_apache.items()
    volume = "spark.kubernetes.driver.volumes.persistentVolumeClaim.event-logs"
    (claimed,), (mount,) = kubeflow["spec"]["volumes"], kubeflow["spec"]["driver"]["volumeMounts"]
    assert of_apache[f"{volume}.options.claimName"] == claimed["persistentVolumeClaim"]["claimName"]
    assert of_apache[f"{volume}.mount.path"] == mount["mountPath"]
    template = apache["spec"]["driverSpec"]["podTemplateSpec"]
    assert template["spec"]["securityContext"] == kubeflow["spec"]["driver"]["podSecurityContext"]
