"""The Python interface as a Spark Connect client has it, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from api_sessions import CONFS, AnySession, aqe, items, plan_of, sales, write_tables
from aqe_plugin import AqePlugin, jar_for
from aqe_plugin.conf.keys import MODE_KEY
from commands import Answer
from samples import query_lines, write_log
from spark_servers import free_port, with_the_plugin

__all__ = ["aqe", "items", "plan_of", "sales"]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    port = free_port()
    confs = {
        **CONFS,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        # What spark.jars adds is not on the class path that EXPLAIN's section is loaded from.
        "spark.driver.extraClassPath": str(jar_for(pyspark.__version__)),
    }
    with with_the_plugin("org.apache.spark.sql.connect.service.SparkConnectServer", confs, (), port, folder):
        yield port


@pytest.fixture(scope="module")
def spark(port: int, folder: Path) -> Iterator[SparkSession]:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    session: SparkSession = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()  # type: ignore[assignment]
    try:
        write_tables(session, folder)
        yield session
    finally:
        # Before the server goes: a client whose server is gone keeps its process alive.
        session.stop()


class TestConnect(AnySession):
    def test_the_session_is_one_of_spark_connect(self, spark: SparkSession) -> None:
        assert type(spark).__module__.startswith("pyspark.sql.connect")

    def test_an_explanation_runs_nothing_and_has_a_line_for_each_join(
        self, aqe: AqePlugin, sales: DataFrame, items: DataFrame, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing = sales.join(items, "item").selectExpr("raise_error('it was run') AS failed")
        seen = aqe.explain(failing)
        (line,) = seen.lines
        assert "item" in line
        assert "== Physical Plan ==" in seen.plan
        assert "Nothing was run." in repr(seen)
        assert line in " ".join(repr(seen).split())
        assert capsys.readouterr().out == ""

    def test_mode_and_thresholds_are_set_on_the_server_and_restored(self, aqe: AqePlugin, spark: SparkSession) -> None:
        with aqe.override(mode="observe", broadcast_max_memory_bytes="256m"):
            assert aqe.mode == "observe"
            assert spark.sql("SET spark.aqePlugin.broadcast.maxMemoryBytes").first()["value"] == "256m"  # type: ignore[index]
            assert aqe.thresholds.broadcast_max_memory_bytes == 256 * 1024**2
        assert spark.conf.get("spark.aqePlugin.mode", None) is None
        assert aqe.thresholds.broadcast_max_memory_bytes == 128 * 1024**2


class TestRunningSession:
    """The same server's sessions as targets of the command line."""

    @pytest.fixture
    def owner(self, port: int) -> Iterator[SparkSession]:
        """Somebody's session, which goes on while commands join it."""
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        url = f"sc://127.0.0.1:{port}/;user_id=ann;session_id={uuid4()}"
        session: SparkSession = ConnectSession(connection=url)  # type: ignore[assignment]
        session.conf.set("spark.sql.shuffle.partitions", "3")
        yield session
        session.stop()

    @pytest.fixture
    def target(self, owner: SparkSession, port: int) -> str:
        return f"sc://127.0.0.1:{port}/;user_id=ann;session_id={owner.session_id}"  # type: ignore[attr-defined]

    def test_a_session_is_verified_after_install_and_restored_by_rollback(
        self, answer: Answer, owner: SparkSession, target: str
    ) -> None:
        assert answer("install", "--target", target, "--mode", "observe", "--yes")[0] == 0
        assert owner.conf.get(MODE_KEY) == "observe"
        code, out, err = answer("status", "--target", target, "--format", "json")
        assert (code, json.loads(out)["installed"], json.loads(out)["mode"]) == (0, True, "observe"), err
        code, out, err = answer("verify", "--target", target, "--format", "json")
        checks = [json.loads(line) for line in out.splitlines()]
        assert [(check["name"], check["verdict"]) for check in checks] == [
            ("plugin", "ok"),
            ("mode", "ok"),
            ("rows", "ok"),
            ("deciding", "ok"),
        ]
        assert code == 0, err
        assert answer("rollback", "--target", target, "--yes")[0] == 0
        assert owner.conf.get(MODE_KEY, None) is None
        assert owner.conf.get("spark.sql.shuffle.partitions") == "3"

    def test_uninstall_unsets_the_installed_keys_and_purge_all(
        self, answer: Answer, owner: SparkSession, target: str
    ) -> None:
        owner.conf.set("spark.aqePlugin.filter.maxPassRate", "0.2")
        assert answer("install", "--target", target, "--yes")[0] == 0
        assert answer("uninstall", "--target", target, "--yes")[0] == 0
        assert owner.conf.get(MODE_KEY, None) is None
        assert owner.conf.get("spark.aqePlugin.filter.maxPassRate") == "0.2"
        assert answer("uninstall", "--target", target, "--purge", "--yes")[0] == 0
        assert owner.conf.get("spark.aqePlugin.filter.maxPassRate", None) is None

    def test_apply_sets_a_chosen_value_in_the_session(
        self, answer: Answer, owner: SparkSession, target: str, folder: Path
    ) -> None:
        log = write_log(folder / "app", query_lines())
        asked = ("--set", "spark.aqePlugin.filter.maxPassRate=0.4")
        assert answer("apply", str(log), "--target", target, *asked, "--yes")[0] == 0
        assert owner.conf.get("spark.aqePlugin.filter.maxPassRate") == "0.4"
        code, _, err = answer("apply", str(log), "--target", target, "--set", "spark.aqePlugin.decisions.keptQueries=5")
        assert (code, "is under way" in err) == (7, True)
        assert answer("rollback", "--target", target, "--yes")[0] == 0
        assert owner.conf.get("spark.aqePlugin.filter.maxPassRate", None) is None

    def test_verify_fails_on_a_value_that_is_not_allowed(
        self, answer: Answer, owner: SparkSession, target: str
    ) -> None:
        owner.conf.set("spark.aqePlugin.filter.maxPassRate", "7")
        code, out, _ = answer("verify", "--target", target)
        assert code == 3
        assert "7: not allowed: expected a number from 0 to 1" in out

    def test_a_session_that_has_ended_or_is_another_users_is_not_started(
        self, answer: Answer, owner: SparkSession, target: str, port: int
    ) -> None:
        code, _, err = answer("status", "--target", target.replace("user_id=ann", "user_id=bob"))
        assert (code, "has no such session of user 'bob'" in err) == (4, True)
        unknown = f"sc://127.0.0.1:{port}/;user_id=ann;session_id={uuid4()}"
        assert [answer("status", "--target", unknown)[0] for _ in range(2)] == [4, 4]
        owner.stop()
        code, _, err = answer("install", "--target", target, "--yes")
        assert (code, "has no such session of user 'ann': it has ended" in err) == (4, True)
