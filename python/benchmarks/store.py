"""Results on disk: one JSON line per query, so that an interrupted run can be continued."""

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

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

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]


def machine_name() -> str:
    """Processor architecture, cores and memory of this machine."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.machine()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB"


def jar_digest(jar: Path | None) -> str:
    """First digits of the jar's SHA-256; empty without a jar."""
    return "" if jar is None else hashlib.sha256(jar.read_bytes()).hexdigest()[:12]


@dataclass(frozen=True)
class ResultFile:
    """A file that grows with every query; an incomplete line is ignored and its query measured again."""

    path: Path
    conditions: Conditions

    def load(self) -> dict[str, QueryResult]:
        """The results under the same conditions, by query name; the latest counts."""
        if not self.path.is_file():
            return {}
        results = (self._parse(line) for line in self.path.read_text().splitlines())
        return {result.query: result for result in results if result is not None}

    def append(self, result: QueryResult) -> None:
        line = {"conditions": asdict(self.conditions), "digest": self.conditions.digest, "result": asdict(result)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _parse(self, line: str) -> QueryResult | None:
        try:
            stored = json.loads(line)
        except json.JSONDecodeError:
            return None
        if stored["digest"] != self.conditions.digest:
            return None
        result = stored["result"]
        timings = tuple(Timing(**{**timing, "seconds": tuple(timing["seconds"])}) for timing in result["timings"])
        return QueryResult(result["query"], timings, result["rows_differ"])
