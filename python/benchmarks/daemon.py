"""`python -m benchmarks.daemon --log LOG --gigabytes 10 --applications 10000`: `aqe-plugin run` over many logs.

Event logs are made from one that Spark wrote: each application gets its lines from another one on, as many as make its
share of the whole, under its own id, name and times. The daemon then reads them in a process of its own, as installed.
Reported are bytes of log (not compressed) for each second of that process's CPU time, its largest resident memory, and
the same for a second start with the checkpoint that the first one left.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from aqe_plugin.events.lines import is_counted_line
from aqe_plugin.logs import find_event_logs
from aqe_plugin.logs.codecs import decompressor

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-daemon"
_MEGABYTE = 1e6
_PATIENCE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One start of the daemon, until it has read everything.

    Attributes:
        cpu_seconds: of its process, the start of Python included.
        peak_bytes: its largest resident set.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    queries: int


def main() -> int:
    arguments = _parser().parse_args()
    console = Console(width=120, soft_wrap=True)
    recorded = [line for line in _lines(arguments.log) if not arguments.own_events or is_counted_line(line)]
    if len(recorded) < 2:
        console.print(f"[red]{arguments.log}: holds no event log.[/red]")
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        logs, checkpoint = Path(name) / "logs", Path(name) / "checkpoint.db"
        logs.mkdir()
        share = round(arguments.gigabytes * 1e9 / arguments.applications)
        if arguments.gigabytes * 1e9 > 0.9 * shutil.disk_usage(logs).free and not arguments.zstd:
            console.print(f"[red]{arguments.folder}: has no space for {arguments.gigabytes:g} GB of logs.[/red]")
            return 2
        console.print(f"Writing {arguments.applications} logs of {share / _MEGABYTE:.2f} MB ...")
        written = sum(_write(logs, number, recorded, share, arguments.zstd) for number in range(arguments.applications))
        on_disk = sum(path.stat().st_size for path in logs.iterdir())
        table = Table("", "MB of log", "MB on disk", "s", "CPU s", "MB/s of CPU", "peak MiB", "queries")
        for title in ("first start", "second start"):
            reading = _read(logs, checkpoint)
            table.add_row(
                title,
                f"{written / _MEGABYTE:,.0f}",
                f"{on_disk / _MEGABYTE:,.0f}",
                f"{reading.seconds:.1f}",
                f"{reading.cpu_seconds:.1f}",
                f"{written / _MEGABYTE / reading.cpu_seconds:,.0f}" if title == "first start" else "",
                f"{reading.peak_bytes / 2**20:.0f}",
                f"{reading.queries:,}",
            )
        console.print(table)
        console.print(f"checkpoint: {checkpoint.stat().st_size / _MEGABYTE:.1f} MB")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.daemon")
    parser.add_argument("--log", type=Path, required=True, help="an event log of the plugin, e.g. of `make demo`")
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--applications", type=int, default=2000)
    parser.add_argument("--zstd", action="store_true", help="compress the logs as Spark does")
    parser.add_argument("--own-events", action="store_true", help="logs of nothing but the plugin's own events")
    parser.add_argument("--folder", type=Path, default=_FOLDER)
    return parser


def _lines(log: Path) -> Iterator[bytes]:
    for part in (part for one in find_event_logs(log) for part in one.parts):
        stream = decompressor(part.codec)
        content = b"".join(piece.data for piece in stream.feed(part.path.read_bytes()))
        yield from content.splitlines(keepends=True)


def _write(logs: Path, number: int, recorded: Sequence[bytes], share_bytes: int, zstd: bool) -> int:
    """Bytes of the log that it writes, before compression."""
    app_id = f"app-20260101000000-{number:05}"
    lines = [
        json.dumps({"Event": "SparkListenerLogStart", "Spark Version": "4.1.3"}).encode() + b"\n",
        json.dumps(
            {
                "Event": "SparkListenerApplicationStart",
                "App Name": f"job {number}",
                "App ID": app_id,
                "Timestamp": 1_767_225_600_000 + number,
            }
        ).encode()
        + b"\n",
    ]
    size, position = sum(map(len, lines)), number * 37
    while size < share_bytes:
        lines.append(recorded[position % len(recorded)])
        size += len(lines[-1])
        position += 1
    content = b"".join(lines)
    packed = zstandard.ZstdCompressor(level=1).compress(content) if zstd else content
    (logs / f"{app_id}{'.zstd' if zstd else ''}").write_bytes(packed)
    return len(content)


def _read(logs: Path, checkpoint: Path) -> Reading:
    command = [sys.executable, "-m", "aqe_plugin", "run", str(logs), "--checkpoint", str(checkpoint), "--port", "0"]
    started = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        try:
            assert daemon.stderr is not None
            base = daemon.stderr.readline().split()[1].removesuffix("/metrics")
            while not _is_ready(base):
                if daemon.poll() is not None or time.monotonic() - started > _PATIENCE_SECONDS:
                    raise RuntimeError(f"the daemon did not get ready: {daemon.stderr.read()}")
                time.sleep(0.05)
            seconds = time.monotonic() - started
            with urllib.request.urlopen(f"{base}/metrics") as answer:
                families = {one.name: one for one in text_string_to_metric_families(answer.read().decode())}
            status = Path(f"/proc/{daemon.pid}/status").read_text()
            peak_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
            cpu_seconds = families["process_cpu_seconds"].samples[0].value
            queries = families["aqe_plugin_queries"].samples[0].value
            return Reading(seconds, cpu_seconds, peak_kib * 1024, int(queries))
        finally:
            daemon.terminate()
            daemon.wait()


def _is_ready(base: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base}/readyz"):
            return True
    except urllib.error.HTTPError:
        return False


if __name__ == "__main__":
    sys.exit(main())
