"""A query and its joins in words, for terminals, notebooks and plain text alike.

Each function returns segments: pieces of text, each with a style, which plain text drops. Whatever comes from a log
(query descriptions, table names, error texts) may hold anything, so control characters are made visible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from aqe_plugin.events.describe import (
    describe_choice,
    describe_estimate,
    describe_filter,
    describe_filtering,
    describe_flip,
    describe_join,
    describe_limit,
    describe_limit_choice,
    describe_outcome,
    describe_predicate,
    describe_price,
    describe_reason,
    describe_strategy,
    describe_wait,
    options_not_taken,
    reason_words,
)
from aqe_plugin.events.join_option import carried_out
from aqe_plugin.events.lines import FORCE_KEY
from aqe_plugin.events.model import JoinDecision, LimitDecided, PredicateInferred, QueryEnded
from aqe_plugin.events.quantities import quantity
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.install.forced_joins import entry_for
from aqe_plugin.render.terminal import visible

Segments = tuple[tuple[str, str], ...]

ROW_COLUMNS = ("choice", "of", "why")
COLUMNS = ("join", "choice and reason", "filters and their effect")

_GAP = "  "
_LEAST_KEYS = 20
_NARROW = 100
_LEAST_DESCRIPTION = 12
_QUALIFIER = re.compile(r"(?:(?:`(?:[^`]|``)*`|\b[^\W\d]\w*)\.(?=[^\W\d]|`))+")

_STYLES = {
    "broadcast": "bold green",
    "shuffled_hash": "bold blue",
    "filtered_sort_merge": "bold cyan",
    "plain_sort_merge": "bold",
    "leave_to_spark": "dim",
}


def plain(segments: Segments) -> str:
    """The text of ``segments`` without styles."""
    return "".join(text for text, _ in segments)


def query_heading(query: QueryStory, description: int | None = None) -> Segments:
    """Number, duration, description in so many characters, mode, arm of a trial, and application."""
    took = "still running" if query.duration_millis is None else quantity(query.duration_millis, "millis")
    arm = "" if query.arm is None else f", {query.arm}"
    described = visible(query.description)
    name, identity = visible(query.application_name), visible(query.application)
    application = f"{name} ({identity})" if name and name != identity else identity
    return (
        (f"query {query.execution_id}", "bold"),
        (f"  {took}  ", ""),
        (described if description is None else shortened(described, description), "bold"),
        (f"  [{_mode(query)}{arm}]  {application}", "dim"),
    )


def _mode(query: QueryStory) -> str:
    """A query whose conf is refused runs as Spark alone runs it, whatever its mode."""
    if query.ended is not None and query.ended.bad_conf is not None:
        return "left alone"
    return "observe: no join changed" if query.mode == "observe" else query.mode


def query_failure(query: QueryStory) -> Segments:
    """A line with the error of a query that failed, else nothing."""
    return () if query.error is None else ((f"\nfailed: {visible(query.error)}", "red"),)


def query_line(query: QueryStory, width: int | None = None) -> Segments:
    """The heading, its description shortened for ``width``, with the filters that ran and the rows that they removed,
    below it where they do not fit; what went wrong comes below that."""
    effect, described = _effect_of_filters(query), len(visible(query.description))
    beyond = 0 if width is None else len(plain((*query_heading(query), *effect))) - width
    least = min(described, _LEAST_DESCRIPTION)
    if effect and beyond > described - least:
        beyond -= len(plain(effect))
        effect = ((f"\n{_GAP}{plain(effect).removeprefix(': ')}", effect[-1][1]),)
    heading = query_heading(query, max(least, described - beyond) if beyond > 0 else None)
    ended = query.ended
    faults = ((f"\n{_errors(ended)}", "red"),) if ended is not None and ended.errors else ()
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


def shortened(text: str, width: int, *, at_words: bool = False) -> str:
    """``text`` in at most ``width`` characters, its end left out, at a word if so asked."""
    if len(text) <= width:
        return text
    cut = text[: max(0, width - 1)]
    if at_words and not text[len(cut)].isspace():
        cut = cut.rpartition(" ")[0] or cut
    return f"{cut.rstrip(' …')}…"


def _chosen(join: JoinStory) -> tuple[str, str]:
    decision = join.decision
    return describe_strategy(decision.choice, decision.build_filter), _STYLES[decision.choice]


def _why(join: JoinStory, query: QueryStory) -> str:
    """Why the join runs otherwise than by Spark itself, with the effect of its filter; or why it does not."""
    decision, facts = join.decision, join.decision.facts
    of_spark = carried_out(facts.spark_strategy, facts.spark_strategy, False)
    plain_choice = carried_out(facts.spark_strategy, decision.choice, False)
    reasons = [] if plain_choice == of_spark and decision.build_filter else [decision.reason]
    if plain_choice == of_spark and decision.choice != "leave_to_spark" and not decision.build_filter:
        reasons = [decision.filter_reason]
    words = [reason_words(reason) for reason in reasons]
    if decision.build_filter:
        words.append(describe_filtering(join, query.mode))
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


def join_cells(join: JoinStory, query: QueryStory) -> tuple[Segments, Segments, Segments]:
    """The cells below :data:`COLUMNS` for one join of ``query``."""
    facts = visible(describe_join(join.decision.facts)).replace("; ", "\n")
    named = (f"\nid {visible(join.decision.join_id)}", "dim")
    return ((facts, ""), named), _choice_cell(join, query), _filter_cell(join)


def query_summary(query: QueryStory) -> Segments:
    """Filters, rows removed, limits, predicates, time in the plugin's rules, errors, and what is wrong with the conf.

    The line is yellow without an outcome and red after a fault.
    """
    ended = query.ended
    if ended is None:
        return (("no outcome yet: the query's end is not in the log", "yellow"),)
    share = f" ({quantity(ended.rule_millis / ended.duration_millis, 'ratio')})" if ended.duration_millis else ""
    removed = sum(outcome.rows_removed for outcome in ended.outcomes)
    parts = (
        f"filters planned {ended.planned}, applied {ended.applied}",
        f"{quantity(removed, 'rows')} removed",
        *_counted(len(query.limits), "limit"),
        *_counted(len(query.predicates), "inferred predicate"),
        f"plugin rules took {quantity(ended.rule_millis, 'millis')}{share}",
        _errors(ended),
    )
    return (("; ".join(parts), "red" if ended.errors or ended.applied < ended.planned else "dim"),)


def predicate_lines(query: QueryStory) -> Segments:
    """One line for each predicate that was inferred across the query's joins."""
    return tuple(
        (f"{visible(describe_predicate(found))}\n", "" if found.applied else "dim") for found in query.predicates
    )


def limit_lines(query: QueryStory) -> Segments:
    """One line for each limit of the query."""
    return tuple((f"{visible(describe_limit(limit))}\n", "" if limit.applied else "dim") for limit in query.limits)


def _errors(ended: QueryEnded) -> str:
    return f"errors {ended.errors}{f': {visible(ended.bad_conf)}' if ended.bad_conf else ''}"


def _counted(number: int, what: str) -> tuple[str, ...]:
    return (f"{number:,} {what}{'' if number == 1 else 's'}",) if number else ()


_FORCED = "FORCED"
# The nearest; the others are in the event.
_FLIPS_SHOWN = 3


def _choice_cell(join: JoinStory, query: QueryStory) -> Segments:
    decision = join.decision
    cell = [
        (describe_choice(decision), _STYLES[decision.choice]),
        (f"\n{visible(describe_reason(decision.reason))}", ""),
    ]
    if forced := _forced_by(decision, query):
        cell.append((f"\n{visible(forced)}", "yellow"))
    if price := describe_price(decision):
        cell.append((f"\n{price}", ""))
    cell.extend((f"\n{visible(option)}", "dim") for option in options_not_taken(decision))
    cell.extend((f"\nwith {visible(describe_flip(flip))}", "dim") for flip in join.flips[:_FLIPS_SHOWN])
    return tuple(cell)


def _forced_by(decision: JoinDecision, query: QueryStory) -> str:
    """The entry that forces the join, and who set it; empty when it is not forced, or the log does not say by what."""
    wait = decision.facts.waiting
    reasons = (decision.reason, decision.filter_reason, *((wait.reason,) if wait is not None else ()))
    entry = entry_for(query.force or "", decision.join_id) if any(one.code == _FORCED for one in reasons) else ""
    who = "the query's session" if query.session_forces else "the application's conf"
    return f"forced by {who}: {FORCE_KEY} has {entry}" if entry else ""


def _filter_cell(join: JoinStory) -> Segments:
    decision = join.decision
    verb = "filter" if decision.build_filter else "no filter"
    done = {(outcome.filter_id, outcome.table, outcome.scan_columns) for outcome in join.outcomes}
    # Early logs also list filters that scans waited for and the decision then did not want.
    planned = join.filters if decision.build_filter else ()
    pending = (one for one in planned if (one.filter_id, one.table, one.scan_columns) not in done)
    wait = decision.facts.waiting
    return (
        (f"{verb}: {visible(describe_reason(decision.filter_reason))}", ""),
        *(((f"\n{visible(describe_wait(wait))}", "dim"),) if wait is not None else ()),
        *(((f"\n{visible(describe_estimate(decision))}", ""),) if decision.build_filter else ()),
        *((f"\n{visible(describe_filter(one))}", "" if one.applied else "yellow") for one in pending),
        *((f"\n{visible(describe_outcome(one))}", "yellow" if one.reason else "green") for one in join.outcomes),
    )
