"""ConfigMaps and applications on an API server: installed into, and taken back, beside others."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api_server import ApiServer
from aqe_plugin.conf.stores.kubernetes_address import parse_address
from aqe_plugin.conf.stores.kubernetes_store import KubernetesStore
from aqe_plugin.errors import AqePluginError, ConflictError
from aqe_plugin.install.controller import (
    Proposal,
    carry_out,
    propose_install,
    propose_rollback,
    propose_tuning,
    propose_uninstall,
)
from aqe_plugin.install.journal import journal_of
from aqe_plugin.machine.extras import install_command
from commands import Answer
from conf_states import state_of
from live_objects import (
    ACTOR,
    APACHES,
    APPLICATION,
    CONFIGMAP,
    JAR,
    SCHEDULED,
    THEIRS,
    here,
    opened,
    patches,
    without_version,
)

__all__ = ["here"]


# a whole life


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("kubernetes:configmap/conf", CONFIGMAP),
        ("kubernetes:spark/sparkapplication/nightly", APPLICATION),
        ("kubernetes:spark/scheduledsparkapplications/nightly?context=other", SCHEDULED),
        ("kubernetes:spark/sparkapplications.spark.apache.org/nightly", APACHES),
    ],
)
@pytest.mark.parametrize("back", [lambda store: propose_rollback(store, False), lambda s: propose_uninstall(s, False)])
def test_rollback_and_uninstall_restore_the_object(
    api: ApiServer, here: dict[str, str], text: str, path: str, back: Callable[[KubernetesStore], Proposal]
) -> None:
    before = copy.deepcopy(api.objects[path])
    store = opened(here, text)
    content = store.read()
    proposal = propose_install(store, JAR, None)
    assert api.objects[path] == before
    assert carry_out(proposal, ACTOR) == []
    assert state_of(store).installed
    assert state_of(store).mode == "observe"
    assert api.objects[path] != before
    assert api.objects[path]["metadata"]["name"] == before["metadata"]["name"]
    assert propose_install(store, JAR, None).nothing_to_do
    carry_out(back(store), ACTOR)
    assert store.read() == content
    assert without_version(api.objects[path]) == without_version(before)
    assert [record.phase for record in journal_of(store).records] == ["done", "done"]


def test_an_install_is_rehearsed_and_changes_only_its_keys(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    carry_out(propose_install(store, JAR, "apply"), ACTOR)
    data = api.objects[CONFIGMAP]["data"]
    assert data["log4j2.properties"] == "rootLogger.level = info\n"
    changed = THEIRS.replace("com.acme.P", "com.acme.P,io.aqeplugin.AqePlugin")
    assert data["spark-defaults.conf"].startswith(changed)
    assert patches(api) == [True, False]


def test_a_missing_key_of_a_configmap_is_created_and_removed(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here, "kubernetes:spark/cm/conf?key=other.conf")
    assert store.read() is None
    carry_out(propose_tuning(store, {"spark.aqePlugin.filter.maxBytes": "32m"}, "a test"), ACTOR)
    assert api.objects[CONFIGMAP]["data"]["other.conf"] == "spark.aqePlugin.filter.maxBytes 32m\n"
    carry_out(propose_rollback(store, force=False), ACTOR)
    assert set(api.objects[CONFIGMAP]["data"]) == {"spark-defaults.conf", "log4j2.properties"}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_rollback_restores_any_text_byte_for_byte(api: ApiServer, here: dict[str, str], text: str) -> None:
    api.put(CONFIGMAP, data={"spark-defaults.conf": f"# {text}"})
    store = opened(here)
    try:
        proposal = propose_tuning(store, {"spark.aqePlugin.mode": "off"}, "a test")
    except AqePluginError:
        return
    carry_out(proposal, ACTOR)
    assert store.parse(store.read()).get("spark.aqePlugin.mode") == "off"
    carry_out(propose_rollback(store, force=False), ACTOR)
    assert api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] == f"# {text}"


def test_each_object_has_its_own_journal_on_this_machine(here: dict[str, str], tmp_path: Path) -> None:
    folders = {
        opened(here, text).journal_folder
        for text in (
            "kubernetes:configmap/conf",
            "kubernetes:configmap/conf?key=b",
            "kubernetes:sparkapplication/nightly",
            "kubernetes:scheduledsparkapplication/nightly",
        )
    }
    assert len(folders) == 4
    assert all(folder.is_relative_to(tmp_path / "state" / "aqe-plugin" / "kubernetes") for folder in folders)
    assert not (tmp_path / "state").exists()


def test_an_objects_name_is_an_address_of_it(here: dict[str, str]) -> None:
    for text in ("kubernetes:cm/conf?context=here&key=a/b%3F", "kubernetes:spark/configmap/conf"):
        name = opened(here, text).name
        assert opened(here, name).name == name
        assert parse_address(name).namespace == "spark"


# others at the same object


def test_another_users_earlier_change_is_reported_and_kept(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    theirs = THEIRS + "spark.new 1\n"
    api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})
    with pytest.raises(ConflictError, match="somebody else changed it in the meantime"):
        carry_out(proposal, ACTOR)
    assert api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] == theirs


def test_another_users_concurrent_change_is_reported_and_kept(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    theirs = THEIRS.replace("pa$$", "other")
    # The first patch is the rehearsal.
    api.before_patch = [lambda: None, lambda: api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})]
    with pytest.raises(ConflictError) as error:
        carry_out(proposal, ACTOR)
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: somebody else changed it in the meantime (spark.secret); nothing was "
        "written. Look at it and try again."
    )
    assert api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] == theirs
    assert [record.phase for record in journal_of(store).records] == ["abandoned"]
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert state_of(store).installed


def test_a_change_elsewhere_in_the_object_is_not_a_conflict(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here, "kubernetes:sparkapplication/nightly")
    api.before_patch = [lambda: None, lambda: api.put(APPLICATION, status={"applicationState": "COMPLETED"})]
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert patches(api) == [True, False, False]
    assert api.objects[APPLICATION]["status"] == {"applicationState": "COMPLETED"}
    assert state_of(store).installed


def test_an_object_that_keeps_changing_is_given_up(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here, "kubernetes:sparkapplication/nightly")
    api.before_patch = [lambda: api.put(APPLICATION, status={})] * 9
    with pytest.raises(ConflictError, match="somebody else changed it 5 times during the write"):
        carry_out(propose_install(store, JAR, None), ACTOR)


# the command line


def test_without_the_extra_the_error_has_the_install_command(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    for name in ("aqe_plugin.conf.stores.kubernetes_store", "aqe_plugin.conf.stores.api_server"):
        monkeypatch.delitem(sys.modules, name)
    message = f"A target on an API server needs the package kubernetes: {install_command('kubernetes')}.\n"
    assert answer("check", "--target", "kubernetes:configmap/conf") == (3, "", message)


def test_install_status_and_uninstall_work_on_an_application(
    api: ApiServer, here: dict[str, str], answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    before = copy.deepcopy(api.objects[APPLICATION])
    name = "kubernetes:spark/sparkapplication/nightly"
    target = ("--target", "kubernetes:sparkapplication/nightly")
    code, out, err = answer("install", *target, "--jar", JAR, "--format", "diff")
    assert (code, err) == (
        0,
        (
            f"Nothing was written; --yes makes the change. http://127.0.0.1:{api.port} would accept it. "
            "The operator then restarts the application, and KILLS the present run.\n"
        ),
    )
    assert '+  "spark.aqePlugin.mode": "observe",' in out.splitlines()
    assert out.splitlines()[0] == f"--- {name}"
    assert api.objects[APPLICATION] == before
    code, _, err = answer("install", *target, "--jar", JAR, "--yes")
    assert (code, err.startswith(f"Done: {name} is changed. The operator then restarts the application")) == (0, True)
    told = [json.loads(line) for line in answer("check", *target, "--format", "json")[1].splitlines()]
    assert [one["name"] for one in told if one["verdict"] == "ok"] == ["conf", "plugin", "jar", "mode"]
    assert told[0]["found"] == name
    assert answer("uninstall", *target, "--yes")[0] == 0
    assert without_version(api.objects[APPLICATION]) == without_version(before)
    lines = answer("history", *target, "--format", "json")[1].splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["install", "uninstall"]
    code, _, err = answer("install", *target)
    assert (code, "Spark runs in a container image" in err) == (5, True)
    assert answer("check", "--target", "kubernetes:secret/x")[0] == 5
    assert answer("check", "--target", "kubernetes:configmap/x")[0] == 4


# objects that a repository keeps


@pytest.mark.parametrize(
    ("metadata", "keeper"),
    [
        ({"annotations": {"argocd.argoproj.io/tracking-id": "spark:/ConfigMap:spark/conf"}}, "Argo CD"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "spark"}}, "Flux"),
        ({"managedFields": [{"manager": "kubectl"}, {"manager": "kustomize-controller"}]}, "Flux"),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, ""),
        ({}, ""),
    ],
)
def test_an_object_that_a_repository_keeps_is_known(
    api: ApiServer, here: dict[str, str], metadata: dict[str, object], keeper: str
) -> None:
    api.objects[CONFIGMAP]["metadata"].update(metadata)
    store = opened(here)
    assert store.keeper == keeper
    assert (f"{keeper} keeps it as its repository says" in store.effect) is bool(keeper)


def test_a_patch_for_a_repository_gives_what_yes_would_give(
    api: ApiServer, here: dict[str, str], answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    for text, path in (("kubernetes:configmap/conf", CONFIGMAP), ("kubernetes:sparkapplication/nightly", APPLICATION)):
        before = copy.deepcopy(api.objects[path])
        words = ("install", "--target", text, "--jar", JAR)
        code, out, err = answer(*words, "--format", "patch")
        assert (code, api.objects[path]) == (0, before), err
        patch = json.loads(out)
        name = path.rsplit("/", 1)[1]
        assert patch.pop("metadata") == {"name": name, "namespace": "spark"}
        assert (patch.pop("apiVersion"), patch.pop("kind")) in {
            ("v1", "ConfigMap"),
            ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
        }
        assert answer(*words, "--yes")[0] == 0
        for part in ("data", "spec"):
            if part in patch:
                changed = {**before[part], **patch[part]}
                if part == "spec":
                    changed = {**before[part], "sparkConf": {**before[part]["sparkConf"], **patch[part]["sparkConf"]}}
                assert api.objects[path][part] == changed


def test_what_a_repository_undid_is_said_so(
    api: ApiServer, here: dict[str, str], answer: Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    api.put(CONFIGMAP, data={"spark-defaults.conf": "spark.aqePlugin.mode apply\n"})
    before = copy.deepcopy(api.objects[CONFIGMAP]["data"])
    words = ("rollout", str(tmp_path), "--target", "kubernetes:cm/conf", "--yes", "--format", "json")
    assert answer(*words, "--set", "spark.aqePlugin.filter.buildTimeout=10")[0] == 0
    api.objects[CONFIGMAP]["metadata"]["labels"] = {"kustomize.toolkit.fluxcd.io/name": "spark"}
    api.put(CONFIGMAP, data=before)
    code, out, err = answer(*words)
    assert (code, json.loads(out)["ring"]) == (0, "rolled_back"), err
    assert json.loads(out)["why"].startswith("rolled back by Flux, which keeps it as its repository says: ")
