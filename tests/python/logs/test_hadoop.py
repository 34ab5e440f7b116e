"""Event logs that Spark's Hadoop client reads: ``file:`` addresses, in a real JVM; tests/hadoop has a real HDFS."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aqe_plugin.cli.history_source import history_of_logs
from aqe_plugin.errors import ConfError, EventLogError, ExtraMissingError, NoDataError, SessionError
from aqe_plugin.exporter import EventLogCollector, Tally, collector, stderr_log
from aqe_plugin.exporter.daemon.checkpoint import opened
from aqe_plugin.logs import EventSource, FileOffsets, FolderFollower, reader
from aqe_plugin.logs.addresses import conf_of
from aqe_plugin.logs.hadoop import HadoopFiles, files, opened_hadoop_files
from aqe_plugin.logs.hadoop.jvm import HadoopJvm
from aqe_plugin.machine.extras import install_command
from commands import Answer
from daemons import daemon
from samples import COMPRESS, LOG_START, OUTCOME, decided, ended, line, log_bytes, query_lines, write_log
from watching import Killed, KilledAfter, Sums, read_plainly, sums

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def jvm() -> Iterator[HadoopJvm]:
    started = HadoopJvm({})
    try:
        yield started
    finally:
        started.close()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 9 kB, read in parts of 2 kB, so that a log of kilobytes has as many as one of gigabytes."""
    monkeypatch.setattr(files, "_PIECE_BYTES", 9000)
    monkeypatch.setattr(reader, "_CHUNK_BYTES", 2000)
    monkeypatch.setattr(collector, "_SECONDS_BETWEEN_WRITES", 0)


def own_lines(number: int) -> list[bytes]:
    """A query with a distinct wait, so that a lost and a doubled query both show."""
    outcome = replace(OUTCOME, wait_millis=number * 700, rows_in=2**number)
    return [line(decided(number)), line(ended(number, (outcome,)))]


def read_on(jvm: HadoopJvm, logs: Path, spool: Path, killed_after: int | None = None) -> Sums:
    """The sums after one poll, continued from the checkpoint beside ``spool``."""
    tally = Tally()
    with opened(spool.with_name("checkpoint.db"), str(logs)) as kept:
        kept.restore(tally)
        source: EventSource = FolderFollower(HadoopFiles(logs.as_uri(), jvm, spool), kept.offsets())
        source = source if killed_after is None else KilledAfter(source, killed_after)
        try:
            EventLogCollector(source, tally, stderr_log(), kept.write).read_on()
        finally:
            assert killed_after is not None or not list(spool.iterdir())
    return sums(tally)


@pytest.mark.usefixtures("small_pieces")
def test_kills_while_logs_grow_leave_the_counts_of_a_plain_read(jvm: HadoopJvm, logs: Path, spool: Path) -> None:
    rolling = logs / "eventlog_v2_app-rolling"
    rolling.mkdir()
    (rolling / "appstatus_app-rolling.inprogress").touch()
    for round_ in range(4):
        queries = b"".join(one for number in range(4) for one in own_lines(round_ * 4 + number))
        for codec, compress in COMPRESS.items():
            with (logs / f"app-{codec or 'plain'}{'.' + codec if codec else ''}.inprogress").open("ab") as file:
                file.write(compress((LOG_START if round_ == 0 else b"") + queries))
        (rolling / f"events_{round_ + 1}_app-rolling").write_bytes(LOG_START + queries)
        for killed_after in (3, 11):
            with pytest.raises(Killed):
                read_on(jvm, logs, spool, killed_after)
    for path in logs.glob("*.inprogress"):
        path.rename(path.with_name(path.name.removesuffix(".inprogress")))
    found = read_on(jvm, logs, spool)
    assert found["aqe_plugin_queries_total",] == 16 * (len(COMPRESS) + 1)
    assert found == pytest.approx(read_plainly(logs))


def test_only_new_bytes_are_copied(jvm: HadoopJvm, logs: Path, spool: Path) -> None:
    content = log_bytes(*(query_lines(number) for number in range(1000)))
    (logs / "app-1.inprogress").write_bytes(content)
    copied: list[tuple[int, int]] = []

    class Watched(HadoopFiles):
        def pieces(self, *words: object) -> Iterator[Path]:
            for piece in super().pieces(*words):  # type: ignore[arg-type]
                copied.append((piece.stat().st_size, piece.stat().st_blocks * 512))
                yield piece

    follower = FolderFollower(Watched(logs.as_uri(), jvm, spool), FileOffsets())

    def look() -> list[tuple[int, int]]:
        copied.clear()
        for _, records in follower.poll():
            list(records)
        return list(copied)

    assert [size for size, _ in look()] == [len(content)]
    assert look() == []
    with (logs / "app-1.inprogress").open("ab") as file:
        file.write(b"".join(query_lines(2000)))
    ((size, on_disk),) = look()
    assert size == (logs / "app-1.inprogress").stat().st_size > 1_000_000
    assert on_disk < 100_000


def test_another_log_of_the_same_name_is_read_from_its_start(jvm: HadoopJvm, logs: Path, spool: Path) -> None:
    (logs / "app-1").write_bytes(log_bytes(*(query_lines(number) for number in range(9))))
    assert read_on(jvm, logs, spool)["aqe_plugin_queries_total",] == 9
    (logs / "app-1").write_bytes(LOG_START.replace(b"4.1", b"4.0") + b"".join(query_lines(1)))
    assert read_on(jvm, logs, spool)["aqe_plugin_queries_total",] == 10


def test_damaged_and_foreign_files_are_reported_by_their_path(
    jvm: HadoopJvm, logs: Path, spool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "notes.txt").write_text("hello\n" * 5000)
    (logs / "app-1.zstd").write_bytes(COMPRESS["zstd"](log_bytes(query_lines(1))) + b"damage")
    assert read_on(jvm, logs, spool)["aqe_plugin_exporter_skipped_total",] == 2
    stderr = capsys.readouterr().err
    assert f'what="{logs}/notes.txt: not a Spark event log"' in stderr
    assert f"{logs}/app-1.zstd, line " in stderr


def test_an_address_may_be_a_single_log_or_a_rolling_log(jvm: HadoopJvm, logs: Path, spool: Path) -> None:
    write_log(logs / "app-1")
    rolling = logs / "eventlog_v2_app-2"
    rolling.mkdir()
    write_log(rolling / "events_1_app-2")
    for path, name in ((logs / "app-1", "app-1"), (rolling, "app-2")):
        (log,) = HadoopFiles(path.as_uri(), jvm, spool).find()
        assert (log.name, log.in_progress) == (name, False)
    assert [log.name for log in HadoopFiles(f"{logs.as_uri()}/", jvm, spool).find()] == ["app-1", "app-2"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file:{}/nowhere", "file://{}/nowhere: no such file or folder."),
        ("s3a://bucket/logs", "s3a://bucket/logs: Spark has no client for it (java.lang.ClassNotFoundException: "),
        ("nosuch://host/logs", 'nosuch://host/logs: Spark has no client for it (No FileSystem for scheme "nosuch").'),
        ("hdfs://127.0.0.1:1/logs", "hdfs://127.0.0.1:1/logs: cannot be read (Call From "),
    ],
)
def test_an_unreadable_address_is_an_error(
    jvm: HadoopJvm, tmp_path: Path, spool: Path, address: str, message: str
) -> None:
    with pytest.raises(EventLogError) as error:
        HadoopFiles(address.format(tmp_path), jvm, spool).find()
    assert str(error.value).startswith(message.format(tmp_path))


def test_following_a_folder_without_logs_is_no_error(jvm: HadoopJvm, logs: Path, spool: Path) -> None:
    found = HadoopFiles(logs.as_uri(), jvm, spool)
    assert list(FolderFollower(found).poll()) == []
    with pytest.raises(NoDataError, match=r"logs: no event log in this folder\."):
        found.find()


def test_a_jvm_that_dies_is_restarted_and_old_pieces_are_removed(logs: Path, spool: Path) -> None:
    write_log(logs / "app-1")
    (spool / "piece").write_bytes(b"left by one that was killed")
    with opened_hadoop_files(logs.as_uri(), {"fs.defaultFS": "file:///"}, spool) as found:
        assert list(spool.iterdir()) == []
        assert spool.stat().st_mode & 0o077 == 0
        follower = FolderFollower(found)
        process = found._jvm._gateway.proc
        process.kill()
        process.wait()
        with pytest.raises(EventLogError, match="the JVM that reads it died; it is started again"):
            list(follower.poll())
        assert sum(len(list(records)) for _, records in follower.poll()) == 3
    assert not spool.exists()


def test_a_jvm_that_does_not_start_is_reported_with_its_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spool: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraJavaOptions -agentlib:nosuch\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    refused = pytest.raises(SessionError, match=r"does not start \(.*Could not find agent library nosuch .*\)\.$")
    with refused, opened_hadoop_files("hdfs://nn/logs", {}, spool):
        pass


def test_a_hadoop_conf_that_is_not_xml_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spool: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>\n<property></configuration>\n")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    refused = pytest.raises(SessionError, match=r"does not start \(.*core-site\.xml")
    with refused, opened_hadoop_files("hdfs://nn/logs", {}, spool):
        pass


def test_without_pyspark_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch, spool: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    missing = pytest.raises(ExtraMissingError, match=re.escape(install_command("spark")))
    with missing, opened_hadoop_files("hdfs://nn/logs", {}, spool):
        pass
    assert not spool.exists()


def test_hadoop_conf_takes_keys_with_values_and_shows_no_value() -> None:
    assert conf_of(["a=b=c", " k =", "a=2"]) == {"a": "2", "k": ""}
    for word in ("secret", "=secret"):
        with pytest.raises(ConfError) as error:
            conf_of(["a=b", word])
        assert str(error.value).startswith("--hadoop-conf no. 2: write KEY=VALUE")
        assert "secret" not in str(error.value)


def test_explain_shows_the_same_for_an_address_and_its_path(tmp_path: Path, answer: Answer) -> None:
    log = write_log(tmp_path / "app-1")
    by_path = answer("explain", str(log), "--format", "json")
    assert by_path[0] == 0
    assert answer("explain", log.as_uri(), "--format", "json", "--hadoop-conf", "io.file.buffer.size=8192") == by_path


def test_the_history_at_an_address_is_that_at_its_path(logs: Path) -> None:
    write_log(logs / "app-1")
    write_log(logs / "app-2.inprogress", query_lines(2))
    by_path, by_uri = (history_of_logs([one], []) for one in (str(logs), logs.as_uri()))
    assert by_uri == by_path
    assert len(by_path.runs) == 2


def test_the_daemon_keeps_its_offsets_in_a_hadoop_file_system(logs: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint.db"
    write_log(logs / "app-1.inprogress", query_lines(1))
    with daemon(logs.as_uri(), checkpoint) as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 1)
        with (logs / "app-1.inprogress").open("ab") as file:
            file.write(b"".join(query_lines(2)))
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 2)
        running.process.kill()
    write_log(logs / "app-2")
    with daemon(f"{logs.as_uri()}/", checkpoint) as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 3)
        running.process.terminate()
        assert running.process.wait(60) == 0
    assert not (tmp_path / "checkpoint.db.spool").exists()
