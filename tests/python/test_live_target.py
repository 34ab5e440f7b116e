"""ConfigMaps and applications on an API server: installed into, taken back, and left alone when that is right."""

from __future__ import annotations

import copy
import json
import socket
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api_server import ApiServer
from aqe_plugin.controller import (
    Proposal,
    carry_out,
    propose_install,
    propose_rollback,
    propose_tuning,
    propose_uninstall,
)
from aqe_plugin.errors import AqePluginError, ClusterError, ConfError, ConflictError, TargetError, WriteError
from aqe_plugin.install_status import status_of
from aqe_plugin.journal import Actor, Phase, journal_of
from aqe_plugin.targets.address import parse_address
from aqe_plugin.targets.live import LiveStore, open_store
from aqe_plugin.targets.patience import Patience
from commands import Answer

JAR = "local:///opt/spark/aqe-plugin-spark-4.1-0.1.0.jar"
CONFIGMAP = "/api/v1/namespaces/spark/configmaps/conf"
APPLICATION = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/sparkapplications/nightly"
SCHEDULED = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/scheduledsparkapplications/nightly"
APACHES = "/apis/spark.apache.org/v1/namespaces/spark/sparkapplications/nightly"
THEIRS = "# theirs\r\nspark.plugins\tcom.acme.P\n\n spark.secret = pa$$é\n"
ACTOR = Actor("ann@host", "ring 1", lambda: datetime(2026, 11, 21, 12, tzinfo=timezone.utc))
QUICK = Patience(attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.05, request_seconds=30)


@pytest.fixture
def here(api: ApiServer, tmp_path: Path) -> dict[str, str]:
    """An environment with a kubeconfig for the server, and the objects that the tests begin with."""
    api.put(CONFIGMAP, data={"spark-defaults.conf": THEIRS, "log4j2.properties": "rootLogger.level = info\n"})
    conf = {"spark.plugins": "com.acme.P", "spark.executor.instances": "2"}
    for path, spec in (
        (APPLICATION, {"type": "Scala", "sparkVersion": "4.1.0", "sparkConf": conf}),
        (SCHEDULED, {"schedule": "@daily", "template": {"type": "Scala"}}),
        (APACHES, {"runtimeVersions": {"sparkVersion": "4.1.1"}, "sparkConf": {}}),
    ):
        api.put(path, spec=spec, status={"applicationState": "RUNNING"})
    return {"KUBECONFIG": str(api.kubeconfig(tmp_path)), "XDG_STATE_HOME": str(tmp_path / "state")}


def opened(here: dict[str, str], text: str = "kubernetes:configmap/conf", patience: Patience = QUICK) -> LiveStore:
    return open_store(text, here, lambda _: None, patience)


def without_version(found: dict[str, Any]) -> dict[str, Any]:
    told = copy.deepcopy(found)
    del told["metadata"]["resourceVersion"]
    return told


def patches(api: ApiServer) -> list[bool]:
    """Whether each patch that came was a rehearsal."""
    return ["dryRun" in asked for verb, _, asked in api.requests if verb == "PATCH" and "fault" not in asked]


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
def test_what_is_taken_back_leaves_the_object_as_it_was(
    api: ApiServer, here: dict[str, str], text: str, path: str, back: Callable[[LiveStore], Proposal]
) -> None:
    before = copy.deepcopy(api.objects[path])
    store = opened(here, text)
    content = store.read()
    proposal = propose_install(store, JAR, None)
    assert api.objects[path] == before
    assert carry_out(proposal, ACTOR) == []
    assert status_of(store).installed
    assert status_of(store).mode == "observe"
    assert api.objects[path] != before
    assert api.objects[path]["metadata"]["name"] == before["metadata"]["name"]
    assert propose_install(store, JAR, None).nothing_to_do
    carry_out(back(store), ACTOR)
    assert store.read() == content
    assert without_version(api.objects[path]) == without_version(before)
    assert [record.phase for record in journal_of(store).records] == [Phase.DONE, Phase.DONE]


def test_an_install_changes_its_keys_alone_and_is_rehearsed_first(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    carry_out(propose_install(store, JAR, "apply"), ACTOR)
    data = api.objects[CONFIGMAP]["data"]
    assert data["log4j2.properties"] == "rootLogger.level = info\n"
    changed = THEIRS.replace("com.acme.P", "com.acme.P,io.aqeplugin.AqePlugin")
    assert data["spark-defaults.conf"].startswith(changed)
    assert patches(api) == [True, False]


def test_a_key_of_a_configmap_that_is_not_there_is_made_and_taken_out(api: ApiServer, here: dict[str, str]) -> None:
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


def test_the_journal_is_on_this_machine_one_for_each_object(here: dict[str, str], tmp_path: Path) -> None:
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


def test_the_name_of_an_object_names_it_again(here: dict[str, str]) -> None:
    for text in ("kubernetes:cm/conf?context=here&key=a/b%3F", "kubernetes:spark/configmap/conf"):
        name = opened(here, text).name
        assert opened(here, name).name == name
        assert parse_address(name).namespace == "spark"


# others at the same object


def test_a_change_of_somebody_else_before_ours_is_told_and_kept(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    theirs = THEIRS + "spark.new 1\n"
    api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})
    with pytest.raises(ConflictError, match="changed while this was being prepared"):
        carry_out(proposal, ACTOR)
    assert api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] == theirs


def test_a_change_of_somebody_else_at_the_same_moment_is_told_and_kept(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    theirs = THEIRS.replace("pa$$", "other")
    # The first patch is the rehearsal.
    api.before_patch = [lambda: None, lambda: api.put(CONFIGMAP, data={"spark-defaults.conf": theirs})]
    with pytest.raises(ConflictError) as error:
        carry_out(proposal, ACTOR)
    assert str(error.value) == (
        "kubernetes:spark/configmap/conf: somebody else changed it meanwhile (spark.secret), and nothing was written. "
        "Look at it and try again."
    )
    assert api.objects[CONFIGMAP]["data"]["spark-defaults.conf"] == theirs
    assert [record.phase for record in journal_of(store).records] == [Phase.ABANDONED]
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert status_of(store).installed


def test_a_change_elsewhere_in_the_object_is_no_conflict(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here, "kubernetes:sparkapplication/nightly")
    api.before_patch = [lambda: None, lambda: api.put(APPLICATION, status={"applicationState": "COMPLETED"})]
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert patches(api) == [True, False, False]
    assert api.objects[APPLICATION]["status"] == {"applicationState": "COMPLETED"}
    assert status_of(store).installed


def test_an_object_that_never_rests_is_given_up(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here, "kubernetes:sparkapplication/nightly")
    api.before_patch = [lambda: api.put(APPLICATION, status={})] * 9
    with pytest.raises(ConflictError, match="somebody else changed it 5 times while this was being written"):
        carry_out(propose_install(store, JAR, None), ACTOR)


# a server that is busy, slow, or gone


def test_a_busy_server_is_asked_again_and_waited_for_as_it_asks(api: ApiServer, here: dict[str, str]) -> None:
    api.faults = [(429, {"Retry-After": "0"}), (500, {})]
    store = opened(here)
    api.faults = [(503, {}), (504, {})]
    assert store.read() == THEIRS.encode()
    assert [asked.get("fault") for _, _, asked in api.requests] == [["429"], ["500"], None, ["503"], ["504"], None]


def test_whoever_waits_is_told_why(api: ApiServer, here: dict[str, str]) -> None:
    said: list[str] = []
    api.faults = [(429, {"Retry-After": "0"})]
    open_store("kubernetes:configmap/conf", here, said.append, QUICK)
    assert said == [f"http://127.0.0.1:{api.port} is busy or broken (429), try 1 of 3; asked again in 0.0 s."]


def test_a_server_that_stays_busy_is_told(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    api.faults = [(429, {"Retry-After": "86400"})] * 3
    with pytest.raises(ClusterError, match=r"is busy or broken, asked 3 times \(429: the server is having a bad day\)"):
        store.read()


def test_an_answer_that_is_lost_is_no_second_change(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    api.loses_answers = 1
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert status_of(store).installed
    assert [record.phase for record in journal_of(store).records] == [Phase.DONE]


def test_a_server_that_falls_silent_leaves_a_change_that_the_next_one_settles(
    api: ApiServer, here: dict[str, str]
) -> None:
    store = opened(here)
    api.loses_answers = 3
    with pytest.raises(ClusterError, match="does not answer, asked 3 times"):
        carry_out(propose_install(store, JAR, None), ACTOR)
    (remark,) = [one for one in status_of(store).remarks if "was interrupted" in one]
    assert "holds the new state" in remark
    said = carry_out(propose_tuning(store, {"spark.aqePlugin.mode": "off"}, "a test"), ACTOR)
    assert said == ["install no. 1 of 2026-11-21T12:00:00+00:00 was interrupted and had been carried out"]


def test_a_server_that_hangs_or_is_gone_is_told(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gone = {**here, "KUBECONFIG": str(api.kubeconfig(tmp_path, port=port))}
    with pytest.raises(ClusterError, match=rf"http://127\.0\.0\.1:{port} does not answer, asked 3 times \(.*refused"):
        opened(gone)
    api.hang_seconds = 5
    slow = {**here, "KUBECONFIG": str(api.kubeconfig(tmp_path))}
    with pytest.raises(ClusterError, match=r"does not answer, asked 2 times \(.*timed out"):
        opened(slow, patience=Patience(2, 0.01, 0.01, request_seconds=0.1))


# a server that says no


def test_a_token_that_has_expired_is_told_at_once(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
    here["KUBECONFIG"] = str(api.kubeconfig(tmp_path, token="old"))
    with pytest.raises(ClusterError) as error:
        opened(here)
    assert str(error.value) == (
        f"kubernetes:spark/configmap/conf: http://127.0.0.1:{api.port} does not know who asks (401): the kubeconfig's "
        "token or certificate is missing, wrong or expired. Log in again; kubectl auth whoami tries the same."
    )
    assert len(api.requests) == 1


def test_a_server_that_cannot_be_trusted_is_told_at_once(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
    here["KUBECONFIG"] = str(api.kubeconfig(tmp_path, scheme="https"))
    said: list[str] = []
    with pytest.raises(ClusterError, match=r"https://127\.0\.0\.1:\d+ cannot be asked \(TLS\): .*SSL"):
        open_store("kubernetes:configmap/conf", here, said.append, QUICK)
    assert said == []


def test_an_object_that_is_not_there_is_told(api: ApiServer, here: dict[str, str]) -> None:
    with pytest.raises(TargetError) as error:
        opened(here, "kubernetes:prod/configmap/conf")
    assert str(error.value) == (
        f'kubernetes:prod/configmap/conf: not found on http://127.0.0.1:{api.port} (404): configmaps "conf" not found.'
    )


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (403, WriteError, r"forbids it \(403\).* The role needs the verbs get and patch for configmaps"),
        (422, WriteError, r"does not take the change \(422\): .* It holds what it held"),
    ],
)
def test_a_change_that_is_refused_is_refused_in_the_rehearsal_and_never_begun(
    api: ApiServer, here: dict[str, str], code: int, error: type[Exception], message: str
) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    api.refuses_patches = code
    with pytest.raises(error, match=message):
        carry_out(proposal, ACTOR)
    assert journal_of(store).records == ()
    assert patches(api) == [True]


def test_an_immutable_configmap_and_binary_data_are_left_alone(api: ApiServer, here: dict[str, str]) -> None:
    api.objects[CONFIGMAP]["immutable"] = True
    store = opened(here)
    with pytest.raises(ConflictError, match=r"the ConfigMap is immutable\. Make one under a new name"):
        carry_out(propose_install(store, JAR, None), ACTOR)
    api.put(CONFIGMAP, binaryData={"spark-defaults.conf": "AAAA"})
    with pytest.raises(TargetError, match="stands in binaryData"):
        store.read()


def test_an_application_that_the_jar_does_not_fit_is_left_alone(api: ApiServer, here: dict[str, str]) -> None:
    spec = api.objects[APPLICATION]["spec"]
    api.put(APPLICATION, spec={**spec, "sparkVersion": "4.0.1"})
    with pytest.raises(ConflictError, match=r"is for Spark 4\.0\.1, and the jar local:.* is for Spark 4\.1"):
        propose_install(opened(here, "kubernetes:sparkapplication/nightly"), JAR, None)
    api.put(APPLICATION, spec={**spec, "deps": {"jars": ["a.jar"]}})
    with pytest.raises(ConflictError, match=r"spec\.deps\.jars lists jars, which overrule spark\.jars"):
        propose_install(opened(here, "kubernetes:sparkapplication/nightly"), JAR, None)
    api.put(APPLICATION, spec={**spec, "sparkConf": {"spark.a": 1}})
    with pytest.raises(TargetError, match="sparkConf is no map of keys to strings"):
        status_of(opened(here, "kubernetes:sparkapplication/nightly"))
    api.put(APPLICATION, spec=None)
    with pytest.raises(TargetError, match="the application has no spec"):
        opened(here, "kubernetes:sparkapplication/nightly")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kubernetes:conf", "expected kubernetes:[NAMESPACE/]KIND/NAME[?context=CONTEXT][&key=KEY]."),
        ("kubernetes:a/b/c/d", "expected kubernetes:"),
        ("kubernetes:configmap/conf?contxt=x", "expected kubernetes:"),
        ("kubernetes:secret/conf", "secret holds no Spark conf: expected one of configmap, sparkapplication, "),
    ],
)
def test_an_address_that_is_none_says_what_one_is(text: str, message: str) -> None:
    with pytest.raises(ConfError) as error:
        parse_address(text)
    assert str(error.value).startswith(f"{text}: {message}")


def test_without_a_kubeconfig_there_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no API server: .* Give a kubeconfig by KUBECONFIG or in ~/\.kube/config"):
        opened({"KUBECONFIG": str(tmp_path / "none")})
    broken = tmp_path / "broken"
    broken.write_text("current-context: x\n")
    with pytest.raises(ClusterError, match="no API server"):
        opened({"KUBECONFIG": str(broken)}, "kubernetes:configmap/conf?context=y")


# the command line


def test_without_the_extra_a_live_target_says_how_to_get_it(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    for name in ("aqe_plugin.targets.live", "aqe_plugin.targets.api_server"):
        monkeypatch.delitem(sys.modules, name)
    message = "A target on an API server needs the package kubernetes: pip install 'aqe-plugin[kubernetes]'.\n"
    assert answer("status", "--target", "kubernetes:configmap/conf") == (3, "", message)


def test_a_whole_life_on_the_command_line(
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
            f"Nothing was written: --yes does it. http://127.0.0.1:{api.port} would take it. "
            "The operator then runs the application again, and KILLS the run that is under way.\n"
        ),
    )
    assert '+  "spark.aqePlugin.mode": "observe",' in out.splitlines()
    assert out.splitlines()[0] == f"--- {name}"
    assert api.objects[APPLICATION] == before
    code, _, err = answer("install", *target, "--jar", JAR, "--yes")
    assert (code, err.startswith(f"Done: {name} is changed. The operator then runs the application again")) == (0, True)
    told = json.loads(answer("status", *target, "--format", "json")[1])
    assert (told["file"], told["installed"]) == (name, True)
    assert answer("uninstall", *target, "--yes")[0] == 0
    assert without_version(api.objects[APPLICATION]) == without_version(before)
    lines = answer("history", *target, "--format", "json")[1].splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["install", "uninstall"]
    code, _, err = answer("install", *target)
    assert (code, "Spark runs in a container image" in err) == (5, True)
    assert answer("status", "--target", "kubernetes:secret/x")[0] == 5
    assert answer("status", "--target", "kubernetes:configmap/x")[0] == 4
