"""Many short queries over small tables: one after the other, and from several clients at a fixed rate."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.configs import Contender
from benchmarks.intervals import median_interval
from benchmarks.overhead.queries import SPARK
from benchmarks.process import processor_seconds
from benchmarks.session import turn_of
from benchmarks.tables import parquet_once
from benchmarks.turns import turned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")

_ROWS = 1000
_TABLES = 6
JOINS = (0, 1, 5)
_BLOCK = 20  # contenders take turns by so few queries because a JVM gets faster for minutes
_WARM_UPS = 5
_P95_BLOCKS = 5
_LEAST_VALUES = 6  # of fewer, not even the least and the greatest cover the median with 95 %
_LOAD_TURNS = 6
_CLIENTS = 4
_TUNING_SECONDS = 20.0


@dataclass(frozen=True)
class Block:
    """Queries of one contender, one after the other.

    Attributes:
        seconds: of each query.
        processor: seconds of the JVM, of all queries.
    """

    seconds: tuple[float, ...]
    processor: float


@dataclass(frozen=True)
class Load:
    """What clients met who sent queries at a fixed rate.

    Attributes:
        seconds: from when a query was due to its rows.
        heap_growth: bytes of live objects on the driver's heap, at the end less at the beginning.
        thread_growth: threads of the driver, likewise.
        processor: seconds of the JVM per query.
    """

    seconds: tuple[float, ...]
    heap_growth: int
    thread_growth: int
    processor: float


def register(spark: "SparkSession", folder: Path) -> None:
    """Small tables `small0`, `small1` and so on, one file each."""
    for number in range(_TABLES):
        rows = spark.range(0, _ROWS, 1, 1).selectExpr("id AS k", f"id % {number + 2} AS v", f"id * {number + 1} AS w")
        parquet_once(folder / f"small{number}", rows).createOrReplaceTempView(f"small{number}")


def text(joins: int) -> str:
    """A query of a table joined with others by their keys, of which a predicate keeps half."""
    joined = "".join(f" JOIN small{n} ON small{n}.k = small0.k AND small{n}.v = 0" for n in range(1, joins + 1))
    return f"SELECT count(*), sum(small0.w) FROM small0{joined} WHERE small0.v = 0"


def blocks(
    spark: "SparkSession", joins: int, contenders: Sequence[Contender], queries: int, report: Callable[[str], None]
) -> dict[str, list[Block]]:
    """At least that many queries of each, Spark among them, in blocks that take turns, after some that do not count."""
    everyone = (SPARK, *contenders)
    found: dict[str, list[Block]] = {contender.name: [] for contender in everyone}
    for turn in range(-_WARM_UPS, -(-queries // _BLOCK)):
        for contender in turned(everyone, turn):
            report(f"small tables · {joins} joins · {contender.name} · block {turn + 1}")
            block = _block(spark, joins, contender)
            if turn >= 0:
                found[contender.name].append(block)
    return found


def _block(spark: "SparkSession", joins: int, contender: Contender) -> Block:
    with turn_of(spark, contender):
        before = processor_seconds(spark.sparkContext)
        seconds = tuple(_timed(spark, joins) for _ in range(_BLOCK))
        return Block(seconds, processor_seconds(spark.sparkContext) - before)


def _timed(spark: Any, joins: int) -> float:
    started = time.perf_counter()
    # The rows stay in the JVM: to bring them here costs as much as a short query.
    spark._jsparkSession.sql(text(joins)).collectAsList()
    return time.perf_counter() - started


def block_lines(joins: int, found: dict[str, list[Block]]) -> Iterator[str]:
    """A line for each contender that is held against Spark."""
    base = found[SPARK.name]
    for name, own in found.items():
        if name == SPARK.name:
            continue
        ratios = {
            "p50": _ratios(own, base, lambda block: statistics.median(block.seconds)),
            "p95": _ratios(_joined(own), _joined(base), lambda block: _p95(block.seconds)),
            "processor": _ratios(own, base, lambda block: block.processor),
        }
        cells = [_cell(one) for one in ratios.values()]
        millis = statistics.median(second for block in base for second in block.seconds) * 1000
        yield f"| {joins} joins, {millis:.1f} ms | {name} | {' | '.join(cells)} |"


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of enough queries to have a 95th percentile; the last blocks may be left over."""
    groups = [blocks[at : at + _P95_BLOCKS] for at in range(0, len(blocks) - _P95_BLOCKS + 1, _P95_BLOCKS)]
    joined = groups or [blocks]
    return [Block(tuple(s for one in some for s in one.seconds), sum(one.processor for one in some)) for some in joined]


def _ratios(own: Sequence[_T], base: Sequence[_T], of: Callable[[_T], float]) -> Sequence[float]:
    return [of(one) / of(other) for one, other in zip(own, base, strict=True)]


def _cell(ratios: Sequence[float]) -> str:
    found = median_interval(ratios)
    interval = f" ({found.low:.2f} to {found.high:.2f})" if len(ratios) >= _LEAST_VALUES else ""
    return f"{found.median:.3f}{interval}"


def _p95(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def sustained(spark: "SparkSession", joins: int) -> float:
    """Queries per second that the clients get answered, each of which sends the next once it has the last rows."""
    end = time.perf_counter() + _TUNING_SECONDS

    def answered(session: "SparkSession") -> int:
        count = 0
        while time.perf_counter() < end:
            _timed(session, joins)
            count += 1
        return count

    with turn_of(spark, SPARK), ThreadPoolExecutor(_CLIENTS) as threads:
        return sum(threads.map(answered, [spark] * _CLIENTS)) / _TUNING_SECONDS


def load(spark: "SparkSession", joins: int, contender: Contender, rate: float, seconds: float) -> Load:
    """Queries at that rate for so long, from all clients in turn; a client that is behind sends at once."""
    context: Any = spark.sparkContext
    due = [number / rate for number in range(int(rate * seconds))]
    taken: list[float] = []
    lock = threading.Lock()
    with turn_of(spark, contender):
        heap, running = _heap_and_threads(context)
        before, started = processor_seconds(context), time.perf_counter()

        def client(number: int) -> None:
            for moment in due[number::_CLIENTS]:
                time.sleep(max(0.0, started + moment - time.perf_counter()))
                _timed(spark, joins)
                with lock:
                    taken.append(time.perf_counter() - started - moment)

        with ThreadPoolExecutor(_CLIENTS) as threads:
            list(threads.map(client, range(_CLIENTS)))
        processor = (processor_seconds(context) - before) / len(due)
        heap_after, running_after = _heap_and_threads(context)
    return Load(tuple(taken), heap_after - heap, running_after - running, processor)


def _heap_and_threads(context: Any) -> tuple[int, int]:
    """Bytes that a collection leaves, and threads."""
    context._jvm.System.gc()
    management = context._jvm.java.lang.management.ManagementFactory
    return management.getMemoryMXBean().getHeapMemoryUsage().getUsed(), management.getThreadMXBean().getThreadCount()


def loads(
    spark: "SparkSession",
    joins: int,
    contenders: Sequence[Contender],
    rate: float,
    seconds: float,
    report: Callable[[str], None],
) -> dict[str, list[Load]]:
    """The loads of Spark and each contender, who take turns until each has had that many seconds."""
    everyone = (SPARK, *contenders)
    found: dict[str, list[Load]] = {contender.name: [] for contender in everyone}
    for turn in range(_LOAD_TURNS):
        for contender in turned(everyone, turn):
            report(f"clients · {contender.name} · turn {turn + 1}")
            found[contender.name].append(load(spark, joins, contender, rate, seconds / _LOAD_TURNS))
    return found


def load_lines(found: dict[str, list[Load]], rate: float) -> Iterator[str]:
    """The table: a line for each contender, Spark first."""
    columns = ("p50", "p50 / Spark", "p95", "p95 / Spark", "processor a query", "heap", "threads")
    yield f"| four clients, one join | contender | {' | '.join(columns)} |"
    yield "|---|---|---:|---|---:|---|---:|---:|---:|"
    base = found[SPARK.name]
    for name, own in found.items():
        seconds = [second for one in own for second in one.seconds]
        p50s = _ratios(own, base, lambda one: statistics.median(one.seconds))
        p95s = _ratios(own, base, lambda one: _p95(one.seconds))
        yield (
            f"| {rate:.1f} a second | {name} | {statistics.median(seconds) * 1000:.1f} ms | {_cell(p50s)} | "
            f"{_p95(seconds) * 1000:.1f} ms | {_cell(p95s)} | "
            f"{statistics.fmean(one.processor for one in own) * 1000:.1f} ms | "
            f"{sum(one.heap_growth for one in own) / 2**20:+.1f} MiB | {sum(one.thread_growth for one in own):+d} |"
        )
