"""`make bench-clients`: several clients of one application, whose jobs queue for the same slots.

Each client runs all queries, starting with a different one, in a session of its own; so the application runs as many
queries at a time as there are clients, and Spark gives slots to jobs in the order of their submission. In the rounds of
a contender, all clients are set up as it; in the rounds called `mixed`, every second client has the plugin and the
others are Spark as it comes, in the same queue; from round to round they change places. Reported are the median over
rounds of a round's seconds and, per kind of client, of the mean seconds of a query, with the least and the greatest.
Exit code 1 when rows differ or a query failed.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqe_plugin.api.row_difference import Row, difference
from benchmarks.configs import CONTENDERS, Contender, chosen_queries
from benchmarks.markdown import median_and_range
from benchmarks.session import SessionSettings, spark_session, turn_of
from workloads.scale import scale_factor
from workloads.tpcds.data import ensure_dataset
from workloads.tpcds.queries import Query, queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Answered", "Lap", "Mix", "mixes", "order_of_client", "table"]

_FOLDER = Path(__file__).resolve().parents[2] / ".build" / "bench-clients"
_QUERIES = "q93,q50,q80,q25,q29,q40,q16,q94"


@dataclass(frozen=True)
class Mix:
    """How the clients of a round are set up, one contender each."""

    name: str
    of_clients: tuple[Contender, ...]

    def turned(self, turn: int) -> "Mix":
        """The clients of this round: each is set up as its neighbour was in the round before."""
        first = turn % len(self.of_clients)
        return Mix(self.name, (*self.of_clients[first:], *self.of_clients[:first]))


@dataclass(frozen=True)
class Answered:
    """One query of one client."""

    contender: str
    query: str
    seconds: float
    rows: list[Row]


@dataclass(frozen=True)
class Lap:
    """One round: all clients with all their queries.

    Attributes:
        seconds: from the first query's text to the last one's rows.
    """

    mix: str
    seconds: float
    answered: tuple[Answered, ...]


def mixes(clients: int) -> list[Mix]:
    """All clients alike, for each contender, and the plugin and Spark's defaults by turns."""
    default, plugin = CONTENDERS["default"], CONTENDERS["plugin"]
    alike = [Mix(name, (CONTENDERS[name],) * clients) for name in ("default", "forced", "plugin")]
    return [*alike, Mix("mixed", tuple(plugin if client % 2 else default for client in range(clients)))]


def order_of_client(chosen: Sequence[Query], client: int, clients: int) -> list[Query]:
    """All queries; each client starts with a different one."""
    first = client * len(chosen) // clients
    return [*chosen[first:], *chosen[:first]]


def table(laps: Iterable[Lap]) -> Iterator[str]:
    """The lines of the report, in Markdown."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    means: dict[tuple[str, str], list[float]] = defaultdict(list)
    for lap in laps:
        for contender in dict.fromkeys(answer.contender for answer in lap.answered):
            own = [answer.seconds for answer in lap.answered if answer.contender == contender]
            seconds[lap.mix, contender].append(lap.seconds)
            means[lap.mix, contender].append(statistics.fmean(own))
    yield "| clients | contender | seconds per round | mean seconds per query |"
    yield "|---|---|---|---|"
    told: set[str] = set()
    for (mix, contender), values in seconds.items():
        # All clients of a round share its seconds.
        of_round = "" if mix in told else median_and_range(values, 1)
        told.add(mix)
        cells = (mix, contender, of_round, median_and_range(means[mix, contender], 2))
        yield f"| {' | '.join(cells)} |"


def _lap(sessions: "Sequence[SparkSession]", mix: Mix, chosen: Sequence[Query]) -> Lap:
    """Every client's queries, all clients at once.

    Raises:
        Exception: that of the first client whose query failed.
    """
    started = time.perf_counter()
    with ThreadPoolExecutor(max_workers=len(sessions)) as threads:
        clients = [
            threads.submit(_run_client, session, contender, order_of_client(chosen, client, len(sessions)))
            for client, (session, contender) in enumerate(zip(sessions, mix.of_clients, strict=True))
        ]
        answered = tuple(answer for client in clients for answer in client.result())
    return Lap(mix.name, time.perf_counter() - started, answered)


def _run_client(session: "SparkSession", contender: Contender, order: Sequence[Query]) -> list[Answered]:
    answered = []
    with turn_of(session, contender):
        for query in order:
            started = time.perf_counter()
            rows: list[Row] = [tuple(row) for row in session.sql(query.spark).collect()]
            answered.append(Answered(contender.name, query.name, time.perf_counter() - started, rows))
    return answered


def _differences(laps: Sequence[Lap]) -> Iterator[str]:
    """Each query's rows are held against those of the first client that ran it."""
    first: dict[str, list[Row]] = {}
    for lap in laps:
        for answer in lap.answered:
            found = difference(first.setdefault(answer.query, answer.rows), answer.rows)
            if found:
                yield f"{answer.query}, {lap.mix}, {answer.contender}: {found.describe('the first', 'this one')}"


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """0 if all clients got the same rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clients", description=__doc__)
    parser.add_argument("--sf", type=scale_factor, default=10.0, help="TPC-DS scale factor")
    parser.add_argument("--queries", default=_QUERIES, help="comma-separated names such as q93,q14b, or all")
    parser.add_argument("--clients", type=int, default=4, help="queries that run at a time")
    parser.add_argument("--runs", type=int, default=3, help="timed rounds of each mix, after one that is not")
    arguments = parser.parse_args()
    try:
        chosen = chosen_queries(arguments.queries, queries())
    except ValueError as wrong:
        parser.error(str(wrong))
    if arguments.clients < 1:
        parser.error(f"--clients is {arguments.clients}; at least one client runs queries")
    dataset = ensure_dataset(arguments.sf, report=_report)
    laps: list[Lap] = []
    with spark_session(SessionSettings("concurrent clients", _FOLDER / "events"), with_plugin=True) as spark:
        sessions = [spark.newSession() for _ in range(arguments.clients)]
        for session in sessions:
            dataset.register(session)
        tried = mixes(arguments.clients)
        for turn in range(-1, arguments.runs):
            first = turn % len(tried)
            for mix in [*tried[first:], *tried[:first]]:
                lap = _lap(sessions, mix.turned(turn), chosen)
                _report(f"{mix.name} · {'warm-up' if turn < 0 else f'round {turn + 1}'} · {lap.seconds:.1f} s")
                laps += [lap] if turn >= 0 else []
    laps.sort(key=lambda lap: [mix.name for mix in tried].index(lap.mix))
    print("\n".join(table(laps)))
    differences = list(_differences(laps))
    for line in differences:
        _report(line)
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
