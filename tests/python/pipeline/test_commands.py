"""The pipeline's commands, and ``recommend`` and ``rollout`` on its tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from aqe_plugin.events.quantities import quantity
from aqe_plugin.install.journal import Actor
from commands import Answer
from pipeline_logs import read, stored
from samples import (
    query_lines,
    write_log,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def command(spark: SparkSession, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """The command line over the package's session, because a process has only one."""

    @contextmanager
    def session(name: str, **how: bool) -> Iterator[SparkSession]:
        yield spark

    for module in ("pipeline", "history_source"):
        monkeypatch.setattr(f"aqe_plugin.cli.{module}.job_session", session)
    return answer


def test_recommend_finds_the_same_in_tables_and_in_logs(
    command: Answer, spark: SparkSession, logs: Path, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def replay() -> Iterator[Any]:
        from aqe_plugin.tuning.spark_replay import SparkReplay

        yield SparkReplay(spark)

    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", replay)
    from_tables = command("recommend", "--decisions", tables, "--format", "json")
    from_logs = command("recommend", str(logs), "--format", "json")
    assert from_tables[:2] == from_logs[:2]
    assert from_tables[0] == 0
    assert len(from_tables[1].splitlines()) == 8


def test_rollout_takes_the_same_steps_with_tables_and_with_logs(
    command: Answer, spark: SparkSession, logs: Path, tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def replay() -> Iterator[Any]:
        from aqe_plugin.tuning.spark_replay import SparkReplay

        yield SparkReplay(spark)

    monkeypatch.setattr("aqe_plugin.cli.history_source.local_replay", replay)
    # The newest of the logs began two days later, so the control may still come.
    clock = datetime(2026, 11, 19, tzinfo=timezone.utc)
    monkeypatch.setattr("aqe_plugin.cli.rollout.actor", lambda why: Actor("ann@host", why, lambda: clock))
    steps: dict[str, list[str]] = {}
    written: dict[str, list[str]] = {}
    for source in ((str(logs),), ("--decisions", tables)):
        folder = tmp_path / source[0].strip("/-").replace("/", "-")
        folder.mkdir()
        file = folder / "spark-defaults.conf"
        file.write_text("spark.master yarn\n")
        words = ["rollout", *source, "--target", str(file), "--format", "json", "--yes"]
        asked = ("--set", "spark.aqePlugin.filter.maxPassRate=0.4")
        answers = [command(*words), command(*words, *asked), command(*words)]
        assert [code for code, _, _ in answers] == [0, 0, 0], answers
        recommended, *went = [out.replace(str(folder), "FOLDER") for _, out, _ in answers]
        steps[source[0]] = [recommended, answers[0][2].splitlines()[-1], *went]
        written[source[0]] = [file.read_text()]
    from_logs, from_tables = str(logs), "--decisions"
    assert steps[from_tables] == steps[from_logs]
    assert written[from_tables] == written[from_logs]
    assert "Nothing to change: no group passes" in steps[from_logs][1]
    begun, stayed = (json.loads(out) for out in steps[from_logs][2:])
    assert [(one["before"], one["ring"]) for one in (begun, stayed)] == [("observe", "all"), ("all", "all")]
    assert stayed["why"].startswith("undecided so far: ")
    assert command("rollout", "--target", str(file))[0] == 5


def test_spark_submit_runs_a_job_with_only_the_script_and_the_jar(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "app-1", query_lines(1))
    home = Path(pyspark.__file__).parent
    ask = [sys.executable, "-m", "aqe_plugin"]
    script, jar = (
        subprocess.run([*ask, *words], capture_output=True, text=True, check=True).stdout.strip()
        for words in (
            ("path", "script"),
            ("path", "jar"),
        )
    )
    confs = ("spark.plugins=io.aqeplugin.AqePlugin", "spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")
    submitted = [word for conf in confs for word in ("--conf", conf)]
    words = ["--master", "local[2]", "--jars", jar, *submitted, script, "ingest"]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    ran = subprocess.run(
        [str(home / "bin" / "spark-submit"), *words, str(tmp_path / "logs"), "--tables", str(tmp_path / "tables")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert stored(spark, str(tmp_path / "tables")) == read(tmp_path / "logs")


def test_the_commands_report_their_work_and_what_is_missing(
    command: Answer, logs: Path, tables: str, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    content = write_log(tmp_path / "one" / "app-1", query_lines(1)).stat().st_size
    _, _, told = command("pipeline", "ingest", str(tmp_path / "one"), "--tables", str(tmp_path / "of-one"))
    size = quantity(content, "bytes")
    assert told.splitlines()[:5] == [
        "Starting Spark ...",
        "Looking for logs ...",
        f"Found 1 files ({size}) of 1 application attempts. Comparing them with the tables ...",
        f"Reading what is new or has grown: 1 files ({size}) of 1 application attempts ...",
        "Writing the tables ...",
    ]
    code, out, told = command("pipeline", "ingest", str(logs), "--tables", tables)
    assert (code, out, told.splitlines()[-1]) == (0, "", "Nothing new.")
    without_logs = tmp_path / "without-logs"
    without_logs.mkdir()
    code, out, told = command("pipeline", "ingest", str(without_logs), "--tables", str(tmp_path / "of-none"))
    assert (code, out) == (0, "")
    assert told.splitlines()[-1] == (
        f"No event log in {without_logs}. Spark writes them to spark.eventLog.dir when spark.eventLog.enabled is true."
    )
    nowhere, empty = str(tmp_path / "nowhere"), str(tmp_path / "empty")
    for words, told in (
        (("ingest", nowhere, "--tables", empty), f"{nowhere}: no such file or folder."),
        (("report", "--tables", empty), f"{empty}: no tables of aqe-plugin there."),
    ):
        code, out, err = command("pipeline", *words)
        assert (code, out) == (4, "")
        assert told in err
        assert "Traceback" not in err
    (tmp_path / "file").write_text("no folder")
    code, _, err = command("pipeline", "ingest", str(logs), "--tables", str(tmp_path / "file" / "tables"))
    assert code == 8
    assert "a file system refused access" in err
    assert command("recommend")[0] == 5
