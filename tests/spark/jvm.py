"""Runs one suite in a Java process of its own."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.spark import golden
from tests.spark.report import Report, read
from tests.spark.suites import PRIMARY, Turn

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".build" / "spark-suites"
_SCALA = ROOT / "scala"
_BEAT_SECONDS = 0.5

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = File
appender.file.type = File
appender.file.name = File
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss.SSS}} %t %p %c{{1}}: %m%n%ex
"""


@dataclass(frozen=True)
class Place:
    """The folder of one suite in one mode: its report, its logs and the folder it works in."""

    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / "report.jsonl"

    @property
    def stamp(self) -> Path:
        return self.folder / "stamp"

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"


def place(turn: Turn) -> Place:
    folder = FOLDER if turn.line == PRIMARY else FOLDER / turn.line
    return Place(folder / turn.mode.value / turn.suite.name)


def lines() -> tuple[str, ...]:
    """The Spark lines that there are sources for."""
    folders = (_SCALA / "src" / "main").glob("scala-spark-*")
    return tuple(sorted(folder.name.removeprefix("scala-spark-") for folder in folders))


def compile_tests(line: str) -> None:
    """Compiles the Scala half and writes the argument file that every suite is started with.

    Raises:
        subprocess.CalledProcessError: it does not compile.
    """
    subprocess.run([str(ROOT / "project" / "sbt"), f"{_project(line)}/testArguments"], cwd=ROOT, check=True)


def stamp(line: str) -> str:
    """Changes when the plugin, the reporter or the class path does; a suite's report counts as long as it does not."""
    digest = hashlib.sha256(_arguments(line).read_bytes())
    # Whatever its Scala: a line has one.
    compiled = sorted((_SCALA / "target" / line).glob("scala-*"))
    reporter = Path("test-classes", "io", "aqeplugin", "sparksuites")
    for folder in (path / part for path in compiled for part in (Path("classes"), reporter)):
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


def earlier(turn: Turn, current: str) -> Report | None:
    """The report of an earlier run that is whole and still counts."""
    where = place(turn)
    if not where.stamp.is_file() or where.stamp.read_text() != current:
        return None
    report = read(where.report)
    return report if report.counters else None


def run(turn: Turn, current: str, limit_seconds: float, beat: Callable[[Report], None]) -> Report:
    """Runs a suite anew; `beat` is called with the report so far, twice a second.

    A suite that takes longer than `limit_seconds` is ended, and its report has no counters.
    """
    where = place(turn)
    shutil.rmtree(where.folder, ignore_errors=True)
    work = where.folder / "work"
    work.mkdir(parents=True)
    if turn.suite.query_files:
        golden.extract(_tests_jar(turn.line), work, turn.suite.query_files)
    logging = where.folder / "log4j2.properties"
    logging.write_text(_LOGGING.format(log=where.folder / "unit-tests.log"))
    with where.output.open("w") as output:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        process = subprocess.Popen(
            _command(turn, where, logging), cwd=work, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            deadline = time.monotonic() + limit_seconds
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(_BEAT_SECONDS)
                beat(read(where.report))
        finally:
            process.kill()
            process.wait()
    shutil.rmtree(work, ignore_errors=True)
    where.stamp.write_text(current)
    return read(where.report)


def _project(line: str) -> str:
    """The sbt project of a line, as `project/SparkLines.scala` names it."""
    return f"spark{line.replace('.', '')}"


def _arguments(line: str) -> Path:
    return ROOT / ".build" / f"{_project(line)}-tests.args"


def _tests_jar(line: str) -> Path:
    """The jar of Spark SQL's own tests, where the class path has it."""
    arguments = _arguments(line)
    found = re.search(r"[^\s\":;]+/spark-sql_[\d.]+-[\d.]+-tests\.jar", arguments.read_text())
    if found is None:
        raise FileNotFoundError(f"{arguments} names no jar of Spark SQL's tests")
    return Path(found.group())


def _with_tables(line: str, where: Place) -> str:
    """The class path, with the folder in front that Spark's query files have their tables in."""
    last = _arguments(line).read_text().splitlines()[-1]
    return f"{where.folder / 'work' / golden.RESOURCES}{os.pathsep}{json.loads(last)}"


def _command(turn: Turn, where: Place, logging: Path) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    return [
        str(Path(home) / "bin" / "java") if home else "java",
        "-ea",
        f"@{_arguments(turn.line)}",
        # Of two class paths java takes the last.
        *(["-cp", _with_tables(turn.line, where)] if turn.suite.query_files else []),
        "-Dspark.testing=1",
        f"-Dspark.test.home={where.folder / 'work'}",
        "-Dspark.port.maxRetries=100",
        "-Dspark.ui.showConsoleProgress=false",
        "-Dspark.unsafe.exceptionOnMemoryLeak=true",
        "-Dspark.extraListeners=io.aqeplugin.sparksuites.PluginWitness",
        f"-Dlog4j2.configurationFile={logging}",
        f"-DaqePlugin.suites.report={where.report}",
        *turn.mode.java_options,
        "org.scalatest.tools.Runner",
        "-s",
        turn.suite.class_name,
        "-oDW",
        "-C",
        "io.aqeplugin.sparksuites.SuiteReport",
    ]
