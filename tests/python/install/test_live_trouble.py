"""An API server that is busy, slow or gone, or says no: what is told, and that nothing is half done."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from api_server import ApiServer
from aqe_plugin.conf.stores.api_server import Patience
from aqe_plugin.conf.stores.kubernetes_address import parse_address
from aqe_plugin.conf.stores.kubernetes_store import open_store
from aqe_plugin.errors import ClusterError, ConfError, ConflictError, TargetError, WriteError
from aqe_plugin.install.controller import (
    carry_out,
    propose_install,
    propose_tuning,
)
from aqe_plugin.install.journal import journal_of
from conf_states import state_of
from live_objects import ACTOR, APPLICATION, CONFIGMAP, JAR, QUICK, THEIRS, here, opened, patches

__all__ = ["here"]


# a server that is busy, slow, or gone


def test_a_busy_server_is_asked_again_after_its_retry_after(api: ApiServer, here: dict[str, str]) -> None:
    api.faults = [(429, {"Retry-After": "0"}), (500, {})]
    store = opened(here)
    api.faults = [(503, {}), (504, {})]
    assert store.read() == THEIRS.encode()
    assert [asked.get("fault") for _, _, asked in api.requests] == [["429"], ["500"], None, ["503"], ["504"], None]


def test_a_wait_for_the_server_is_reported(api: ApiServer, here: dict[str, str]) -> None:
    said: list[str] = []
    api.faults = [(429, {"Retry-After": "0"})]
    open_store("kubernetes:configmap/conf", here, said.append, QUICK)
    assert said == [f"http://127.0.0.1:{api.port} is busy or broken (429), try 1 of 3; trying again in 0.0 s."]


def test_a_server_that_stays_busy_gives_an_error(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    api.faults = [(429, {"Retry-After": "86400"})] * 3
    with pytest.raises(ClusterError, match=r"is busy or broken, asked 3 times \(429: the server is having a bad day\)"):
        store.read()


def test_a_lost_answer_does_not_repeat_the_change(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    api.loses_answers = 1
    carry_out(propose_install(store, JAR, None), ACTOR)
    assert state_of(store).installed
    assert [record.phase for record in journal_of(store).records] == ["done"]


def test_the_next_change_records_how_one_without_an_answer_ended(api: ApiServer, here: dict[str, str]) -> None:
    store = opened(here)
    api.loses_answers = 3
    with pytest.raises(ClusterError, match="does not answer, asked 3 times"):
        carry_out(propose_install(store, JAR, None), ACTOR)
    (remark,) = [one for one in state_of(store).remarks if "was interrupted" in one]
    assert "holds the new state" in remark
    said = carry_out(propose_tuning(store, {"spark.aqePlugin.mode": "off"}, "a test"), ACTOR)
    assert said == ["install no. 1 of 2026-11-21T12:00:00+00:00 was interrupted and had been carried out"]


def test_a_server_that_hangs_or_is_down_gives_an_error(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
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


def test_an_expired_token_is_reported_without_retries(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
    here["KUBECONFIG"] = str(api.kubeconfig(tmp_path, token="old"))
    with pytest.raises(ClusterError) as error:
        opened(here)
    assert str(error.value) == (
        f"kubernetes:spark/configmap/conf: http://127.0.0.1:{api.port} rejects the credentials (401): the kubeconfig's "
        "token or certificate is missing, wrong or expired. Log in again; kubectl auth whoami tries the same."
    )
    assert len(api.requests) == 1


def test_an_untrusted_server_is_reported_without_retries(api: ApiServer, here: dict[str, str], tmp_path: Path) -> None:
    here["KUBECONFIG"] = str(api.kubeconfig(tmp_path, scheme="https"))
    said: list[str] = []
    with pytest.raises(ClusterError, match=r"https://127\.0\.0\.1:\d+ cannot be asked \(TLS\): .*SSL"):
        open_store("kubernetes:configmap/conf", here, said.append, QUICK)
    assert said == []


def test_a_missing_object_is_reported(api: ApiServer, here: dict[str, str]) -> None:
    with pytest.raises(TargetError) as error:
        opened(here, "kubernetes:prod/configmap/conf")
    assert str(error.value) == (
        f'kubernetes:prod/configmap/conf: not found on http://127.0.0.1:{api.port} (404): configmaps "conf" not found.'
    )


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (403, WriteError, r"forbids it \(403\).* The role needs the verbs get and patch for configmaps"),
        (422, WriteError, r"refuses the change \(422\): .* The object is unchanged"),
    ],
)
def test_a_refusal_in_the_rehearsal_stops_the_change(
    api: ApiServer, here: dict[str, str], code: int, error: type[Exception], message: str
) -> None:
    store = opened(here)
    proposal = propose_install(store, JAR, None)
    api.refuses_patches = code
    with pytest.raises(error, match=message):
        carry_out(proposal, ACTOR)
    assert journal_of(store).records == ()
    assert patches(api) == [True]


def test_an_immutable_configmap_and_binary_data_are_refused(api: ApiServer, here: dict[str, str]) -> None:
    api.objects[CONFIGMAP]["immutable"] = True
    store = opened(here)
    with pytest.raises(ConflictError, match=r"the ConfigMap is immutable\. Create one under a new name"):
        carry_out(propose_install(store, JAR, None), ACTOR)
    api.put(CONFIGMAP, binaryData={"spark-defaults.conf": "AAAA"})
    with pytest.raises(TargetError, match="is in binaryData"):
        store.read()


def test_an_application_that_the_jar_does_not_fit_is_refused(api: ApiServer, here: dict[str, str]) -> None:
    spec = api.objects[APPLICATION]["spec"]
    api.put(APPLICATION, spec={**spec, "sparkVersion": "4.0.1"})
    with pytest.raises(ConflictError, match=r"is for Spark 4\.0\.1, and the jar local:.* is for Spark 4\.1"):
        propose_install(opened(here, "kubernetes:sparkapplication/nightly"), JAR, None)
    api.put(APPLICATION, spec={**spec, "deps": {"jars": ["a.jar"]}})
    with pytest.raises(ConflictError, match=r"spec\.deps\.jars lists jars, which override spark\.jars"):
        propose_install(opened(here, "kubernetes:sparkapplication/nightly"), JAR, None)
    api.put(APPLICATION, spec={**spec, "jars": "a.jar,b.jar"})
    with pytest.raises(ConflictError, match=r"spec\.jars lists several jars"):
        propose_install(opened(here, "kubernetes:sparkapplication/nightly"), JAR, None)
    api.put(APPLICATION, spec={**spec, "sparkConf": {"spark.a": 1}})
    with pytest.raises(TargetError, match="sparkConf is not a map of keys to strings"):
        state_of(opened(here, "kubernetes:sparkapplication/nightly"))
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
def test_an_invalid_address_is_refused_with_the_syntax(text: str, message: str) -> None:
    with pytest.raises(ConfError) as error:
        parse_address(text)
    assert str(error.value).startswith(f"{text}: {message}")


def test_a_missing_kubeconfig_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no API server: .* Give a kubeconfig by KUBECONFIG or in ~/\.kube/config"):
        opened({"KUBECONFIG": str(tmp_path / "none")})
    broken = tmp_path / "broken"
    broken.write_text("current-context: x\n")
    with pytest.raises(ClusterError, match="no API server"):
        opened({"KUBECONFIG": str(broken)}, "kubernetes:configmap/conf?context=y")
