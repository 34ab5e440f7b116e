"""Decisions and their outcomes as sentences; layout is up to the caller."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from aqe_plugin.events.join_option import JoinOption, taken_by
from aqe_plugin.events.model import (
    CostTerm,
    FilterOutcome,
    FilterPlanned,
    FlipPoint,
    JoinDecision,
    JoinFacts,
    LimitDecided,
    Mode,
    PredicateInferred,
    Reason,
    Strategy,
    Unforced,
    WaitDecision,
)
from aqe_plugin.events.quantities import count, quantities, quantity, told_apart
from aqe_plugin.events.queries import JoinStory

_STRATEGIES = {
    "broadcast": "broadcast",
    "shuffled_hash": "shuffled hash",
    "filtered_sort_merge": "filtered sort-merge",
    "plain_sort_merge": "plain sort-merge",
    "leave_to_spark": "left to Spark",
}
# Spark has one sort-merge join; what the plugin does not price is a join of another kind, or a choice still to be made.
_NOT_PRICED = "another method"
_OF_SPARK = {
    **_STRATEGIES,
    "filtered_sort_merge": "sort-merge",
    "plain_sort_merge": "sort-merge",
    "leave_to_spark": _NOT_PRICED,
}
_LIMITS = {
    "collect": "limit of the query",
    "inner": "limit inside the query",
    "top": "first rows of a sort",
}
_INFERRED = {
    "EQUAL_COLUMN": "an equal column",
    "OR_OVER_SIDES": "an OR over both sides",
    "INEQUALITY": "an inequality",
}
_LIMIT_CHOICES = {
    "fewest_files": "fewest files",
    "waves": "files in waves",
    "top_files": "files of the first rows",
    "leave_to_spark": "left to Spark",
}


@cache
def reason_meanings() -> Mapping[str, str]:
    """Reason code → meaning, as the Scala side defines them."""
    table = json.loads((Path(__file__).parent / "reason_codes.json").read_text(encoding="utf-8"))
    return {entry["code"]: entry["meaning"] for entry in table["codes"]}


def describe_reason(reason: Reason) -> str:
    """The meaning of the code, then the numbers: ``… (CODE: 12.3 MiB against 10.0 MiB, spark.aqePlugin.…)``."""
    details = ", ".join(part for part in (reason.subject, describe_numbers(reason), reason.conf_key) if part)
    meaning = reason_meanings().get(reason.code, "a reason unknown to this version of aqe-plugin")
    return f"{meaning} ({reason.code}{': ' if details else ''}{details})"


_EITHER_PRICE = "of Spark's own method, else of the next cheapest"


def describe_choice_reason(decision: JoinDecision) -> str:
    """The reason of the choice, which says whose the second price is, where it has one."""
    told, facts = describe_reason(decision.reason), decision.facts
    spark = [one.cost_millis for one in decision.options if _OF_SPARK[one.strategy] == _OF_SPARK[facts.spark_strategy]]
    is_spark = _OF_SPARK[decision.choice] != _OF_SPARK[facts.spark_strategy] and decision.reason.limit in spark
    return told.replace(_EITHER_PRICE, "of Spark's own method" if is_spark else "of the next cheapest")


def describe_numbers(reason: Reason) -> str:
    """The numbers of a reason, which look different where they differ: ``12.3 MiB against 10.0 MiB``."""
    if reason.measured is None or reason.limit is None:
        return "".join(quantity(one, reason.unit) for one in (reason.measured, reason.limit) if one is not None)
    measured, limit = quantities(reason.measured, reason.limit, reason.unit)
    if reason.unit == "files":
        return f"{measured.rpartition(' ')[0]} of {limit}"
    if reason.code == "FILTER_PAYS":
        return f"{measured} with it, {limit} without"
    return f"{measured} against {limit}"


def describe_strategy(strategy: Strategy, with_filter: bool = False) -> str:
    """The name of the strategy, with its filter where the name does not include one."""
    added = " with filter" if with_filter and strategy != "filtered_sort_merge" else ""
    return _STRATEGIES[strategy] + added


def _describe_fully(strategy: Strategy, with_filter: bool) -> str:
    """The name of the strategy, which also says that there is no filter."""
    lacks = not with_filter and strategy != "plain_sort_merge"
    return describe_strategy(strategy, with_filter) + (" without filter" if lacks else "")


def describe_choice(decision: JoinDecision) -> str:
    """What Spark by itself does with the join, and what the plugin chose: ``Spark: sort-merge → plugin: broadcast with
    filter``, or ``Spark's sort-merge, kept`` where nothing changes."""
    own, is_left = _OF_SPARK[decision.facts.spark_strategy], decision.choice == "leave_to_spark"
    if not decision.build_filter and (is_left or _OF_SPARK[decision.choice] == own):
        return f"Spark's {'own method' if own == _NOT_PRICED else own}, kept"
    chosen = "the same with filter" if is_left else describe_strategy(decision.choice, decision.build_filter)
    return f"Spark: {own} → plugin: {chosen}"


def describe_in_place_of(option: JoinOption, spark_strategy: Strategy) -> str:
    """What runs, and what Spark by itself runs: ``broadcast with filter in place of Spark's sort-merge``."""
    own = "what Spark does" if spark_strategy == "leave_to_spark" else f"Spark's {_OF_SPARK[spark_strategy]}"
    return f"{describe_strategy(option.strategy, option.with_filter)} in place of {own}"


def reason_words(reason: Reason) -> str:
    """The meaning of the code without any number: its first clause."""
    return reason_meanings().get(reason.code, reason.code).partition(";")[0]


def options_not_taken(decision: JoinDecision) -> list[str]:
    """One line per rejected option: ``not …``, predicted cost, reason; options alike in both share a line. None for one
    that was not even priced, for the reason of the choice."""
    chosen = taken_by(decision)
    names: dict[tuple[float | None, Reason], list[str]] = {}
    for option in decision.options:
        is_unseen = option.cost_millis is None and option.reason == decision.reason
        if JoinOption(option.strategy, option.with_filter) != chosen and not is_unseen:
            differs_in_filter = chosen is not None and option.strategy == chosen.strategy and decision.build_filter
            describe = _describe_fully if differs_in_filter else describe_strategy
            name = describe(option.strategy, option.with_filter)
            names.setdefault((option.cost_millis, option.reason), []).append(name)
    return [
        f"{_none_of(alike)}{_after_comma(_predicted(cost_millis))}: {describe_reason(reason)}"
        for (cost_millis, reason), alike in names.items()
    ]


def _none_of(names: Sequence[str]) -> str:
    return f"{'not' if len(names) == 1 else 'neither'} {' nor '.join(names)}"


# Of the chosen option's price; smaller terms are added up.
_LEAST_SHARE_SHOWN = 0.01
# Less would read as 0 ms.
_LEAST_MILLIS_SHOWN = 0.5


def describe_price(decision: JoinDecision) -> str:
    """The predicted cost of the chosen option and its parts, which add up to it, largest first: ``predicted 812 ms:
    shuffle 600 ms, sort 200 ms, 2 smaller 12 ms``.

    Of a join that is left to Spark, that of Spark's own method. Empty when the option has no price.
    """
    chosen = taken_by(decision)
    taken = next((one for one in decision.options if JoinOption(one.strategy, one.with_filter) == chosen), None)
    if taken is None or taken.cost_millis is None:
        return ""
    terms = sorted(taken.terms or (), key=lambda term: term.nanos, reverse=True)
    least = max(_LEAST_SHARE_SHOWN * taken.cost_millis, _LEAST_MILLIS_SHOWN)
    parts = [f"{term.name} {quantity(_millis(term), 'millis')}" for term in terms if _millis(term) > least]
    smaller = [_millis(term) for term in terms if 0 < _millis(term) <= least]
    if smaller:
        parts.append(f"{len(smaller)} smaller {quantity(sum(smaller), 'millis')}")
    return _predicted(taken.cost_millis) + (f": {', '.join(parts)}" if parts else "")


def _millis(term: CostTerm) -> float:
    return term.nanos / 1e6


_FACTS = {
    "build_rows": "build rows",
    "build_row_bytes": "bytes a build row",
    "probe_rows": "probe rows",
    "build_table_rows": "rows in the build side's table",
}


def describe_flip(flip: FlipPoint) -> str:
    """The value of a flip point and the decision from there on: ``at most 81.0 k build rows (1.2 M now): broadcast
    without filter``, ``spark.aqePlugin.broadcast.maxRows at least 6.0 M rows (5.0 M rows now): broadcast with filter``.
    """
    bound = "at least" if flip.value > flip.actual else "at most"
    named = _describe_fully(flip.choice, flip.with_filter)
    if flip.fact in _FACTS:
        value, actual = told_apart(count, flip.value, flip.actual)
        return f"{bound} {value} {_FACTS[flip.fact]} ({actual} now): {named}"
    value, actual = quantities(flip.value, flip.actual, flip.unit)
    return f"{flip.fact} {bound} {value} ({actual} now): {named}"


def _predicted(cost_millis: float | None) -> str:
    return "" if cost_millis is None else f"predicted {quantity(cost_millis, 'millis')}"


def _after_comma(text: str) -> str:
    return f", {text}" if text else ""


def describe_join(facts: JoinFacts) -> str:
    """Kind, keys, and the sizes of both sides."""
    kind = facts.kind.replace("_", " ")
    rows, table = quantity(facts.build.rows, "rows"), facts.build.origin_rows
    of = "" if table is None else f" of {count(table)}{_from(facts.build.origin_rows_source)}"
    build = f"{rows}{of}, {quantity(facts.build.memory_bytes, 'bytes')} in memory"
    probe = f"about {quantity(facts.probe.rows, 'rows')}{_from(facts.probe.rows_source)}"
    sides = (
        f"build side {facts.build_side}: {build if facts.build.rows >= 0 else 'size unknown'}",
        f"probe side: {probe if facts.probe.rows >= 0 else 'size unknown'}",
    )
    return "; ".join((f"{kind} join on {', '.join(facts.keys)}", *sides))


def _from(source: str | None) -> str:
    return f" ({source})" if source else ""


def describe_filter(planned: FilterPlanned) -> str:
    """The scan of a planned filter, and why the filter is or is not in the plan."""
    scan = f"{planned.table}({', '.join(planned.scan_columns)})"
    return f"{scan}: {'' if planned.applied else 'not applied, '}{describe_reason(planned.reason)}"


_WAIT_ENDS = {
    "used": "used",
    "unused": "not used",
    "released": "released before the build side had finished",
}


def describe_wait(wait: WaitDecision) -> str:
    """Whether the probe side waited for this build side, and why; how long, how long the build side was estimated to
    take, and how the wait ended: ``the probe side waited 1.2 s for a build side of an estimated 900 ms, used: …
    (WAIT_PAYS: …)``. Of a wait without an end, as in mode observe, it is not said that the probe side waited.
    """
    if not wait.waits and wait.outcome is None:
        return f"the probe side did not wait for this build side: {describe_reason(wait.reason)}"
    took = "" if wait.waited_millis is None else f" {quantity(wait.waited_millis, 'millis')}"
    estimated = "" if wait.build_millis is None else f" of an estimated {_told(wait.build_millis)}"
    ended = "" if wait.outcome is None else f", {_WAIT_ENDS[wait.outcome]}"
    did = "would wait" if wait.outcome is None else "waited"
    return f"the probe side {did}{took} for a build side{estimated}{ended}: {describe_reason(wait.reason)}"


def _told(millis: float) -> str:
    return quantity(millis, "millis") if millis >= _LEAST_MILLIS_SHOWN else "less than 1 ms"


def describe_estimate(decision: JoinDecision) -> str:
    """What the filter was expected to remove: ``expected to remove 97.1 % (key_range)``."""
    removed = quantity(1 - decision.pass_rate, "ratio")
    return f"expected to remove {removed}{_from(decision.pass_rate_source)}"


def describe_outcome(outcome: FilterOutcome) -> str:
    """What a filter removed from one scan, and its cost."""
    scan = f"{outcome.table}({', '.join(outcome.scan_columns)})"
    if outcome.kind == "missing":
        return f"{scan}: planned, but not found when the scan ran; all rows passed"
    waited = f"the scan had its filters {quantity(outcome.wait_millis, 'millis')} after the query's start"
    if outcome.reason is not None:
        return f"{scan}: all rows passed, {describe_reason(outcome.reason)}; {waited}"
    removed = quantity(outcome.rows_removed / outcome.rows_in, "ratio") if outcome.rows_in else "nothing"
    rows = f"{count(outcome.rows_in)} → {quantity(outcome.rows_out, 'rows')}, {removed} removed"
    if outcome.any_of is not None:
        is_first = outcome.any_of == outcome.filter_id
        rows = f"a union with other uses' filters, {rows}" if is_first else "in the union of another filter"
    if outcome.files_left_out:
        size = quantity(outcome.bytes_left_out or 0, "bytes")
        of = "" if outcome.files_listed is None else f" of {count(outcome.files_listed)}"
        rows += f"; files without a key not read: {count(outcome.files_left_out)}{of} ({size})"
    if outcome.files_kept is not None:
        rows += f"; all files read, {describe_reason(outcome.files_kept)}"
    cost = f"{outcome.kind} of {quantity(outcome.keys, 'keys')}, {quantity(outcome.filter_bytes, 'bytes')}"
    return f"{scan}: {rows}; {cost}, built in {quantity(outcome.build_millis, 'millis')}, {waited}"


# A smaller share of unchecked rows is not worth a word.
_FEW = 0.01


def describe_filtering(join: JoinStory, mode: Mode) -> str:
    """What a join's filter left out of all its scans and removed from them or, where that was not measured, why not or
    what was expected."""
    decision, rows, files = join.decision, join.reached, describe_files(*join.files_left_out)
    if rows is not None:
        removed = quantity(max(0.0, 1 - rows[1] / rows[0]), "ratio")
        unchecked = sum(outcome.rows_unchecked for outcome in join.worked)
        paused = f", {quantity(unchecked, 'rows')} not checked" if unchecked > _FEW * rows[0] else ""
        of = f"{removed} of {'the other ' if files else ''}{quantity(rows[0], 'rows')}{paused}"
        return f"filter left out {files} and removed {of}" if files else f"filter removed {of}"
    stopped = next((one.reason for one in join.outcomes if one.reason is not None), None)
    if stopped is not None:
        return reason_words(stopped)
    if any(one.kind == "missing" for one in join.outcomes):
        return "the filter was not found when the scan ran"
    if join.outcomes:
        return f"filter left out {files}, no row reached it" if files else "no row reached its filter"
    if mode == "apply" and join.filters and not any(one.applied for one in join.filters):
        return reason_words(join.filters[0].reason)
    removed, of = quantity(1 - decision.pass_rate, "ratio"), quantity(decision.facts.probe.scan_rows, "rows")
    return f"filter {'is expected to' if mode == 'apply' else 'would'} remove {removed} of {of}"


def describe_files(left_out: int, listed: int | None) -> str:
    """``278 of 300 files``; empty if none were left out."""
    of = "" if listed is None else f" of {count(listed)}"
    return f"{count(left_out)}{of} {'file' if max(left_out, listed or 0) == 1 else 'files'}" if left_out > 0 else ""


def describe_loss(join: JoinStory, mode: Mode) -> str:
    """By how much the join became dearer than Spark's own plan; empty if it did not."""
    saved = join.saving.elapsed_millis if join.saving is not None else None
    if saved is None or not saved <= -_LEAST_MILLIS_SHOWN:
        return ""
    return (
        f"{'cost' if mode == 'apply' else 'would cost'} {quantity(-saved, 'millis')} more than Spark's own, predicted"
    )


def describe_unforced(unforced: Unforced) -> str:
    """What would have been decided of a join that is forced, and why."""
    chosen = describe_strategy(unforced.choice, unforced.build_filter)
    filtered = f"{'filter' if unforced.build_filter else 'no filter'}: {describe_reason(unforced.filter_reason)}"
    return f"if it were not forced: {chosen}: {describe_reason(unforced.reason)}; {filtered}"


def describe_predicate(predicate: PredicateInferred) -> str:
    """The predicate, its scan, and how it follows."""
    not_applied = "" if predicate.applied else ", not applied"
    return f"scan of {predicate.table}: {predicate.predicate}, from {_INFERRED[predicate.inferred_by]}{not_applied}"


def describe_limit_choice(limit: LimitDecided) -> str:
    """What the scan below the limit reads."""
    return _LIMIT_CHOICES[limit.decision.choice]


def describe_limit(limit: LimitDecided) -> str:
    """The limit, its choice with the reason, and what was read."""
    decision, facts = limit.decision, limit.decision.facts
    table = f" on {facts.table}" if facts.table else ""
    what = f"{_LIMITS[facts.operator]}, {quantity(facts.rows_wanted, 'rows')}{table}"
    chosen = f"{describe_limit_choice(limit)}: {describe_reason(decision.reason)}"
    if limit.outcome is None:
        return f"{what}; {chosen}"
    read = f"{quantity(limit.outcome.rows_read, 'rows')} read"
    if decision.choice == "leave_to_spark":
        return f"{what}; {chosen}; {read}"
    files = f"{decision.files_chosen:,} of {quantity(facts.files, 'files')} chosen"
    return f"{what}; {chosen}; {files}{'' if limit.applied else ', not applied'}, {read}"
