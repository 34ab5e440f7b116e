"""The sum of a table is over the queries that every contender finished, with the part that the last one takes."""

from benchmarks.markdown import markdown_table
from benchmarks.measure import QueryResult, Timing
from benchmarks.total import total, total_lines, with_total

_NAMES = ["comet", "comet-plugin"]


def _result(query: str, *seconds: tuple[float, ...], processor: float = 2.0) -> QueryResult:
    timings = (
        Timing(name, runs, 3, processor_seconds=tuple(processor * run for run in runs))
        for name, runs in zip(_NAMES, seconds, strict=True)
    )
    return QueryResult(query, tuple(timings), {})


_WHOLE = [_result("q93", (8.0, 9.0, 7.0), (2.0, 1.0, 3.0)), _result("q50", (2.0,), (3.0,))]


def test_medians_are_added_and_the_last_contender_is_held_against_each_other_one() -> None:
    assert list(total_lines(_WHOLE, _NAMES)) == [
        "sum of 2: comet 10.0 s, processor 20.0 s; comet-plugin takes 0.500 of it, processor 0.500",
        "sum of 2: comet-plugin 5.0 s, processor 10.0 s",
    ]


def test_a_query_that_one_contender_did_not_finish_is_in_no_sum() -> None:
    assert total([*_WHOLE, _result("q95", (50.0,), ())], _NAMES).timings == total(_WHOLE, _NAMES).timings


def test_processor_time_that_is_not_known_of_one_run_has_no_sum() -> None:
    results = [*_WHOLE, _result("q16", (1.0,), (1.0,), processor=0)]
    assert next(total_lines(results, _NAMES)) == "sum of 3: comet 11.0 s; comet-plugin takes 0.545 of it"


def test_without_a_finished_query_there_is_no_part() -> None:
    assert list(total_lines([_result("q95", (50.0,), ())], _NAMES)) == [
        "sum of 0: comet 0.0 s",
        "sum of 0: comet-plugin 0.0 s",
    ]


def test_a_table_of_several_queries_ends_with_their_sum() -> None:
    assert markdown_table(_WHOLE, _NAMES, {}).splitlines()[-1] == "| sum of 2 | 10.00 | 5.00 | 2.00x | 2.00x | - | - |"
    assert with_total(_WHOLE[:1], _NAMES) == tuple(_WHOLE[:1])
