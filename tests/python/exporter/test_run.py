"""``aqe-plugin run``: real processes that are killed, stopped and started again."""

from __future__ import annotations

import json
import resource
import signal
import socket
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace

import pytest

from api_server import ApiServer
from aqe_plugin.events.json_values import Json
from aqe_plugin.exporter import metrics, stderr_log
from aqe_plugin.exporter.daemon import tuner
from aqe_plugin.exporter.daemon.checkpoint import opened
from commands import Answer
from daemons import Daemon, daemon
from samples import COMPRESS, log_bytes, query_lines, write_log
from watching import Sums, read_plainly

pytestmark = pytest.mark.process


def shown(running: Daemon) -> Sums:
    """The counters and histogram sums of a scrape, as ``watching.sums`` has them."""
    families = running.scrape()
    found: Sums = {}
    for metric in metrics.ALL:
        for sample in families[metric.name.removesuffix("_total")].samples:
            if sample.name.endswith("_total"):
                key = (metric.name, *(sample.labels[label] for label in metric.labels))
                found[key] = sample.value
            elif sample.name.endswith("_sum"):
                found[metric.name, "sum"] = sample.value
            elif sample.name.endswith("_bucket"):
                found[metric.name, sample.labels["le"].replace("+Inf", "inf")] = sample.value
    return found


def test_repeated_kills_while_logs_grow_leave_the_counts_of_a_plain_read(tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    contents = {
        folder / f"app-{codec or 'plain'}{'.' + codec if codec else ''}.inprogress": [
            COMPRESS[codec](log_bytes(query_lines(1), query_lines(2)) if part == 0 else b"".join(query_lines(part + 2)))
            for part in range(3)
        ]
        for codec in COMPRESS
    }
    for round_ in range(3):
        with daemon(folder, checkpoint) as running:
            for path, parts in contents.items():
                with path.open("ab") as file:
                    file.write(parts[round_])
            counted = 4 * (round_ + 1)
            # Killed at any point.
            running.wait_until(lambda least=counted: running.value("aqe_plugin_queries_total") >= least)  # type: ignore[misc]
            running.process.kill()
    for path in contents:
        path.rename(path.with_name(path.name.removesuffix(".inprogress")))
    plain = read_plainly(folder)
    assert plain["aqe_plugin_queries_total",] == 16
    with daemon(folder, checkpoint) as running:
        running.wait_until(running.is_ready)
        assert shown(running) == pytest.approx(plain)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_daemon_with_everything_stored(tmp_path: Path, number: signal.Signals) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / "app-1")
    with daemon(folder, checkpoint) as running:
        running.wait_until(running.is_ready)
        running.process.send_signal(number)
        assert running.process.wait(60) == 0
        assert "level=info event=stopped files=1" in running.stderr
    # Stored sums are shown before anything is read.
    (folder / "app-1").unlink()
    with daemon(folder, checkpoint) as running:
        assert running.value("aqe_plugin_queries_total") == 1


def test_a_second_exporter_with_the_same_checkpoint_exits_with_code_7(tmp_path: Path, answer: Answer) -> None:
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    with daemon(folder, checkpoint):
        code, out, err = answer("run", str(folder), "--checkpoint", str(checkpoint), "--port", "0")
    assert (code, out) == (7, "")
    assert err.startswith(f"{checkpoint}: another aqe-plugin runs with this checkpoint.")


def test_a_missing_folder_is_reported_and_read_on_when_it_is_back(tmp_path: Path) -> None:
    folder, away = tmp_path / "logs", tmp_path / "away"
    folder.mkdir()
    write_log(folder / "app-1")
    with daemon(folder, tmp_path / "checkpoint.db") as running:
        running.wait_until(running.is_ready)
        folder.rename(away)
        running.wait_until(lambda: running.value("aqe_plugin_exporter_read_errors_total") > 0)
        assert f'error="{folder}: no such file or folder."' in running.stderr
        write_log(away / "app-2")
        away.rename(folder)
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 2)


def test_on_a_full_disk_the_daemon_continues_and_exits_with_code_8(tmp_path: Path) -> None:
    """Limits file size to that of the checkpoint, like a disk that fills up."""
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    write_log(folder / "app-1")
    with daemon(folder, checkpoint) as running:
        running.wait_until(running.is_ready)
        size = checkpoint.stat().st_size
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size, size))
        for number in range(400):
            write_log(
                folder / f"app-{number:04}-with-a-name-that-takes-its-place-in-the-checkpoint", query_lines(number)
            )
        running.wait_until(lambda: "checkpoint not written" in running.stderr)
        assert running.value("aqe_plugin_queries_total") < 401
        running.process.terminate()
        assert running.process.wait(60) == 8
    with daemon(folder, checkpoint) as running:
        running.wait_until(lambda: running.value("aqe_plugin_queries_total") == 401)


def test_wrong_options_are_errors(tmp_path: Path, answer: Answer) -> None:
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint.db"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = answer("run", str(tmp_path), *checkpoint, "--port", str(port))
    assert (code, str(port) in err, "--port" in err) == (6, True, True)
    code, _, err = answer("run", str(tmp_path / "nowhere"), *checkpoint)
    assert (code, f"{tmp_path}/nowhere" in err) == (4, True)
    code, _, err = answer("run", str(tmp_path), *checkpoint, "--rollout")
    assert (code, "--tune-every" in err) == (5, True)
    code, _, err = answer("run", "http://127.0.0.1:1", *checkpoint, "--tune-every", "1")
    assert (code, "--tune-every" in err) == (5, True)


def test_the_log_names_the_group_and_ring_that_tuning_chose() -> None:
    findings: list[Json] = [{"group": "shuffle", "chosen": False}, {"group": "broadcast", "chosen": True}]
    assert tuner._summary(findings, "") == {"group": "broadcast"}
    assert tuner._summary(findings[:1], "") == {"group": "none"}
    assert tuner._summary([{"group": "filter", "ring": "canary"}], "") == {"group": "filter", "ring": "canary"}
    assert tuner._summary([], "noise\nno such file\n") == {"error": "no such file"}


def test_a_clock_that_was_set_back_does_not_stop_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, hour = tmp_path / "tuning.jsonl", 3600.0
    clock = [1_700_000_000.0]
    monkeypatch.setattr(tuner, "time", SimpleNamespace(time=lambda: clock[0]))

    def runs_after(seconds: float) -> int:
        clock[0] += seconds
        end = monotonic() + 60
        made.poll()
        while made._running is not None and monotonic() < end:
            made.poll()
            sleep(0.05)
        return len(journal.read_text().splitlines())

    with opened(tmp_path / "checkpoint.db", "logs") as kept:
        made = tuner.Tuner(tuner.Schedule(("--version",), hour), kept, journal, stderr_log())
        assert runs_after(0) == 1
        assert runs_after(hour / 2) == 1
        assert runs_after(-100 * hour) == 2
        assert runs_after(hour / 2) == 2
        assert runs_after(hour / 2) == 3


def test_an_object_that_is_gone_is_said_once_and_looked_for_again(
    tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hour, clock = 3600.0, [1_700_000_000.0]
    path = "/api/v1/namespaces/spark/configmaps/conf"
    monkeypatch.setattr(tuner, "time", SimpleNamespace(time=lambda: clock[0]))
    environment = {
        "AQE_PLUGIN__ROLLOUT__TARGET": "kubernetes:cm/conf",
        "KUBECONFIG": str(api.kubeconfig(tmp_path)),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    words = ("rollout", str(tmp_path / "logs"), "--yes", "--format", "json")
    (tmp_path / "logs").mkdir()

    def logged() -> str:
        clock[0] += hour
        end = monotonic() + 60
        made.poll()
        while made._running is not None and monotonic() < end:
            made.poll()
            sleep(0.05)
        return capsys.readouterr().err

    with opened(tmp_path / "checkpoint.db", "logs") as kept:
        schedule = tuner.Schedule(words, hour, environment)
        made = tuner.Tuner(schedule, kept, tmp_path / "tuning.jsonl", stderr_log())
        assert "kubernetes:spark/configmap/conf: not found on " in logged()
        again = logged()
        assert "the same as before" in again
        assert "not found" not in again
        api.put(path, data={})
        assert "no event log in this folder" in logged()
        del api.objects[path]
        assert "kubernetes:spark/configmap/conf: not found on " in logged()
    assert (tmp_path / "tuning.jsonl").read_text().count("not found on ") == 3


def test_hadoop_conf_reaches_the_tuning_command_and_not_the_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    found = {"AQE_PLUGIN__HADOOP_CONF": '["fs.s3a.endpoint=http://minio:9000"]'}
    words = ("config", "recommend", "--format", "json")
    with opened(tmp_path / "checkpoint.db", "logs") as kept:
        tuning = tuner.Tuner(tuner.Schedule(words, 3600, found), kept, journal, stderr_log())
        tuning.poll()
        assert tuning._running is not None
        tuning._running.process.wait()
        tuning.poll()
        tuning.close()
    run = json.loads(journal.read_text())
    (found,) = (one for one in run["answers"] if one["setting"] == "recommend.hadoop-conf")
    assert found["value"] == ["fs.s3a.endpoint=http://minio:9000"]
    assert "minio" not in json.dumps({**run, "answers": []})


def test_the_tuning_command_gets_the_settings_file_of_the_daemon(
    tmp_path: Path, answer: Answer, schedules: list[tuner.Schedule], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("[recommend]\nmin-runs = 9\n")
    words = ("run", str(tmp_path), "--checkpoint", "checkpoint.db", "--tune-every", "1")
    assert answer("--config", "mine.toml", *words)[0] == answer(*words)[0] == 0
    assert [schedule.environment for schedule in schedules] == [
        {"AQE_PLUGIN__CONFIG": str(tmp_path / "mine.toml")},
        {},
    ]


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> list[tuner.Schedule]:
    """The schedule of each daemon that would have been started."""
    found: list[tuner.Schedule] = []
    serve = "aqe_plugin.exporter.daemon.run.serve_for_good"
    monkeypatch.setattr(serve, lambda *_, schedule, **__: found.append(schedule))
    return found


def test_rollouts_without_a_target_are_refused_at_the_start(
    tmp_path: Path, answer: Answer, schedules: list[tuner.Schedule]
) -> None:
    code, _, err = answer("run", str(tmp_path), "--checkpoint", "checkpoint.db", "--tune-every", "1", "--rollout")
    assert (code, schedules) == (5, [])
    assert err.startswith("Which file? Neither SPARK_CONF_DIR nor SPARK_HOME is set: ")


@pytest.mark.parametrize(
    ("variable", "value", "target"),
    [
        ("SPARK_CONF_DIR", "conf", "conf/spark-defaults.conf"),
        ("SPARK_HOME", "spark", "spark/conf/spark-defaults.conf"),
        ("AQE_PLUGIN__ROLLOUT__TARGET", "mine.conf", "mine.conf"),
    ],
)
def test_rollouts_keep_the_target_that_the_daemon_found(
    variable: str,
    value: str,
    target: str,
    tmp_path: Path,
    answer: Answer,
    schedules: list[tuner.Schedule],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / value))
    words = ("run", str(tmp_path), "--checkpoint", "checkpoint.db", "--tune-every", "1", "--rollout")
    assert answer(*words)[0] == 0
    (schedule,) = schedules
    assert schedule.environment["AQE_PLUGIN__ROLLOUT__TARGET"] == schedule.target == str(tmp_path / target)
    assert schedule.shown == (*schedule.words, "--target", str(tmp_path / target))


def test_the_journal_names_an_address_of_logs_without_its_password() -> None:
    schedule = tuner.Schedule(("recommend", "s3a://key:hunter2@bucket/logs"), 3600)
    assert schedule.shown == ("recommend", "s3a://(hidden)@bucket/logs")


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ("kubernetes:spark/sparkapplication/nightly", True),
        ("kubernetes:spark/SparkApplications/nightly", True),
        ("kubernetes:spark/scheduledsparkapplication/nightly", False),
        ("kubernetes:spark/cm/conf", False),
    ],
)
def test_an_application_that_each_change_restarts_is_not_tuned_unattended(
    tmp_path: Path,
    answer: Answer,
    schedules: list[tuner.Schedule],
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    refused: bool,
) -> None:
    monkeypatch.setenv("AQE_PLUGIN__ROLLOUT__TARGET", target)
    words = ("run", str(tmp_path), "--checkpoint", "checkpoint.db", "--tune-every", "1", "--rollout")
    code, _, err = answer(*words)
    assert (code, len(schedules)) == ((5, 0) if refused else (0, 1)), err
    assert (f"each step of a rollout would restart {target} and end its present run" in err) is refused


def test_the_daemon_logs_and_journals_the_target_of_its_rollouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, checkpoint, conf = tmp_path / "logs", tmp_path / "checkpoint.db", tmp_path / "spark-defaults.conf"
    folder.mkdir()
    monkeypatch.setenv("AQE_PLUGIN__ROLLOUT__TARGET", str(conf))
    with daemon(folder, checkpoint, "--tune-every", "1", "--rollout") as running:
        running.wait_until(lambda: "event=tuned exit_code=4" in running.stderr)
        assert running.stderr.count(f"target={conf}") == 1
    found = json.loads((tmp_path / "checkpoint.db.tuning.jsonl").read_text())
    assert found["command"][-2:] == ["--target", str(conf)]


def test_the_daemon_tunes_on_its_schedule_and_journals_each_run(tmp_path: Path) -> None:
    """Over an empty folder, for which `recommend` needs no Spark."""
    folder, checkpoint = tmp_path / "logs", tmp_path / "checkpoint.db"
    folder.mkdir()
    journal = tmp_path / "checkpoint.db.tuning.jsonl"
    with daemon(folder, checkpoint, "--tune-every", "1") as running:
        running.wait_until(journal.exists)
        running.wait_until(lambda: "event=tuned exit_code=4" in running.stderr)
    (line,) = journal.read_text().splitlines()
    found = json.loads(line)
    assert (found["command"], found["exitCode"]) == (["recommend", str(folder), "--format", "json"], 4)
    assert "no event log in this folder" in found["stderr"]
    # The next process waits for the rest of the hour too.
    with daemon(folder, checkpoint, "--tune-every", "1") as running:
        running.wait_until(running.is_ready)
    assert len(journal.read_text().splitlines()) == 1
