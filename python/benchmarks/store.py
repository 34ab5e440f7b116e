"""Results on disk, a JSON line each, so that an interrupted run can be continued."""

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import QueryResult, Timing


@dataclass(frozen=True)
class Conditions:
    """The conditions that all results of a table share."""

    scale: float
    contenders: tuple[str, ...]
    runs: int
    warm_ups: int
    cores: int
    driver_memory: str
    spark_version: str
    jar_digest: str
    machine: str


def machine_name() -> str:
    """Processor architecture, cores and memory of this machine."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.machine()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB"


def jar_digest(jar: Path | None) -> str:
    """First digits of the jar's SHA-256; empty without a jar."""
    return "" if jar is None else hashlib.sha256(jar.read_bytes()).hexdigest()[:12]


def text_digest(text: str) -> str:
    """First digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class LineFile:
    """A file of JSON lines that grows while something is measured, each line with the conditions that it holds for.

    Attributes:
        conditions: a dataclass; lines of other conditions are left alone and not read.
    """

    path: Path
    conditions: Any

    @property
    def digest(self) -> str:
        return text_digest(json.dumps(asdict(self.conditions), sort_keys=True))

    def load(self) -> list[dict[str, Any]]:
        """What was appended under the same conditions; an incomplete line is left out."""
        if not self.path.is_file():
            return []
        lines = (self._parse(line) for line in self.path.read_text().splitlines())
        return [line["result"] for line in lines if line is not None and line["digest"] == self.digest]

    def append(self, result: dict[str, Any]) -> None:
        line = {"conditions": asdict(self.conditions), "digest": self.digest, "result": result}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            # After a line that was cut off.
            file.write(("" if self._ends_with_line() else "\n") + json.dumps(line) + "\n")

    def _ends_with_line(self) -> bool:
        return self.path.stat().st_size == 0 or self.path.read_bytes()[-1:] == b"\n"

    @staticmethod
    def _parse(line: str) -> dict[str, Any] | None:
        try:
            stored = json.loads(line)
        except json.JSONDecodeError:
            return None
        return stored if isinstance(stored, dict) else None


@dataclass(frozen=True)
class ResultFile:
    """A file that grows with every query; an incomplete line is ignored and its query measured again."""

    path: Path
    conditions: Conditions

    def load(self) -> dict[str, QueryResult]:
        """The results under the same conditions, by query name; the latest counts."""
        results = (_query_result(result) for result in self._lines.load())
        return {result.query: result for result in results}

    def append(self, result: QueryResult) -> None:
        self._lines.append(asdict(result))

    @property
    def _lines(self) -> LineFile:
        return LineFile(self.path, self.conditions)


def _query_result(result: dict[str, Any]) -> QueryResult:
    # Older results have no processor time, and one engine.
    timings = tuple(
        Timing(
            **{
                **timing,
                "seconds": tuple(timing["seconds"]),
                "processor_seconds": tuple(timing.get("processor_seconds", ())),
            }
        )
        for timing in result["timings"]
    )
    return QueryResult(result["query"], timings, result["rows_differ"], result.get("engines_differ", {}))
