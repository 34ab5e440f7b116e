"""Timing one query under every contender, in turn."""

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aqe_plugin.api.row_difference import Row, difference
from benchmarks.configs import Contender
from benchmarks.process import processor_seconds
from benchmarks.session import turn_of
from benchmarks.turns import turned
from workloads.tpcds.answers import against_duckdb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workloads.tpcds.queries import Query

# A query may start further jobs after the first ones were cancelled.
_CANCEL_AGAIN_SECONDS = 1.0


@dataclass(frozen=True)
class Timing:
    """Wall seconds of one contender's timed runs, from the query's text to its rows in Python.

    Attributes:
        seconds: one entry per run, in order; empty when the query failed.
        row_count: rows of the answer.
        failure: first line of the error, or why the run was ended; empty when all went well.
        processor_seconds: of the driver's JVM, with its compiler and collector, for each run; 0 if not known. In local
            mode that is all of Spark, and it varies less than wall seconds where others share the processors.
    """

    contender: str
    seconds: tuple[float, ...]
    row_count: int
    failure: str = ""
    processor_seconds: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """Of two runs, their mean."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class QueryResult:
    """All contenders on one query.

    Attributes:
        rows_differ: contenders whose rows are not those of the first one with the same engine, each with the difference
            in words.
        engines_differ: engines whose first contender has other rows than the first of all, each with the difference.
    """

    query: str
    timings: tuple[Timing, ...]
    rows_differ: dict[str, str]
    engines_differ: dict[str, str] = field(default_factory=dict)

    def timing(self, contender: str) -> Timing | None:
        """That contender's timing, or None when it has none for this query."""
        return next((t for t in self.timings if t.contender == contender and t.seconds), None)

    def fastest_run(self, contender: str) -> str | None:
        """The description of that contender's fastest run; None when it has none."""
        timing = self.timing(contender)
        if timing is None:
            return None
        return run_description(self.query, contender, timing.seconds.index(min(timing.seconds)) + 1)

    def ratio(self, slow: str, fast: str) -> float | None:
        """How many times faster `fast` is than `slow`, by the medians of their runs."""
        left, right = self.timing(slow), self.timing(fast)
        return None if left is None or right is None else left.median / right.median

    def processor_ratio(self, slow: str, fast: str) -> float | None:
        """How many times as much processor time `slow` took as `fast`, by the medians of their runs."""
        left, right = (timing.processor_seconds if timing else () for timing in (self.timing(slow), self.timing(fast)))
        is_known = left and right and all((*left, *right))
        return statistics.median(left) / statistics.median(right) if is_known else None


@dataclass(frozen=True)
class Run:
    """One run of one contender.

    Attributes:
        turn: its round; negative for a warm-up.
        seconds: wall seconds from the query's text to its rows in Python; 0 when it failed.
        failure: first line of the error; empty when all went well.
        over_limit: it failed because it took longer than the limit.
        processor_seconds: of the driver's JVM until its listeners have seen the query's end; 0 when it failed.
    """

    contender: str
    turn: int
    seconds: float
    rows: list[Row]
    failure: str = ""
    over_limit: bool = False
    processor_seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """How often and in what order.

    Attributes:
        runs: timed runs of each contender.
        warm_ups: runs before them that are not counted (compiled code, page cache).
        limit_seconds: a run that takes longer is cancelled and recorded as failed.
    """

    runs: int = 3
    warm_ups: int = 1
    limit_seconds: float = 900.0


def run_description(query: str, contender: str, run: int) -> str:
    """The name of a run in Spark's UI and event log; run 0 is a warm-up."""
    return f"{query} {contender} {run}"


def measure(
    spark: "SparkSession",
    query: "Query",
    contenders: Sequence[Contender],
    plan: Plan,
    report: Callable[[str], None] = lambda _: None,
    reference: Callable[["Query"], list[Row]] | None = None,
    tables: "Callable[[Query, Contender], AbstractContextManager[None]]" = lambda *_: nullcontext(),
) -> QueryResult:
    """Runs the contenders in turns.

    Args:
        reference: gives DuckDB's rows, which the first contender's are held against.
        tables: puts the tables in place that a contender reads, for the time of one run.
    """
    counted: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    answers: dict[str, list[Row]] = {}
    failures: dict[str, str] = {}
    turns = range(-plan.warm_ups, plan.runs)
    for run in interleaved(
        spark, query, contenders, turns, limit_seconds=plan.limit_seconds, report=report, tables=tables
    ):
        if run.failure:
            failures[run.contender] = run.failure
            continue
        answers.setdefault(run.contender, run.rows)
        if run.turn >= 0:
            counted[run.contender].append(run)
    timings = tuple(
        _timing(name, [] if name in failures else runs, len(answers.get(name, [])), failures.get(name, ""))
        for name, runs in counted.items()
    )
    engines = [
        {one.name: answers[one.name] for one in contenders if one.name in answers and one.needs_comet is with_comet}
        for with_comet in (False, True)
    ]
    differing = {name: words for engine in engines for name, words in _differing(engine).items()}
    firsts = {name: engine[name] for engine in engines for name in list(engine)[:1]}
    if reference is not None and firsts:
        base = next(iter(firsts))
        delta = against_duckdb(query, reference(query), firsts[base])
        differing = {**differing, **({"DuckDB": delta.describe("DuckDB", base, shown=3)} if delta else {})}
    return QueryResult(query.name, timings, differing, _differing(firsts))


def _timing(contender: str, runs: Sequence[Run], row_count: int, failure: str) -> Timing:
    seconds, processor = tuple(run.seconds for run in runs), tuple(run.processor_seconds for run in runs)
    return Timing(contender, seconds, row_count, failure, processor)


def interleaved(
    spark: "SparkSession",
    query: "Query",
    contenders: Sequence[Contender],
    turns: Iterable[int],
    *,
    limit_seconds: float = Plan.limit_seconds,
    report: Callable[[str], None] = lambda _: None,
    tables: "Callable[[Query, Contender], AbstractContextManager[None]]" = lambda *_: nullcontext(),
) -> Iterator[Run]:
    """The runs of each turn, as they are made. A contender that fails is not tried again.

    Args:
        turns: numbers of the rounds; negative ones are warm-ups.
    """
    failed: set[str] = set()
    for turn in turns:
        for contender in turned(contenders, turn):
            if contender.name in failed:
                continue
            report(f"{query.name} · {contender.name} · {'warm-up' if turn < 0 else f'run {turn + 1}'}")
            description = run_description(query.name, contender.name, max(turn + 1, 0))
            run = attempt(
                spark,
                query,
                contender,
                turn,
                limit_seconds=limit_seconds,
                description=description,
                tables=tables(query, contender),
            )
            if run.failure:
                failed.add(contender.name)
            yield run


def attempt(
    spark: "SparkSession",
    query: "Query",
    contender: Contender,
    turn: int,
    *,
    limit_seconds: float,
    description: str,
    tables: AbstractContextManager[None] | None = None,
) -> Run:
    """One run. A query that fails is a result; with Spark gone the error goes on, because it says nothing of the query.

    Args:
        description: the name of the run in Spark's UI, event log and `aqe_decisions()`.
        tables: in place for the time of the run.
    """
    try:
        with tables or nullcontext():
            elapsed, processor, rows = _run_once(spark, query, contender, limit_seconds, description)
    except Exception as error:
        if is_gone(spark):
            raise
        why = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        return Run(contender.name, turn, 0.0, [], why, over_limit=isinstance(error, TimeoutError))
    return Run(contender.name, turn, elapsed, rows, processor_seconds=processor)


def is_gone(spark: "SparkSession") -> bool:
    """Whether the JVM does not answer, or its SparkContext is stopped."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001 - whatever the gateway raises, nothing answers
        return True


def _run_once(
    spark: "SparkSession", query: "Query", contender: Contender, limit_seconds: float, description: str
) -> tuple[float, float, list[Row]]:
    context = spark.sparkContext
    jvm = context._jvm
    if jvm is not None:
        jvm.System.gc()
    context.setJobDescription(description)
    too_long = TimeoutError(f"took longer than {limit_seconds:g} s")
    try:
        with _cancelled_after(limit_seconds, context) as is_over:
            try:
                with turn_of(spark, contender):
                    start, processor_start = time.perf_counter(), processor_seconds(context)
                    rows = [tuple(row) for row in spark.sql(query.spark).collect()]
                    elapsed = time.perf_counter() - start
                    # What listeners do at the end of a query is part of its cost.
                    context._jsc.sc().listenerBus().waitUntilEmpty()
                    processor_end = processor_seconds(context)
            except Exception as error:
                if is_over.is_set():
                    raise too_long from error
                raise
        if is_over.is_set():
            raise too_long
        is_known = processor_start > 0 and processor_end > 0
        return elapsed, processor_end - processor_start if is_known else 0.0, rows
    finally:
        context.setJobDescription("")


@contextmanager
def _cancelled_after(limit_seconds: float, context: Any) -> Iterator[threading.Event]:
    """Cancels the jobs of `context` from that time on until the end of the block; the event says that it did."""
    is_done, is_over = threading.Event(), threading.Event()

    def cancel() -> None:
        if is_done.wait(limit_seconds):
            return
        is_over.set()
        context.cancelAllJobs()
        while not is_done.wait(_CANCEL_AGAIN_SECONDS):
            context.cancelAllJobs()

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    try:
        yield is_over
    finally:
        is_done.set()
        thread.join()


def _differing(answers: dict[str, list[Row]]) -> dict[str, str]:
    if not answers:
        return {}
    base, *others = answers
    found = {other: difference(answers[base], answers[other]) for other in others}
    return {other: delta.describe(base, other, shown=3) for other, delta in found.items() if delta}
