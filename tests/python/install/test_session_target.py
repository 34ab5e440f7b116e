"""A running session as a target: named, read, set, taken back, and left alone when that is right."""

from __future__ import annotations

import json
import os
import socket
from datetime import datetime, timezone
from pathlib import Path

import grpc
import pytest

from aqe_plugin.conf.keys import PREFIX
from aqe_plugin.conf.stores.locate import find_target
from aqe_plugin.conf.stores.patience import Patience
from aqe_plugin.conf.stores.session_address import parse_session_address, without_secrets
from aqe_plugin.conf.stores.session_store import SessionStore, open_session
from aqe_plugin.errors import ClusterError, ConfError, ConflictError, SessionError, TargetError
from aqe_plugin.install.controller import Proposal, carry_out, propose_install, propose_rollback, propose_tuning
from aqe_plugin.install.journal import Actor, Phase, journal_of
from aqe_plugin.install.status import status_of
from commands import Answer
from connect_server import ConnectServer, server
from samples import write_log

__all__ = ["server"]

ID = "6a2f41a3-c54c-4fce-b5d5-64d6dbd4e9fd"
NAMED = f";user_id=ann;session_id={ID}"
MODE = f"{PREFIX}mode"
RATE = f"{PREFIX}filter.maxPassRate"
THEIRS = {"spark.secret": "pa$$", "spark.sql.shuffle.partitions": "7", RATE: "0.5"}
ACTOR = Actor("ann@host", "ring 1", lambda: datetime(2026, 11, 21, 12, tzinfo=timezone.utc))
QUICK = Patience(attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.05, request_seconds=30)


@pytest.fixture
def confs(server: ConnectServer) -> dict[str, str]:
    """The confs of ann's session."""
    return server.sessions.setdefault(("ann", ID), dict(THEIRS))


@pytest.fixture
def store(server: ConnectServer, confs: dict[str, str], tmp_path: Path) -> SessionStore:
    return opened(server, tmp_path)


def opened(server: ConnectServer, state: Path, patience: Patience = QUICK) -> SessionStore:
    here = {"XDG_STATE_HOME": str(state)}
    return open_session(f"sc://127.0.0.1:{server.port}/{NAMED}", here, lambda _: None, patience)


def done(proposal: Proposal) -> Proposal:
    carry_out(proposal, ACTOR)
    return proposal


# its name


def test_the_name_of_a_session_has_no_secret() -> None:
    text = f"sc://spark.example:443/;token=s%2F3cret;use_ssl=true;x-team=t0p;session_id={ID.upper()};user_id=a%20b"
    address = parse_session_address(text, {})
    assert address.name == f"sc://spark.example:443/;user_id=a%20b;session_id={ID};use_ssl=true"
    assert parse_session_address(address.name, {"USER": "bob"}).name == address.name
    assert address.connection == f"{address.name};token=s%2F3cret;x-team=t0p"
    assert not {"s%2F3cret", "t0p"} & set(repr(address).replace(";", "=").split("="))
    hidden = (
        f"sc://spark.example:443/;token=(hidden);use_ssl=true;x-team=(hidden);session_id={ID.upper()};user_id=a%20b"
    )
    assert without_secrets(text) == hidden
    assert without_secrets("/conf/a;token=b") == "/conf/a;token=b"


def test_port_and_user_have_the_defaults_of_sparks_clients() -> None:
    given = f"sc://host/;session_id={ID}"
    assert parse_session_address(given, {"USER": "bob"}).name == f"sc://host:15002/;user_id=bob;session_id={ID}"
    assert parse_session_address(given, {"USER": "bob", "SPARK_USER": "eve"}).user_id == "eve"
    assert parse_session_address(given, {}).name == f"sc://host:15002/;session_id={ID}"


def test_an_address_that_was_parsed_as_a_path_is_the_same_address() -> None:
    text = f"sc://[::1]:7/;session_id={ID};token=a%2F%2Fb"
    assert parse_session_address(str(Path(text)), {}) == parse_session_address(text, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "sc://host:7",
            r"sc://host:7: without a session_id this is a new session.*spark\.session_id: sc://host:7/;user",
        ),
        ("sc://host:7/;user_id=ann;token=s3cret", r"a new session.*;user_id=ann;session_id=UUID\.$"),
        ("sc://host:7/;session_id=12", "session_id = 12 is not allowed: expected a UUID"),
        (f"sc://host/;session_id={ID};use_ssl=yes", "use_ssl = yes is not allowed: expected true or false"),
        (f"sc://host/;session_id={ID};token=s3cret/x", r"expected sc://HOST\[:PORT\]/;session_id=UUID"),
        (f"sc://host/;session_id={ID};token", r"expected sc://HOST\[:PORT\]/;session_id=UUID"),
        (f"sc://me:s3cret@host/;session_id={ID}", r"expected sc://HOST\[:PORT\]/;session_id=UUID"),
        (f"sc://host:port/;session_id={ID}", r"expected sc://HOST\[:PORT\]/;session_id=UUID"),
    ],
)
def test_an_invalid_address_is_refused_without_its_secrets(text: str, said: str) -> None:
    with pytest.raises(ConfError, match=said) as told:
        parse_session_address(text, {})
    assert "s3cret" not in str(told.value)


# a whole life


def test_install_sets_the_mode_and_a_rollback_unsets_it(store: SessionStore, confs: dict[str, str]) -> None:
    proposal = done(propose_install(store, None, None))
    assert [(change.key, change.old, change.new) for change in proposal.changes] == [(MODE, None, "observe")]
    assert confs == {**THEIRS, MODE: "observe"}
    assert propose_install(store, None, None).nothing_to_do
    done(propose_install(store, None, "apply"))
    assert confs[MODE] == "apply"
    done(propose_rollback(store, force=False))
    assert confs[MODE] == "observe"
    done(propose_rollback(store, force=False))
    assert confs == THEIRS


def test_a_rollback_restores_the_owners_value(store: SessionStore, confs: dict[str, str]) -> None:
    done(propose_tuning(store, {RATE: "0.3", f"{PREFIX}broadcast.maxRows": "9"}, "asked"))
    assert confs == {**THEIRS, RATE: "0.3", f"{PREFIX}broadcast.maxRows": "9"}
    done(propose_rollback(store, force=False))
    assert confs == THEIRS


def test_other_keys_of_the_session_are_never_read(store: SessionStore, confs: dict[str, str]) -> None:
    done(propose_install(store, None, None))
    confs["spark.sql.shuffle.partitions"] = "9"
    done(propose_rollback(store, force=False))
    assert confs == {**THEIRS, "spark.sql.shuffle.partitions": "9"}
    kept = [path.read_bytes() for path in store.journal_folder.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"pa$$" in content or b"shuffle" in content for content in kept)


def test_a_key_of_ours_that_the_owner_changed_is_a_conflict(store: SessionStore, confs: dict[str, str]) -> None:
    done(propose_install(store, None, None))
    confs[MODE] = "off"
    with pytest.raises(ConflictError, match=rf"changed since install no\. 1 by somebody else: it differs in {MODE}"):
        propose_rollback(store, force=False)
    proposal = propose_install(store, None, "apply")
    confs[RATE] = "0.9"
    with pytest.raises(ConflictError, match="somebody else changed it in the meantime"):
        carry_out(proposal, ACTOR)
    assert (confs[MODE], confs[RATE]) == ("off", "0.9")


def test_status_reports_the_plugin_and_the_problems_of_its_keys(
    store: SessionStore, server: ConnectServer, confs: dict[str, str]
) -> None:
    confs[RATE] = "7"
    found = status_of(store)
    assert (found.installed, found.plugin_listed, found.mode, found.problems) == (True, True, None, ())
    assert [(one.key, one.problem) for one in found.settings] == [(RATE, "not allowed: expected a number from 0 to 1")]
    server.has_plugin = False
    found = status_of(store)
    assert (found.installed, found.plugin_listed) == (False, False)
    assert found.problems == (store.why_not_loaded(),)


# left alone


def test_a_server_without_the_plugin_is_refused_with_a_fix(
    store: SessionStore, server: ConnectServer, confs: dict[str, str]
) -> None:
    server.has_plugin = False
    with pytest.raises(SessionError, match=r"spark\.plugins is read when.*aqe-plugin install --spark-home.*restart"):
        propose_install(store, None, None)
    confs["spark.plugins"] = "com.acme.P, io.aqeplugin.AqePlugin"
    with pytest.raises(SessionError, match=r"spark\.plugins names the plugin.*stood down.*log of the server's driver"):
        propose_install(store, None, None)
    assert not store.journal_folder.exists()


@pytest.mark.parametrize(
    "key", ["spark.plugins", "spark.jars", f"{PREFIX}decisions.keptQueries", f"{PREFIX}canary.share"]
)
def test_a_key_that_is_read_when_an_application_starts_is_refused(store: SessionStore, key: str) -> None:
    with pytest.raises(ConfError, match=rf"{key} is read when an application starts.*server's conf and restart"):
        store.parse(b"").with_value(key, "5")


def test_a_key_that_was_read_at_the_start_may_be_set(store: SessionStore, confs: dict[str, str]) -> None:
    confs[f"{PREFIX}decisions.keptQueries"] = "5"
    done(propose_install(store, None, None))
    done(propose_rollback(store, force=False))
    assert confs == {**THEIRS, f"{PREFIX}decisions.keptQueries": "5"}


def test_a_missing_session_is_never_started(server: ConnectServer, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"no such session of user 'ann'.*spark\.session_id") as told:
        opened(server, tmp_path).read()
    assert ID in str(told.value)
    assert server.sessions == {}


def test_a_session_that_ends_in_the_meantime_is_not_restarted(
    store: SessionStore, server: ConnectServer, confs: dict[str, str]
) -> None:
    proposal = propose_install(store, None, None)
    server.sessions.clear()
    with pytest.raises(TargetError, match="no such session"):
        carry_out(proposal, ACTOR)
    assert server.sessions == {}


# a server in trouble


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "rejects the credentials.*SPARK_CONNECT_AUTHENTICATE_TOKEN"),
        (grpc.StatusCode.PERMISSION_DENIED, "forbids it: because"),
        (grpc.StatusCode.INTERNAL, r"cannot be asked \(INTERNAL\): because"),
    ],
)
def test_a_refusal_is_reported_without_retries(
    server: ConnectServer, confs: dict[str, str], tmp_path: Path, code: grpc.StatusCode, said: str
) -> None:
    server.faults = [(code, "because\nat org.apache.spark.Deep(down)")]
    with pytest.raises(ClusterError, match=said) as told:
        opened(server, tmp_path).read()
    assert server.calls == ["ReleaseExecute"]
    assert "org.apache" not in str(told.value)


def test_a_busy_connect_server_is_asked_again(server: ConnectServer, confs: dict[str, str], tmp_path: Path) -> None:
    server.faults = [(grpc.StatusCode.UNAVAILABLE, "busy")] * 2
    said: list[str] = []
    here = {"XDG_STATE_HOME": str(tmp_path)}
    open_session(f"sc://127.0.0.1:{server.port}/{NAMED}", here, said.append, QUICK).read()
    assert [line.split("; ")[0] for line in said] == [
        f"127.0.0.1:{server.port} does not answer, try {number} of 3" for number in (1, 2)
    ]


def test_a_server_that_is_down_is_reported_with_a_fix(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        text = f"sc://127.0.0.1:{closed.getsockname()[1]}/{NAMED}"
        with pytest.raises(ClusterError, match=r"does not answer, asked 3 times.*Is it up"):
            open_session(text, {}, lambda _: None, QUICK).read()


def test_a_change_without_an_answer_is_recorded_by_the_next(
    store: SessionStore, server: ConnectServer, confs: dict[str, str]
) -> None:
    proposal = propose_install(store, None, None)
    server.silent_for = {"set"}
    with pytest.raises(ClusterError, match="does not answer, asked 3 times"):
        carry_out(proposal, ACTOR)
    assert confs == THEIRS
    server.silent_for.clear()
    assert "the file holds the old state" in status_of(store).remarks[0]
    assert carry_out(proposal, ACTOR) == [
        "install no. 1 of 2026-11-21T12:00:00+00:00 was interrupted and had changed nothing"
    ]
    assert confs == {**THEIRS, MODE: "observe"}


# the command line


@pytest.fixture
def target(server: ConnectServer, confs: dict[str, str]) -> str:
    """The session by its server's other port, with a token."""
    return f"sc://localhost:{server.secure_port}/{NAMED};token=s3cret"


def test_install_and_uninstall_set_and_unset_the_mode_of_a_session(
    answer: Answer, server: ConnectServer, confs: dict[str, str], target: str
) -> None:
    name = target.removesuffix(";token=s3cret")
    code, out, err = answer("install", "--target", target, "--format", "diff")
    assert code == 0, err
    assert out.splitlines()[:2] == [f"--- {name}", f"+++ {name}"]
    assert f"+{MODE} observe" in out.splitlines()
    assert "Nothing was written; --yes makes the change. It would hold for this session alone, until it ends." in err
    assert confs == THEIRS
    code, out, err = answer("install", "--target", target, "--mode", "apply", "--yes", "--why", "try it")
    assert (code, confs[MODE]) == (0, "apply")
    assert f"Done: {name}: queries that this session plans from now on use it" in err
    status = json.loads(answer("status", "--target", target, "--format", "json")[1])
    assert status["installed"]
    assert {one["key"]: one["value"] for one in status["settings"]} == {RATE: "0.5", MODE: "apply"}
    assert "try it" in answer("history", "--target", target)[1]
    assert answer("uninstall", "--target", target, "--yes")[0] == 0
    assert confs == THEIRS
    assert server.tokens == {"Bearer s3cret"}


def test_the_token_is_never_printed_or_written(
    answer: Answer, server: ConnectServer, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQE_PLUGIN__TARGET", target)
    told = [answer("config", "show", "--format", output) for output in ("table", "json")]
    told += [answer("install", "--yes", "--format", output) for output in ("json", "table")]
    told += [answer("status"), answer("history", "--format", "json"), answer("uninstall", "--yes")]
    server.has_plugin = False
    told += [answer("install", "--yes"), answer("--debug", "verify")]
    assert [code for code, _, _ in told] == [0] * 7 + [3, 3]
    assert not any("s3cret" in text for _, out, err in told for text in (out, err))
    assert all("(hidden)" in out for _, out, _ in told[:2])
    state = [path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()]
    assert state
    assert not any(b"s3cret" in path.read_bytes() or "s3cret" in str(path) for path in state)


def test_the_journal_of_a_session_outlives_it(answer: Answer, server: ConnectServer, target: str) -> None:
    assert answer("install", "--target", target, "--yes", "--why", "try it")[0] == 0
    server.sessions.clear()
    server.silent_for = {"ReleaseExecute"}
    assert "try it" in answer("history", "--target", target)[1]


def test_a_server_that_cannot_run_a_query_gives_one_line(answer: Answer, target: str) -> None:
    code, out, err = answer("verify", "--target", target)
    assert code == 4
    assert out.split() == ["ok", "plugin", "loaded", "in", "the", "session's", "application"]
    assert "did not run a query" in err
    assert "Traceback" not in err


def test_a_jar_for_a_session_is_refused(answer: Answer, target: str) -> None:
    for command, option, value in (
        ("install", "--jar", "/jars/aqe-plugin-spark-4.1-0.1.0.jar"),
        ("install", "--spark", "4.1"),
        ("verify", "--jar", "/jars/aqe-plugin-spark-4.1-0.1.0.jar"),
    ):
        code, _, err = answer(command, "--target", target, option, value)
        assert (code, "has what its server loaded. Leave the option out." in err) == (5, True)


def test_a_share_of_a_session_is_refused(answer: Answer, target: str, tmp_path: Path) -> None:
    log = str(write_log(tmp_path / "app"))
    code, _, err = answer("apply", log, "--target", target, "--canary-share", "0.1")
    assert (code, "s3cret" in err) == (5, False)
    assert "a running session is one application, which has no share" in err


def test_an_address_without_a_session_id_is_refused(answer: Answer, server: ConnectServer) -> None:
    code, _, err = answer("status", "--target", f"sc://127.0.0.1:{server.port}")
    assert code == 5
    assert "without a session_id this is a new session" in err
    assert server.calls == []


def test_a_session_in_a_settings_file_is_not_taken_for_a_path(
    answer: Answer, target: str, tmp_path: Path, confs: dict[str, str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'target = "{target}"\n')
    assert answer("--config", str(file), "install", "--yes")[0] == 0
    assert confs[MODE] == "observe"


def test_journals_stay_in_their_folder_for_any_user_name(tmp_path: Path) -> None:
    text = f"sc://host:1/;session_id={ID};user_id=..%2F.."
    folder = open_session(text, {"XDG_STATE_HOME": str(tmp_path)}, lambda _: None).journal_folder
    assert folder.resolve() == folder == tmp_path / "aqe-plugin" / "connect" / "host_1" / "_" / ID


def test_the_journal_names_the_session(store: SessionStore, tmp_path: Path) -> None:
    done(propose_install(store, None, None))
    (record,) = journal_of(find_target(Path(store.name), None, {"XDG_STATE_HOME": str(tmp_path)})).records
    assert (record.phase, record.file) == (Phase.DONE, store.name)
