"""Event logs in a real HDFS, read while they are written, with a name node that goes away; run by `make test-hdfs`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.errors import EventLogError
from aqe_plugin.exporter import EventLogCollector, Tally, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import EventSource, FolderFollower
from aqe_plugin.logs.hadoop import HadoopFiles
from aqe_plugin.logs.hadoop.jvm import HadoopJvm
from daemons import daemon
from samples import LOG_START, OUTCOME, decided, ended, line, zstd_stream
from tests.hadoop.hdfs import Hdfs
from tests.hadoop.servers import hdfs
from tests.programs import program_of
from watching import Killed, KilledAfter, Sums, read_plainly, sums

pytestmark = pytest.mark.spark
_MINICLUSTER = Path(__file__).resolve().parents[2] / "project" / "minicluster"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs(program_of(_MINICLUSTER, os.environ), tmp_path_factory.mktemp("hdfs")) as started:
        yield started


@pytest.fixture(scope="module")
def jvm() -> Iterator[HadoopJvm]:
    started = HadoopJvm({})
    try:
        yield started
    finally:
        started.close()


def own_lines(number: int) -> bytes:
    """A query with a distinct wait, so that a lost and a doubled query both show."""
    outcome = replace(OUTCOME, wait_millis=number * 700, rows_in=2**number)
    return line(decided(number)) + line(ended(number, (outcome,)))


def read_on(jvm: HadoopJvm, folder: str, home: Path, killed_after: int | None = None) -> Sums:
    """The sums after one poll, continued from the checkpoint in ``home``."""
    tally, spool = Tally(), home / "spool"
    spool.mkdir(exist_ok=True)
    with opened(home / "checkpoint.db", folder) as kept:
        kept.restore(tally)
        source: EventSource = FolderFollower(HadoopFiles(folder, jvm, spool), kept.offsets())
        source = source if killed_after is None else KilledAfter(source, killed_after)
        EventLogCollector(source, tally, stderr_log(), kept.write).read_on()
    return sums(tally)


def test_logs_are_read_while_they_grow_even_if_listings_are_stale(
    cluster: Hdfs, jvm: HadoopJvm, tmp_path: Path
) -> None:
    folder, plain = f"{cluster.uri}/growing", tmp_path / "plain"
    plain.mkdir()
    names = {"/growing/app-1.inprogress": "app-1", "/growing/app-2.zstd.inprogress": "app-2.zstd"}
    names["/growing/eventlog_v2_app-3/events_1_app-3"] = "app-3"
    cluster.create("/growing/eventlog_v2_app-3/appstatus_app-3.inprogress").close()
    streams = {path: cluster.create(path) for path in names}
    for round_ in range(4):
        for path, stream in streams.items():
            text = (LOG_START if round_ == 0 else b"") + b"".join(own_lines(round_ * 3 + one) for one in range(3))
            data = zstd_stream(text) if "zstd" in path else text
            stream.write(data)
            with (plain / names[path]).open("ab") as file:
                file.write(data)
        with pytest.raises(Killed):
            read_on(jvm, folder, tmp_path, killed_after=7)
        assert read_on(jvm, folder, tmp_path) == pytest.approx(read_plainly(plain))
    assert cluster.listed_bytes("/growing/app-1.inprogress") < (plain / "app-1").stat().st_size
    for path, stream in streams.items():
        stream.close()
        if path.endswith(".inprogress"):
            cluster.rename(path, path.removesuffix(".inprogress"))
    found = read_on(jvm, folder, tmp_path)
    assert found["aqe_plugin_queries_total",] == 36
    assert found == pytest.approx(read_plainly(plain))


def test_a_log_without_permission_is_reported_and_the_others_are_read(
    cluster: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("app-1", "app-2"):
        stream = cluster.create(f"/guarded/{name}")
        stream.write(LOG_START + own_lines(1))
        stream.close()
    cluster.allow("/guarded/app-1", "600")
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    stranger = HadoopJvm({})
    try:
        found = read_on(stranger, f"{cluster.uri}/guarded", tmp_path)
        assert (found["aqe_plugin_queries_total",], found["aqe_plugin_exporter_skipped_total",]) == (1, 1)
        assert 'what="/guarded/app-1: cannot be read (no right to read it)"' in capsys.readouterr().err
        cluster.allow("/guarded", "700")
        with pytest.raises(EventLogError, match=r"/guarded: cannot be read \(no right to read it\)\."):
            HadoopFiles(f"{cluster.uri}/guarded", stranger, tmp_path).find()
    finally:
        stranger.close()


def test_the_daemon_waits_for_a_name_node_that_is_away_and_loses_nothing(cluster: Hdfs, tmp_path: Path) -> None:
    stream = cluster.create("/away/app-1.inprogress")
    stream.write(LOG_START + own_lines(1))
    impatient = ("--hadoop-conf", "ipc.client.connect.max.retries=0")
    with daemon(f"{cluster.uri}/away", tmp_path / "checkpoint.db", *impatient) as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 1)
        stream.close()
        with cluster.away():
            running.wait_until(lambda: running.value("aqe_plugin_exporter_read_errors_total") > 0)
            assert "event logs unreadable" in running.stderr
        again = cluster.create("/away/app-2")
        again.write(LOG_START + own_lines(2))
        again.close()
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 2)
        running.process.kill()
    with daemon(f"{cluster.uri}/away", tmp_path / "checkpoint.db") as running:
        running.wait_until(running.is_ready)
        assert running.value("aqe_plugin_queries_total") == 2
