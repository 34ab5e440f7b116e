"""The runs of a measurement of regret on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.arms import Join, JoinPlan
from benchmarks.measure import Run
from benchmarks.measured import Measured
from benchmarks.store import LineFile


@dataclass(frozen=True)
class RegretConditions:
    """The conditions that all runs of a file share.

    Attributes:
        tables: digest of what the tables are made from.
        rounds: what the others of a round are held against.
    """

    workload: str
    scale: float
    tables: str
    master: str
    driver_memory: str
    spark_version: str
    jar_digest: str
    machine: str
    rounds: str = "choices forced"


@dataclass(frozen=True)
class RegretRuns:
    """The measurement of one workload: a line for the joins of a query, and one for each run.

    Attributes:
        texts: query → digest of its text; lines of another text, or of a query that is not here, are not read.
    """

    file: LineFile
    texts: Mapping[str, str]

    def load(self) -> dict[str, Measured]:
        """What is known of each query."""
        found: dict[str, Measured] = {}
        for line in self.file.load():
            query = line["query"]
            if line["text"] != self.texts.get(query):
                continue
            measured = found.setdefault(query, Measured(query, is_learned=False))
            if "joins" in line:
                measured.joins, measured.is_learned = [_join(one) for one in line["joins"]], True
            else:
                measured.add(line)
        return found

    def learn(self, measured: Measured, joins: Sequence[Join]) -> None:
        """Keeps the joins of a query whose learning succeeded."""
        self._append(measured.query, {"joins": [asdict(join) for join in joins]})
        measured.joins, measured.is_learned = joins, True

    def add(self, measured: Measured, run: Run, place: int, limit_seconds: float, checked: Mapping[str, Any]) -> None:
        """Keeps a run.

        Args:
            place: in its round.
            checked: what was found of a run that did not fail; empty values are left out.
        """
        line: dict[str, Any] = {"arm": run.contender, "turn": run.turn, "place": place, "seconds": run.seconds}
        line |= {"failure": run.failure} if run.failure else {}
        line |= {"limit": limit_seconds} if run.over_limit else {}
        line |= {name: value for name, value in checked.items() if value}
        self._append(measured.query, line)
        measured.add(line)

    def _append(self, query: str, line: dict[str, Any]) -> None:
        self.file.append({"query": query, "text": self.texts[query], **line})


def _join(stored: Mapping[str, Any]) -> Join:
    return Join(**{**stored, "why": tuple(stored["why"]), "plan": JoinPlan(**stored["plan"])})
