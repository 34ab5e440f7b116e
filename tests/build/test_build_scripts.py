"""The scripts behind `make` say what is missing and how to get it, and add up both languages' reports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

_ROOT = Path(__file__).resolve().parents[2]
_COMMANDS = ("bash", "sed", "head", "env")


class _Machine:
    """A PATH that holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        for command in _COMMANDS:
            found = shutil.which(command)
            assert found is not None
            (self.bin / command).symlink_to(found)
        self.checkout = folder / "checkout"
        self.checkout.mkdir()

    def add(self, command: str, says: str = "", exit_code: int = 0) -> "_Machine":
        script = self.bin / command
        speech = f"cat <<'EOF' >&2\n{says}\nEOF\n" if says else ""
        script.write_text(f"#!{shutil.which('bash')}\n{speech}exit {exit_code}\n")
        script.chmod(0o755)
        return self

    def prerequisites(self, *what: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin)}
        command = [str(_ROOT / "project" / "prerequisites"), *what]
        return subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> _Machine:
    machine = _Machine(tmp_path)
    cat = shutil.which("cat")
    assert cat is not None
    (machine.bin / "cat").symlink_to(cat)
    return machine


def test_nothing_is_reported_when_nothing_is_missing(machine: _Machine) -> None:
    machine.add("python3").add("java", 'openjdk version "17.0.15" 2025-04-15').add("javac").add("mvn")
    done = machine.prerequisites()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_all_missing_tools_are_reported_at_once(machine: _Machine) -> None:
    done = machine.prerequisites()
    assert done.returncode == 1
    assert "missing: Python 3.10 or newer ('python3' is not on PATH)" in done.stderr
    assert "missing: Java 17 ('java' is not there)" in done.stderr
    assert "missing: sbt or Maven" in done.stderr
    assert "missing: a JDK ('javac' is not there;" in done.stderr
    assert done.stderr.count("get it:") == 4


@pytest.mark.parametrize(
    ("version", "told"),
    [('java version "1.8.0_401"', "version 8"), ('openjdk version "11.0.2" 2019', "version 11"), ("?", "unknown")],
)
def test_an_old_java_is_named_with_its_version(machine: _Machine, version: str, told: str) -> None:
    done = machine.add("java", version).prerequisites("java")
    assert done.returncode == 1
    assert told in done.stderr


def test_a_newer_java_is_accepted(machine: _Machine) -> None:
    assert machine.add("java", 'openjdk version "21" 2023-09-19').prerequisites("java").returncode == 0


def test_an_old_python_is_named_with_its_version(machine: _Machine) -> None:
    done = machine.add("python3", "Python 3.8.10", exit_code=1).prerequisites("python")
    assert done.returncode == 1
    assert "missing: Python 3.10 or newer ('python3' is Python 3.8.10)" in done.stderr


@pytest.mark.parametrize("command", ["sbt", "mvn"])
def test_sbt_or_maven_is_enough(machine: _Machine, command: str) -> None:
    assert machine.add("javac").add(command).prerequisites("sbt").returncode == 0


def test_a_java_without_a_compiler_is_reported(machine: _Machine) -> None:
    done = machine.add("java", 'openjdk version "17.0.15"').add("mvn").prerequisites("java", "sbt")
    assert done.returncode == 1
    assert done.stderr.startswith("missing: a JDK ('javac' is not there;")


def _tally(*folders: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(_ROOT / "project" / "tally"), *map(str, folders)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_both_languages_reports_are_one_closing_line(tmp_path: Path) -> None:
    (tmp_path / "python.xml").write_text(
        '<testsuites><testsuite tests="5" failures="0" errors="0" skipped="1"/></testsuites>'
    )
    (tmp_path / "jvm").mkdir()
    (tmp_path / "jvm" / "TEST-a.xml").write_text('<testsuite tests="3" failures="0" errors="0" skipped="0"/>')
    done = _tally(tmp_path)
    assert (done.returncode, done.stdout) == (0, "7 passed, 0 failed, 1 skipped\n")


def test_a_failure_in_any_report_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<testsuite tests="3" failures="1" errors="1" skipped="0"/>')
    done = _tally(tmp_path)
    assert (done.returncode, done.stdout) == (1, "1 passed, 2 failed, 0 skipped\n")


def test_each_failed_test_is_named_with_its_message_before_the_closing_line(tmp_path: Path) -> None:
    (tmp_path / "TEST-a.xml").write_text(
        '<testsuite tests="2" failures="1" errors="0" skipped="0"><testcase classname="io.A" name="adds up">'
        '<failure message="1 was not 2">at A.scala</failure></testcase><testcase classname="io.A" name="takes away"/>'
        "</testsuite>"
    )
    assert _tally(tmp_path).stdout.splitlines() == [
        "failed: io.A: adds up",
        "    1 was not 2",
        "1 passed, 1 failed, 0 skipped",
    ]


def test_a_truncated_report_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<testsuite tests="3" failures="0" errors="0" skipped="0"/>')
    (tmp_path / "b.xml").write_text('<testsuite tests="3"')
    done = _tally(tmp_path)
    assert done.returncode == 1
    assert "b.xml" in done.stderr


def test_no_test_at_all_is_a_failure(tmp_path: Path) -> None:
    assert _tally(tmp_path).returncode == 1


def _within(seconds: float, report: Path, *command: str) -> subprocess.CompletedProcess[str]:
    words = [str(_ROOT / "project" / "within"), str(seconds / 60), str(report), *command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_command_that_ends_in_time_keeps_its_exit_code_and_leaves_no_report(tmp_path: Path) -> None:
    report = tmp_path / "unfinished-lane.txt"
    done = _within(60, report, "bash", "-c", "echo done; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "done\n", "")
    assert not report.exists()


def test_a_command_that_hangs_is_ended_and_the_closing_lines_say_where_its_jvm_waited(tmp_path: Path) -> None:
    (tmp_path / "Hangs.java").write_text(
        "class Hangs { public static void main(String[] a) throws Exception { Thread.sleep(600_000); } }"
    )
    report = tmp_path / "unfinished-lane.txt"
    done = _within(15, report, "bash", "-c", f"java {tmp_path / 'Hangs.java'}; true")
    assert done.returncode == 124
    assert f"{report} says where its threads waited." in done.stderr
    closing = _tally(tmp_path)
    assert (closing.returncode, closing.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")
    assert "took over 0.25 minutes" in closing.stdout
    assert "at Hangs.main(Hangs.java" in closing.stdout


def _timed(log: Path, *command: str) -> subprocess.CompletedProcess[str]:
    script = str(_ROOT / "project" / "timed")
    return subprocess.run([script, "a step", str(log), *command], capture_output=True, text=True, check=False)


def test_a_setup_step_is_quiet_and_writes_its_output_to_a_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "step.log"
    done = _timed(log, "echo", "many words")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(":")[0].strip() for line in done.stdout.splitlines()] == ["a step ...", "a step"]
    assert log.read_text() == "many words\n"


def test_a_step_that_fails_shows_its_output_and_keeps_its_exit_code(tmp_path: Path) -> None:
    done = _timed(tmp_path / "step.log", "bash", "-c", "echo no network; exit 3")
    assert done.returncode == 3
    assert "no network" in done.stderr
    assert "step.log" in done.stderr


def test_the_slowest_suites_are_printed_slowest_first(tmp_path: Path) -> None:
    for name, seconds in (("quick", 0.5), ("slow", 9.0), ("middling", 2.0)):
        (tmp_path / f"{name}.xml").write_text(f'<testsuite name="{name}" tests="1" time="{seconds}"/>')
    command = [sys.executable, str(_ROOT / "project" / "slowest"), "2", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["suites:", "slow", "middling"]
