"""Thresholds in a conf file: set, taken back, and gone with an uninstall."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from aqe_plugin.conf.stores.file_store import FileStore
from aqe_plugin.errors import ConfError
from aqe_plugin.install.controller import (
    carry_out,
    propose_install,
    propose_rollback,
    propose_tuning,
    propose_uninstall,
)
from aqe_plugin.install.jars import PACKAGE_VERSION
from aqe_plugin.install.journal import Actor, journal_of

JAR = f"/opt/aqe-plugin-spark-4.1-{PACKAGE_VERSION}.jar"
ROWS, LAUNCH = "spark.aqePlugin.cost.shuffleNanosPerRow", "spark.aqePlugin.cost.jobLaunchNanos"
THEIRS = b"# theirs\nspark.aqePlugin.cost.jobLaunchNanos=3e7\nspark.master yarn"
BY = Actor("ann@host", "tuning", lambda: datetime(2026, 11, 21, 12, tzinfo=timezone.utc))


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "spark-defaults.conf"
    path.write_bytes(THEIRS)
    return path


def tune(conf: Path, values: dict[str, str | None]) -> None:
    carry_out(propose_tuning(FileStore(conf), values, "took longer than predicted"), BY)


def test_a_change_is_shown_with_its_reason_and_recorded(conf: Path) -> None:
    proposal = propose_tuning(FileStore(conf), {ROWS: "300", LAUNCH: "2e7"}, "took longer than predicted")
    assert [(change.key, change.old, change.new) for change in proposal.changes] == [
        (LAUNCH, "3e7", "2e7"),
        (ROWS, None, "300"),
    ]
    carry_out(proposal, BY)
    (record,) = journal_of(FileStore(conf)).records
    assert (record.action, record.changes[0].why) == ("rollout", "took longer than predicted")
    assert propose_tuning(FileStore(conf), {ROWS: "300"}, "").nothing_to_do


def test_restored_values_leave_the_original_bytes(conf: Path) -> None:
    tune(conf, {ROWS: "300", LAUNCH: "2e7"})
    tune(conf, {ROWS: None, LAUNCH: "3e7"})
    assert conf.read_bytes() == THEIRS


def test_rollback_undoes_a_tuning(conf: Path) -> None:
    tune(conf, {ROWS: "300"})
    carry_out(propose_rollback(FileStore(conf), force=False), BY)
    assert conf.read_bytes() == THEIRS


def test_uninstall_removes_tuned_values_from_an_edited_file(conf: Path) -> None:
    carry_out(propose_install(FileStore(conf), JAR, None), BY)
    tune(conf, {ROWS: "300", LAUNCH: "2e7"})
    conf.write_bytes(conf.read_bytes() + b"\nspark.executor.cores 4\n")
    carry_out(propose_uninstall(FileStore(conf), purge=False), BY)
    assert conf.read_bytes() == THEIRS + b"\nspark.executor.cores 4\n"


def test_a_tuned_value_that_somebody_edited_stays(conf: Path) -> None:
    carry_out(propose_install(FileStore(conf), JAR, None), BY)
    tune(conf, {ROWS: "300"})
    conf.write_bytes(conf.read_bytes().replace(b"300", b"310"))
    carry_out(propose_uninstall(FileStore(conf), purge=False), BY)
    assert b"spark.aqePlugin.cost.shuffleNanosPerRow 310" in conf.read_bytes()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (ROWS, "-1", f"{ROWS} = -1: not allowed: expected a number of nanoseconds per row from 0 to 1000000."),
        ("spark.master", "local", "spark.master = local: not a key of the plugin (spark.aqePlugin.*)."),
    ],
)
def test_a_value_that_the_plugin_refuses_is_not_written(conf: Path, key: str, value: str, said: str) -> None:
    with pytest.raises(ConfError) as error:
        propose_tuning(FileStore(conf), {key: value}, "")
    assert str(error.value) == said
    assert conf.read_bytes() == THEIRS


def test_a_config_map_is_tuned_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    before = (
        "apiVersion: v1\nkind: ConfigMap # ours\ndata:\n  spark-defaults.conf: |\n"
        "    spark.master k8s://x\n  other: 1\n"
    )
    path.write_text(before)
    tune(path, {ROWS: "300"})
    assert path.read_text() == before.replace("  other", f"    {ROWS} 300\n  other")
    tune(path, {ROWS: None})
    assert path.read_text() == before
