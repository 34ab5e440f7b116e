"""A query and its joins in words, for terminals, notebooks and plain text alike.

Each function returns segments: pieces of text, each with a style, which plain text drops. Whatever comes from a log
(query descriptions, table names, error texts) may hold anything, so control characters are made visible.
"""

from __future__ import annotations

import re

from aqe_plugin.events.describe import (
    describe_choice,
    describe_choice_reason,
    describe_estimate,
    describe_files,
    describe_filter,
    describe_flip,
    describe_join,
    describe_limit,
    describe_outcome,
    describe_predicate,
    describe_price,
    describe_reason,
    describe_unforced,
    describe_wait,
    options_not_taken,
)
from aqe_plugin.events.lines import FORCE_KEY
from aqe_plugin.events.model import JoinDecision, QueryEnded
from aqe_plugin.events.quantities import quantity
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.install.forced_joins import entry_for
from aqe_plugin.render.terminal import visible

Segments = tuple[tuple[str, str], ...]

_SPACE = re.compile(r"(?:\s|\\n)+")
_SHARED_PLACE = re.compile(r" at NativeMethodAccessorImpl\.java:0$")

COLUMNS = ("join", "choice and reason", "filters and their effect")

STYLES = {
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
    """Numbers, duration, description in so many characters, mode, arm of a trial, and application."""
    took = "still running" if query.duration_millis is None else quantity(query.duration_millis, "millis")
    arm = "" if query.arm is None else f", {query.arm}"
    described = visible(query_name(query.description))
    name, identity = visible(query.application_name), visible(query.application)
    application = f"{name} ({identity})" if name and name != identity else identity
    return (
        (f"query {query.execution_id}", "bold"),
        *(((f" (part of query {query.run_by})", ""),) if query.run_by is not None else ()),
        (f"  {took}  ", ""),
        (described if description is None else shortened(described, description), "bold"),
        (f"  [{_mode(query)}{arm}]  {application}", "dim"),
    )


def query_name(description: str) -> str:
    """The description on one line: white space, and newlines that are written as ``\\n``, are collapsed; the place of
    the call is left off where it is that of py4j, which all of Python's calls share."""
    return _SHARED_PLACE.sub("", _SPACE.sub(" ", description).strip())


def _mode(query: QueryStory) -> str:
    """A query whose conf is refused runs as Spark alone runs it, whatever its mode."""
    if query.ended is not None and query.ended.bad_conf is not None:
        return "left alone"
    return "observe: no join changed" if query.mode == "observe" else query.mode


def query_failure(query: QueryStory) -> Segments:
    """A line with the error of a query that failed, else nothing."""
    return () if query.error is None else ((f"\nfailed: {visible(query.error)}", "red"),)


def shortened(text: str, width: int, *, at_words: bool = False) -> str:
    """``text`` in at most ``width`` characters, its end left out, at a word if so asked."""
    if len(text) <= width:
        return text
    cut = text[: max(0, width - 1)]
    if at_words and not text[len(cut)].isspace():
        cut = cut.rpartition(" ")[0] or cut
    return f"{cut.rstrip(' …')}…"


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
        *files_left_out(query),
        *_counted(len(query.limits), "limit"),
        *_counted(len(query.predicates), "inferred predicate"),
        f"plugin rules took {quantity(ended.rule_millis, 'millis')}{share}",
        describe_errors(ended),
    )
    return (("; ".join(parts), "red" if ended.errors or ended.applied < ended.planned else "dim"),)


def files_left_out(query: QueryStory) -> tuple[str, ...]:
    """How many files the scans of the query did not read for want of a key, if any."""
    files = describe_files(sum(join.files_left_out[0] for join in query.joins), None)
    return (f"{files} left out",) if files else ()


def predicate_lines(query: QueryStory) -> Segments:
    """One line for each predicate that was inferred across the query's joins."""
    return tuple(
        (f"{visible(describe_predicate(found))}\n", "" if found.applied else "dim") for found in query.predicates
    )


def limit_lines(query: QueryStory) -> Segments:
    """One line for each limit of the query."""
    return tuple((f"{visible(describe_limit(limit))}\n", "" if limit.applied else "dim") for limit in query.limits)


def describe_errors(ended: QueryEnded) -> str:
    return f"errors {ended.errors}{f': {visible(ended.bad_conf)}' if ended.bad_conf else ''}"


def _counted(number: int, what: str) -> tuple[str, ...]:
    return (f"{number:,} {what}{'' if number == 1 else 's'}",) if number else ()


_FORCED = "FORCED"
_SHUFFLED_FIRST = "Spark by itself shuffles the probe side before it knows the build side's size, and then broadcasts"
_SMALL_BY_FILTERS = "without the filters of other joins, Spark would not broadcast, but shuffle and sort both sides"
# The nearest; the others are in the event.
_FLIPS_SHOWN = 3


def _choice_cell(join: JoinStory, query: QueryStory) -> Segments:
    decision = join.decision
    cell = [
        (describe_choice(decision), STYLES[decision.choice]),
        (f"\n{visible(describe_choice_reason(decision))}", ""),
    ]
    if forced := _forced_by(decision, query):
        cell.append((f"\n{visible(forced)}", "yellow"))
    if decision.unforced is not None:
        cell.append((f"\n{visible(describe_unforced(decision.unforced))}", ""))
    shuffled = join.saving.shuffle_bytes if join.saving is not None else None
    if join.spares_shuffle:
        cell.append((f"\n{_SHUFFLED_FIRST}", ""))
    elif decision.facts.small_by_filters and decision.facts.spark_strategy == "broadcast" and (shuffled or 0) > 0:
        cell.append((f"\n{_SMALL_BY_FILTERS}", ""))
    if decision.facts.engine:
        cell.append((f"\ncarried out by {visible(decision.facts.engine)}", ""))
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


def _is_estimated(decision: JoinDecision) -> bool:
    """Whether the estimate of what passes has led to a filter, or to none."""
    return decision.build_filter or decision.filter_reason.code == "PASS_RATE_TOO_HIGH"


def _filter_cell(join: JoinStory) -> Segments:
    decision = join.decision
    verb = "filter" if decision.build_filter else "no filter"
    done = {(outcome.filter_id, outcome.table, outcome.scan_columns) for outcome in join.outcomes}
    # Early logs also list filters that scans waited for and the decision then did not want.
    planned = join.filters if decision.build_filter else ()
    pending = (one for one in planned if (one.filter_id, one.table, one.scan_columns) not in done)
    wait = decision.facts.waiting
    is_same = decision.filter_reason == decision.reason
    why = "for the same reason" if is_same else describe_reason(decision.filter_reason)
    return (
        (f"{verb}{', ' if is_same else ': '}{visible(why)}", ""),
        *(((f"\n{visible(describe_wait(wait))}", "dim"),) if wait is not None else ()),
        *(((f"\n{visible(describe_estimate(decision))}", ""),) if _is_estimated(decision) else ()),
        *((f"\n{visible(describe_filter(one))}", "" if one.applied else "yellow") for one in pending),
        *((f"\n{visible(describe_outcome(one))}", "yellow" if one.reason else "green") for one in join.outcomes),
    )
