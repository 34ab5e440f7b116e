"""Queries of a workload, in turn: Spark, what is held against it, and Spark once more: so far do equal plans differ."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.configs import CONTENDERS, Contender
from benchmarks.measure import Plan, QueryResult, measure
from benchmarks.overhead.slower import Ratio, ratio_of, surely_slower

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workloads.tpcds.queries import Query

SPARK = CONTENDERS["default"]
PLUGIN = CONTENDERS["plugin"]
AGAIN = replace(SPARK, name="again", says="Spark as it comes, for the second time")
# In one application, which has the plugin, this is what the others call Spark.
OFF = replace(SPARK, name="off", says="Spark with the plugin, which is off")


@dataclass(frozen=True)
class Slower:
    """What became of the queries.

    Attributes:
        ratios: processor time of a contender per that of Spark, by query.
        suspected: queries that are slower by the first measurement.
        confirmed: those that are slower by another one as well.
    """

    ratios: Mapping[str, Ratio]
    suspected: list[str]
    confirmed: list[str]


def processor_ratios(results: Sequence[QueryResult], contender: Contender, limit: float) -> dict[str, Ratio]:
    """The ratios of the queries that ran under both contenders."""
    found = {}
    for result in results:
        spark, other = result.timing(SPARK.name), result.timing(contender.name)
        if spark and other:
            found[result.query] = ratio_of(other.processor_seconds, spark.processor_seconds, limit)
    return found


def slower_than(
    results: Sequence[QueryResult],
    contender: Contender,
    limit: float,
    again: Callable[[Sequence[str]], Sequence[QueryResult]],
) -> Slower:
    """The queries in which a contender takes more than `limit` times Spark's processor time, in two measurements.

    Args:
        again: measures queries for the second time.
    """
    ratios = processor_ratios(results, contender, limit)
    suspected = surely_slower(ratios)
    confirmed = surely_slower(processor_ratios(again(suspected), contender, limit)) if suspected else []
    return Slower(ratios, suspected, confirmed)


def measured(
    spark: "SparkSession",
    queries: Sequence["Query"],
    contenders: Sequence[Contender],
    plan: Plan,
    report: Callable[[str], None],
) -> Iterator[QueryResult]:
    """The results of the queries under Spark and the contenders, one by one."""
    for query in queries:
        yield measure(spark, query, (SPARK, *contenders), plan, report)


def lines(
    results: Sequence[QueryResult], contenders: Sequence[Contender], found: Mapping[str, Slower], limit: float
) -> Iterator[str]:
    """The table, and what is slower."""
    yield f"| query | Spark, processor s | {' | '.join(f'{one.name} / Spark | wall' for one in contenders)} |"
    yield f"|---|{'---:|' * (1 + 2 * len(contenders))}"
    for result in results:
        spark = result.timing(SPARK.name)
        timings = [(one, result.timing(one.name)) for one in contenders]
        if spark and all(timing for _, timing in timings):
            mean = sum(spark.processor_seconds) / len(spark.processor_seconds)
            cells = (
                f"{_told(found[one.name].ratios[result.query])} | {timing.median / spark.median:.2f}"
                for one, timing in timings
                if timing
            )
            yield f"| {result.query} | {mean:.2f} | {' | '.join(cells)} |"
    for contender in contenders:
        of = found[contender.name]
        sums = [_sum(results, one, of.ratios) for one in (contender, SPARK)]
        within = sum(ratio.high <= limit for ratio in of.ratios.values())
        yield (
            f"{contender.name}: sum of processor time {sums[0]:.1f} s, {sums[0] / sums[1]:.3f} of Spark's; "
            f"slower than {limit:g}x: {_names(of.suspected)}; on the repeat too: {_names(of.confirmed)}; "
            f"surely within {limit:g}x: {within} of {len(of.ratios)}"
        )


def failures(results: Sequence[QueryResult]) -> list[str]:
    """The runs that failed, each with its contender and the error."""
    return [
        f"{result.query} failed, {timing.contender}: {timing.failure}"
        for result in results
        for timing in result.timings
        if timing.failure
    ]


def _sum(results: Sequence[QueryResult], contender: Contender, names: Collection[str]) -> float:
    timings = [one for one in (result.timing(contender.name) for result in results if result.query in names) if one]
    return sum(sum(one.processor_seconds) / len(one.processor_seconds) for one in timings)


def _names(queries: Sequence[str]) -> str:
    return ", ".join(queries) or "none"


def _told(ratio: Ratio) -> str:
    return f"{ratio.middle:.3f} ({ratio.low:.2f} to {ratio.high:.2f})"
