"""`python -m benchmarks.pipeline --logs FOLDER --gigabytes 10`: how fast event logs become tables.

Makes a fleet's logs from real ones, each application of the fleet a copy under an id of its own, and reads a tenth, a
quarter, a half and all of them: line by line with `json.loads`, as one writes it in twenty lines; with
`aqe_plugin.logs`; and with `pipeline ingest` on one core and on two. Every measurement is a process of its own, from
its start, Spark's among it, to its last row. Beside wall seconds stand CPU seconds of all its threads, which other work
on the machine changes less.
"""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import zstandard

from aqe_plugin.logs.queries import read_queries

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench" / "pipeline"
# Folders of the fleet's logs as shares of all: the first two make a quarter, the first three a half.
_SHARES = (0.1, 0.15, 0.25, 0.5)
_LEVEL = 1
# Spark ends a frame whenever it flushes, about as often.
_FRAME_BYTES = 64 * 1024
_READERS = {
    "naive": "json.loads of each line",
    "plain": "aqe_plugin.logs",
    "1": "ingest, 1 core",
    "2": "ingest, 2 cores",
}


@dataclass(frozen=True)
class Made:
    """A fleet's logs: folders, and the uncompressed size of the first of them."""

    folders: tuple[str, ...]
    bytes_up_to: tuple[int, ...]
    lines_up_to: tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """One reading: wall and CPU seconds, how much of both Spark's start took, and the counts."""

    seconds: float
    cpu_seconds: float
    start_seconds: float
    start_cpu_seconds: float
    queries: int
    decisions: int


def make_logs(source: Path, total_bytes: int, out: Path) -> Made:
    """Rolling zstd logs of so many bytes before compression, from the parts of one real application."""
    parts = sorted(source.glob("events_*"), key=lambda path: int(path.name.split("_")[1]))
    if not parts:
        raise SystemExit(f"{source}: no rolling event log there.")
    contents = [_plain(part) for part in parts]
    application = re.sub(r"^eventlog_v2_", "", source.name)
    size, lines = sum(map(len, contents)), sum(content.count(b"\n") for content in contents)
    packer = zstandard.ZstdCompressor(level=_LEVEL)
    folders, made = [], 0
    up_to: list[int] = []
    for share, name in zip(_SHARES, "abcd", strict=True):
        folder = out / name
        folder.mkdir(parents=True)
        folders.append(str(folder))
        goal = made + max(1, round(share * total_bytes / size))
        for number in range(made, goal):
            # Of the same length, so that no offset changes.
            copy = f"{number:0{len(application)}d}"
            log = folder / f"eventlog_v2_{copy}"
            log.mkdir()
            (log / f"appstatus_{copy}").touch()
            for at, content in enumerate(contents, start=1):
                renamed = content.replace(application.encode(), copy.encode())
                frames = (packer.compress(renamed[i : i + _FRAME_BYTES]) for i in range(0, len(renamed), _FRAME_BYTES))
                (log / f"events_{at}_{copy}.zstd").write_bytes(b"".join(frames))
        made = goal
        up_to.append(made)
        print(f"{made} applications, {made * size / 1e9:.2f} GB before compression", file=sys.stderr)
    return Made(tuple(folders), tuple(count * size for count in up_to), tuple(count * lines for count in up_to))


def read_naively(folders: Sequence[str]) -> Measured:
    """The obvious way: parses every line and keeps only counts."""
    began = time.perf_counter()
    queries: set[tuple[str, int]] = set()
    decisions = 0
    for part in (path for folder in folders for path in sorted(Path(folder).glob("*/events_*"))):
        with (
            part.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as whole,
        ):
            for line in io.BufferedReader(whole):
                event = json.loads(line)
                if event["Event"] == "io.aqeplugin.tell.JoinDecided":
                    queries.add((part.parent.name, event["executionId"]))
                    decisions += 1
    return Measured(time.perf_counter() - began, time.process_time(), 0.0, 0.0, len(queries), decisions)


def read_plain(folders: Sequence[str]) -> Measured:
    """One process, no Spark."""
    began = time.perf_counter()
    queries = decisions = 0
    for folder in folders:
        for story in read_queries(Path(folder)):
            queries += 1
            decisions += len(story.joins)
    return Measured(time.perf_counter() - began, time.process_time(), 0.0, 0.0, queries, decisions)


def read_with_spark(folders: Sequence[str], cores: str, tables: Path) -> Measured:
    """`pipeline ingest` into empty tables."""
    from aqe_plugin.pipeline.ingest import ingest
    from aqe_plugin.tuning.spark_session import job_session

    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[{cores}] --driver-memory 2g pyspark-shell"
    began = time.perf_counter()
    with job_session("aqe-plugin benchmark", few_rows=True) as spark:
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        start_seconds, start_cpu_seconds = time.perf_counter() - began, _cpu_seconds(jvm) + time.process_time()
        done = ingest(spark, folders, str(tables))
        seconds, cpu_seconds = time.perf_counter() - began, _cpu_seconds(jvm) + time.process_time()
    return Measured(seconds, cpu_seconds, start_seconds, start_cpu_seconds, done.queries, done.decisions)


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.reader is not None:
        folders = arguments.folders
        readers = {"naive": read_naively, "plain": read_plain}
        read = readers.get(arguments.reader) or (
            lambda folders: read_with_spark(folders, arguments.reader, arguments.out / "tables")
        )
        found = read(folders)
        print(json.dumps(asdict(found)))
        return 0
    shutil.rmtree(arguments.out, ignore_errors=True)
    made = make_logs(arguments.logs, round(arguments.gigabytes * 1e9), arguments.out / "logs")
    print("| GB of log | reader | seconds | CPU seconds | Spark's start | MB/s of CPU | lines/s of CPU | decisions |")
    print("|---:|---|---:|---:|---|---:|---:|---:|")
    for count in range(1, len(made.folders) + 1):
        for reader in _READERS:
            print(_row(made, count, reader, _measure(made.folders[:count], reader, arguments.out)), flush=True)
    return 0


def _row(made: Made, count: int, reader: str, found: Measured) -> str:
    size, lines = made.bytes_up_to[count - 1], made.lines_up_to[count - 1]
    start = f"{found.start_seconds:.1f} s, {found.start_cpu_seconds:.1f} CPU s" if found.start_seconds else ""
    cells = (
        f"{size / 1e9:.2f}",
        _READERS[reader],
        f"{found.seconds:.1f}",
        f"{found.cpu_seconds:.1f}",
        start,
        f"{size / 1e6 / found.cpu_seconds:.0f}",
        f"{lines / found.cpu_seconds:,.0f}",
        f"{found.decisions:,}",
    )
    return f"| {' | '.join(cells)} |"


def _measure(folders: Sequence[str], reader: str, out: Path) -> Measured:
    shutil.rmtree(out / "tables", ignore_errors=True)
    words = [sys.executable, "-m", "benchmarks.pipeline", "--out", str(out), "--reader", reader, *folders]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(ran.stderr)
    return Measured(**json.loads(ran.stdout.splitlines()[-1]))


def _plain(part: Path) -> bytes:
    if part.suffix != ".zstd":
        return part.read_bytes()
    with part.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as whole:
        return whole.read()


def _cpu_seconds(process: int) -> float:
    """Of all threads so far; from Linux's /proc, fields 14 and 15 of ``stat``."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, help="a rolling event log's folder to make copies of")
    parser.add_argument("--gigabytes", type=float, default=10.0, help="logs to make, before compression")
    parser.add_argument("--out", type=Path, default=_FOLDER)
    parser.add_argument("--reader", choices=_READERS, help=argparse.SUPPRESS)
    parser.add_argument("folders", nargs="*", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
