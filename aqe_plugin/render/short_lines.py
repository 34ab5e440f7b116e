"""A query, and each of its joins, limits and predicates, in a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aqe_plugin.events.describe import (
    describe_filtering,
    describe_limit_choice,
    describe_loss,
    describe_predicate,
    describe_strategy,
    reason_words,
)
from aqe_plugin.events.join_option import carried_out
from aqe_plugin.events.model import LimitDecided, PredicateInferred
from aqe_plugin.events.quantities import quantity
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.render.query_text import (
    STYLES,
    Segments,
    describe_errors,
    files_left_out,
    plain,
    query_failure,
    query_heading,
    query_name,
    shortened,
)
from aqe_plugin.render.terminal import visible

ROW_COLUMNS = ("choice", "of", "why")

_GAP = "  "
_LEAST_KEYS = 20
_NARROW = 100
_LEAST_DESCRIPTION = 12
_QUALIFIER = re.compile(r"(?:(?:`(?:[^`]|``)*`|\b[^\W\d]\w*)\.(?=[^\W\d]|`))+")


def query_line(query: QueryStory, width: int | None = None) -> Segments:
    """The heading, its description shortened for ``width``, with the filters that ran and the rows that they removed,
    below it where they do not fit; what went wrong comes below that."""
    effect, described = _effect_of_filters(query), len(visible(query_name(query.description)))
    beyond = 0 if width is None else len(plain((*query_heading(query), *effect))) - width
    least = min(described, _LEAST_DESCRIPTION)
    if effect and beyond > described - least:
        beyond -= len(plain(effect))
        effect = ((f"\n{_GAP}{plain(effect).removeprefix(': ')}", effect[-1][1]),)
    heading = query_heading(query, max(least, described - beyond) if beyond > 0 else None)
    ended = query.ended
    faults = ((f"\n{describe_errors(ended)}", "red"),) if ended is not None and ended.errors else ()
    return (*heading, *effect, *query_failure(query), *faults)


def _effect_of_filters(query: QueryStory) -> Segments:
    ended = query.ended
    if ended is None:
        return ((": no outcome yet", "yellow"),)
    if not (ended.planned or ended.applied or ended.outcomes):
        return ()
    removed = sum(outcome.rows_removed for outcome in ended.outcomes)
    missed = ended.planned - ended.applied
    found = f": {ended.applied:,} filter{'' if ended.applied == 1 else 's'}, {quantity(removed, 'rows')} removed"
    found = ", ".join((found, *files_left_out(query)))
    return ((found, ""), *(((f", {missed:,} planned and not applied", "yellow"),) if missed > 0 else ()))


def row_lines(query: QueryStory, width: int) -> list[Segments]:
    """A line of at most ``width`` characters for each join, limit and predicate: what was chosen, for what, and why.

    The three are aligned. What they are about is shortened first, and only then reasons, at the end of a word. Where
    not even 100 columns are there, and they do not fit, the reason has a line of its own.
    """
    rows = rows_of(query)
    if width < _NARROW and any(
        len(chosen) + len(what) + len(why) + 3 * len(_GAP) > width for chosen, _, what, why in rows
    ):
        return _in_two_lines(rows, width)
    first = max((len(chosen) for chosen, *_ in rows), default=0)
    rest = width - first - 3 * len(_GAP)
    # Joins are what is read; what a limit says at length must not take the room of their keys.
    longest = max((len(reason) for *_, reason in rows[: len(query.joins)] or rows), default=0)
    second = min(max((len(what) for _, _, what, _ in rows), default=0), max(_LEAST_KEYS, rest - longest))
    return [
        (
            (f"{_GAP}{chosen:<{first}}{_GAP}", style),
            (f"{shortened(_unqualified(what, second), second):<{second}}{_GAP}", ""),
            (shortened(reason, rest - second, at_words=True), "dim"),
        )
        for chosen, style, what, reason in rows
    ]


def _in_two_lines(rows: Sequence[tuple[str, str, str, str]], width: int) -> list[Segments]:
    first = max(len(chosen) for chosen, *_ in rows)
    rest = width - first - 2 * len(_GAP)
    return [
        (
            (f"{_GAP}{chosen:<{first}}{_GAP}", style),
            (shortened(_unqualified(what, rest), rest), ""),
            (f"\n{'':<{first + 2 * len(_GAP)}}{shortened(reason, rest, at_words=True)}" if reason else "", "dim"),
        )
        for chosen, style, what, reason in rows
    ]


def rows_of(query: QueryStory) -> list[tuple[str, str, str, str]]:
    """For each join, limit and predicate what was chosen, the style of that, for what, and why."""
    return [
        *((*_chosen(join), visible(", ".join(join.decision.facts.keys)), _why(join, query)) for join in query.joins),
        *(_limit_row(limit) for limit in query.limits),
        *(
            ("predicate", "" if one.applied else "dim", visible(f"{one.table}: {one.predicate}"), _from_what(one))
            for one in query.predicates
        ),
    ]


def _unqualified(keys: str, width: int) -> str:
    return keys if len(keys) <= width else _QUALIFIER.sub("…", keys)


def _chosen(join: JoinStory) -> tuple[str, str]:
    decision = join.decision
    return describe_strategy(decision.choice, decision.build_filter), STYLES[decision.choice]


def _why(join: JoinStory, query: QueryStory) -> str:
    """Why the join runs otherwise than by Spark itself, with the effect of its filter; or why it does not."""
    decision, facts = join.decision, join.decision.facts
    of_spark = carried_out(facts.spark_strategy, facts.spark_strategy, False)
    plain_choice = carried_out(facts.spark_strategy, decision.choice, False)
    reasons = [] if plain_choice == of_spark and decision.build_filter else [decision.reason]
    if plain_choice == of_spark and decision.choice != "leave_to_spark" and not decision.build_filter:
        reasons = [decision.filter_reason]
    words = ["broadcast before the probe side is shuffled"] if join.spares_shuffle else []
    if not words or decision.build_filter:
        words.extend(reason_words(reason) for reason in reasons)
    if decision.build_filter:
        words.append(describe_filtering(join, query.mode))
    if decision.unforced is not None:
        by = decision.unforced
        words.append(f"else {describe_strategy(by.choice, by.build_filter)}: {reason_words(by.reason)}")
    if loss := describe_loss(join, query.mode):
        words.append(loss)
    if join.vain_millis:
        words.append(f"waited {quantity(join.vain_millis, 'millis')} for nothing")
    return visible("; ".join(words))


def _limit_row(limit: LimitDecided) -> tuple[str, str, str, str]:
    facts = limit.decision.facts
    rows = f"{quantity(facts.rows_wanted, 'rows')}{f' of {facts.table}' if facts.table else ''}"
    return (
        f"limit: {describe_limit_choice(limit)}",
        "" if limit.applied else "dim",
        visible(rows),
        reason_words(limit.decision.reason),
    )


def _from_what(predicate: PredicateInferred) -> str:
    return describe_predicate(predicate).rpartition(", from ")[2]
