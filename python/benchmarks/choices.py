"""Whether a contender's runs of a query made the same choices: seconds of runs that did not are of different plans."""

from collections.abc import Iterable, Mapping

from aqe_plugin.events.describe import describe_strategy
from aqe_plugin.events.queries import QueryStory

# Join id → what the join compares, and the choice.
_Choices = dict[str, tuple[str, str]]


def changed_choices(queries: Iterable[QueryStory], contender: str) -> list[str]:
    """A line for each run whose choices are not those of the query's first timed run, with every join that differs."""
    runs: dict[str, dict[int, _Choices]] = {}
    for story in queries:
        query, ran, run = _named(story)
        if ran == contender and run > 0:
            runs.setdefault(query, {}).setdefault(run, {}).update(_choices_of(story))
    return [line for query, numbered in runs.items() for line in _lines(query, numbered)]


def _named(story: QueryStory) -> tuple[str, str, int]:
    """Query, contender and number of a run, of which its description is made; empty and 0 for any other query."""
    words = story.description.split(" ")
    return (words[0], words[1], int(words[2])) if len(words) == 3 and words[2].isdecimal() else ("", "", 0)


def _choices_of(story: QueryStory) -> _Choices:
    decisions = [join.decision for join in story.joins]
    return {
        one.facts.join_id: (", ".join(one.facts.keys), describe_strategy(one.choice, one.build_filter))
        for one in decisions
    }


def _lines(query: str, runs: Mapping[int, _Choices]) -> list[str]:
    first, *others = sorted(runs)
    lines = []
    for run in others:
        before, after = runs[first], runs[run]
        changes = [
            f"{compared}: {_choice(before, join)}, then {_choice(after, join)}"
            for join, (compared, _) in (after | before).items()
            if before.get(join) != after.get(join)
        ]
        if changes:
            lines.append(f"{query}: run {run} chose otherwise than run {first}: {'; '.join(changes)}")
    return lines


def _choice(choices: _Choices, join: str) -> str:
    return choices[join][1] if join in choices else "not decided"
