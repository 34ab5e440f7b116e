"""What all queries of a table come to."""

import statistics
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.measure import QueryResult, Timing


def total(results: Iterable[QueryResult], contenders: Sequence[str]) -> QueryResult:
    """Sums of the medians over the queries that every contender finished, as if they were one run of one query."""
    whole = [[result.timing(name) for name in contenders] for result in results]
    finished = [[timing for timing in timings if timing] for timings in whole if all(timings)]
    sums = (_sum(name, [timings[place] for timings in finished]) for place, name in enumerate(contenders))
    return QueryResult(f"sum of {len(finished)}", tuple(sums), {})


def with_total(results: Sequence[QueryResult], contenders: Sequence[str]) -> tuple[QueryResult, ...]:
    """The results, and their sum where there are several."""
    return (*results, total(results, contenders)) if len(results) > 1 else tuple(results)


def total_seconds(results: Iterable[QueryResult], contenders: Sequence[str]) -> dict[str, float]:
    """Sum of the medians over the queries that every contender finished."""
    return {timing.contender: sum(timing.seconds) for timing in total(results, contenders).timings}


def total_lines(results: Iterable[QueryResult], contenders: Sequence[str]) -> Iterator[str]:
    """A line for each contender: its sums in wall and processor seconds, and what part of them the last one takes."""
    summed, last = total(results, contenders), contenders[-1]
    for timing in summed.timings:
        wall, processor = summed.ratio(last, timing.contender), summed.processor_ratio(last, timing.contender)
        taken = "" if processor is None else f", processor {processor:.3f}"
        taken = "" if wall is None or timing.contender == last else f"; {last} takes {wall:.3f} of it{taken}"
        seconds = [f"{timing.contender} {sum(timing.seconds):.1f} s"]
        seconds += [f"processor {one:.1f} s" for one in timing.processor_seconds]
        yield f"{summed.query}: {', '.join(seconds)}{taken}"


def _sum(contender: str, timings: Sequence[Timing]) -> Timing:
    """No time where there is no query, no processor time where that of a run is not known."""
    seconds = (sum(timing.median for timing in timings),) if timings else ()
    known = timings and all(timing.processor_seconds and all(timing.processor_seconds) for timing in timings)
    processor = (sum(statistics.median(timing.processor_seconds) for timing in timings),) if known else ()
    return Timing(contender, seconds, sum(timing.row_count for timing in timings), "", processor)
