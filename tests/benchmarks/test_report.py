"""A table of seconds calls a number what it is, and runs that made other choices are named."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from aqe_plugin.events.queries import JoinStory, QueryStory
from benchmarks.choices import changed_choices
from benchmarks.measure import QueryResult, Timing
from benchmarks.report import seconds_table
from samples import DECISION

_SORTED = replace(DECISION, choice="plain_sort_merge", build_filter=False)


def _shown(*seconds: float) -> str:
    out = io.StringIO()
    result = QueryResult("q93", (Timing("default", seconds, 1), Timing("plugin", seconds, 1)), {})
    Console(file=out, width=200).print(seconds_table([result], ["default", "plugin"], {}, "title"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "named", "cell"),
    [
        ((4.0,), "seconds: one run;", " 4.00 "),
        ((4.0, 3.0), "seconds: both runs, compared by their mean;", " 4.00 and 3.00 "),
        ((4.0, 3.0, 5.0), "seconds: median (fastest to slowest run);", " 4.00 (3.00 to 5.00) "),
    ],
)
def test_a_number_is_called_a_median_from_three_runs_on(seconds: tuple[float, ...], named: str, cell: str) -> None:
    shown = _shown(*seconds)
    assert named in shown
    assert cell in shown


def _run(description: str, *joins: JoinStory) -> QueryStory:
    return QueryStory("app-1", "bench", 7, description, "apply", 1000, joins, None, None)


def test_a_run_that_chose_otherwise_than_the_first_is_named_with_both_choices() -> None:
    filtered, plain = (JoinStory(decision, (), ()) for decision in (DECISION, _SORTED))
    runs = [_run("q93 plugin 0", plain), _run("q93 plugin 1", filtered), _run("q93 plugin 2", plain)]
    assert changed_choices(runs, "plugin") == [
        "q93: run 2 chose otherwise than run 1: ss_item_sk = sr_item_sk: filtered sort-merge, then plain sort-merge"
    ]
    assert changed_choices([*runs, _run("q93 plugin 3")], "plugin")[1:] == [
        "q93: run 3 chose otherwise than run 1: ss_item_sk = sr_item_sk: filtered sort-merge, then not decided"
    ]


def test_runs_with_the_same_choices_and_those_of_others_are_not_named() -> None:
    one = JoinStory(DECISION, (), ())
    runs = [_run("q93 plugin 1", one), _run("q93 plugin 2", one), _run("q93 observe 2"), _run("a query of mine")]
    assert changed_choices(runs, "plugin") == []
