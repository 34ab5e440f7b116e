"""The head of a history: what its decisions saved or would save, what was lost, and the joins most worth a look."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from aqe_plugin.events.both_ways import MeasuredSaving
from aqe_plugin.events.describe import describe_files, describe_in_place_of
from aqe_plugin.events.effect import Effect
from aqe_plugin.events.quantities import count, quantities, quantity
from aqe_plugin.events.savings import NotedJoin, QuerySaving, Savings, TableRows
from aqe_plugin.render.html import Bars
from aqe_plugin.render.query_text import Segments, query_name, shortened
from aqe_plugin.render.terminal import visible

Rows = tuple[tuple[str, str], ...]

_NOTED = "worth a look"
_COMMAND = "aqe-plugin explain"
_INDENT = "  "
_LONGEST_LABEL = 40
_LONGEST_KEYS = 120
# A difference of fewer standard errors may be chance.
_SURE_ERRORS = 2
# Less is not worth an explanation.
_LONG_LOADING_MILLIS = 200


@dataclass(frozen=True, slots=True)
class Head:
    """A sentence, and below it names with what they are, for a mode each and then for the joins worth a look."""

    heading: str
    rows: Rows


def head_of(savings: Savings, logs: str | None = None) -> Head:
    """The head.

    Args:
        logs: as on the command line, for the commands that show a join; without it there are none.
    """
    total = savings.total
    of = f" of {_number(savings.applications, 'application')}" if savings.applications else ""
    failed = f", {total.failed:,} failed" if total.failed else ""
    decided = f"{_number(total.joins, 'join')} decided, {_changed(savings)} against Spark's own choice"
    rows = [
        *(_applied(savings.applied, savings) if savings.applied.queries else ()),
        *(_observed(savings) if savings.unmeasured.queries else ()),
        *((_NOTED if at == 0 else "", _noted(join, savings, logs)) for at, join in enumerate(savings.noted)),
    ]
    return Head(f"{_number(total.queries, 'query')}{of}{failed}: {decided}", tuple(rows))


def head_lines(head: Head, width: int) -> list[Segments]:
    """The head for a terminal: names in a column, values wrapped beside them, and an empty line below."""
    names = max((len(name) for name, _ in head.rows), default=0)
    lines: list[Segments] = [((line, "bold"),) for line in _wrapped(head.heading, width)]
    for name, value in head.rows:
        first, *rest = (
            part for line in value.splitlines() for part in _wrapped(line, width - names - 2 * len(_INDENT))
        )
        lines.append(((f"{_INDENT}{name:<{names}}{_INDENT}", "dim"), (first, "")))
        lines += [((f"{_INDENT}{'':<{names}}{_INDENT}{line}", ""),) for line in rest]
    return [*lines, (("", ""),)]


def seconds_by_query(queries: tuple[QuerySaving, ...]) -> tuple[Bars, ...]:
    """For each query a bar for its time with the plugin's choices and one for that without, one of them predicted."""

    def bars(one: QuerySaving) -> Bars:
        applied = one.mode == "apply"
        with_it = one.millis - (0.0 if applied else one.saved_millis)
        without = one.millis + (one.saved_millis if applied else 0.0)
        told, other = quantities(with_it, without, "millis")
        predicted = "predicted "
        return Bars(
            f"query {one.execution_id} [{one.mode}] {shortened(query_name(one.description), _LONGEST_LABEL)}".strip(),
            (with_it, without),
            f"{'' if applied else predicted}{told}, {predicted if applied else ''}{other} without",
        )

    return tuple(map(bars, queries))


def rows_by_table(tables: tuple[TableRows, ...]) -> tuple[Bars, ...]:
    """For each table a bar for the rows that filters removed and one for those that they checked."""
    return tuple(
        Bars(one.table, (one.removed, one.checked), f"{quantity(one.removed, 'rows')} of {count(one.checked)} removed")
        for one in tables
    )


def _changed(savings: Savings) -> str:
    applied, observed = savings.applied.changed, savings.observed.changed
    parts = (f"{applied:,} changed" if savings.applied.queries else "", f"{observed:,} would be changed")
    return " and ".join(part for part in parts[: 2 if savings.observed.queries else 1] if part)


def _applied(effect: Effect, savings: Savings) -> Iterator[tuple[str, str]]:
    yield "saved" if effect.net_millis >= 0 else "lost", _saved(effect)
    yield from _processor(effect, "less")
    if (measured := savings.measured) is not None:
        yield "measured", _measured(measured)
    yield from _spared(effect, "checked were removed", "not")
    yield "cost", "; ".join(_cost(effect)) or "nothing that the events know of"


def _measured(measured: MeasuredSaving) -> str:
    """``9.2 s ± 229 ms (standard error) less: 3 runs in apply against the mean of 2 in observe, of 1 query``."""
    less = "less" if measured.saved_millis >= 0 else "more"
    millis = f"{quantity(abs(measured.saved_millis), 'millis')} ± {quantity(measured.error_millis, 'millis')}"
    noise = ", which may be noise" if abs(measured.saved_millis) < _SURE_ERRORS * measured.error_millis else ""
    runs = f"sum of {_number(measured.applied_runs, 'run')} in apply"
    told = f"{millis} (standard error) {less}{noise}: {runs}, each against the mean of its query's runs in observe"
    told += f" ({_number(measured.observed_runs, 'run')} of {_number(measured.queries, 'query')})"
    if measured.unchanged:
        told += f"; {_number(measured.unchanged, 'query')} without a changed join: waits, rules, or the machine"
    if measured.first_runs:
        told += f"; including {_number(measured.first_runs, 'first run')} of an application, which is slower"
    if measured.left_out:
        told += f"; {_number(measured.left_out, 'first run')} of an application left out"
    return told


def _observed(savings: Savings) -> Iterator[tuple[str, str]]:
    effect = savings.unmeasured
    others = "" if effect.queries == savings.observed.queries else "; without the queries measured above"
    yield "would save" if effect.net_millis >= 0 else "would lose", f"{_saved(effect)}{others}"
    yield from _processor(effect, "would be less")
    yield from _spared(effect, "would check would be removed, by estimate", "would not be")
    if cost := "; ".join(_cost(effect)):
        yield "cost", cost


def _processor(effect: Effect, less: str) -> Iterator[tuple[str, str]]:
    if effect.changed:
        saved = effect.processor_millis
        word = less if saved >= 0 else less.replace("less", "more")
        yield (
            "processor",
            f"{quantity(abs(saved), 'millis')} {word} on all cores, net of joins that cost more, predicted",
        )


def _spared(effect: Effect, removed: str, not_: str) -> Iterator[tuple[str, str]]:
    if effect.rows_checked:
        yield "rows", f"{_removed(effect)} that filters {removed}"
    if effect.shuffle_bytes:
        yield "shuffles", f"{quantity(effect.shuffle_bytes, 'bytes')} {not_} written, predicted"
    if unread := _unread(effect):
        yield "reads", f"{unread} {not_} read"


def _saved(effect: Effect) -> str:
    unpriced = f", {_number(effect.unpriced, 'changed join')} without a price" if effect.unpriced else ""
    took = quantity(effect.millis, "millis")
    if not effect.changed:
        return f"nothing, no join changed; the runs took {took}"
    saved = quantity(effect.saved_millis, "millis")
    told, net = f"{saved} predicted by price", quantity(-effect.net_millis, "millis")
    if effect.net_millis < 0:
        told = f"{net} in all, predicted by price: {_lost(effect)}" + (
            f", {saved} saved in others" if effect.saved_millis else ""
        )
    return f"{told}{unpriced}, over all runs, which took {took}"


def _lost(effect: Effect) -> str:
    return f"{quantity(effect.lost_millis, 'millis')} lost in {_number(effect.dearer, 'join')}"


def _removed(effect: Effect) -> str:
    share = quantity(effect.rows_removed / effect.rows_checked, "ratio")
    return f"{count(effect.rows_removed)} of {quantity(effect.rows_checked, 'rows')} ({share})"


def _unread(effect: Effect) -> str:
    size = quantity(effect.left_bytes, "bytes")
    keyless = f"{describe_files(effect.left_files, None)} ({size}) without a key" if effect.left_files else ""
    partitions = (
        f"{quantity(effect.unread_bytes, 'bytes')} of partitions and files, estimated" if effect.unread_bytes else ""
    )
    files = f"{effect.unread_files:,} of {effect.limit_files:,} files below limits" if effect.unread_files else ""
    return " and ".join(part for part in (keyless, partitions, files) if part)


def _cost(effect: Effect) -> Iterator[str]:
    if effect.dearer and effect.net_millis >= 0:
        yield f"{_lost(effect)}, predicted by price"
    if effect.vain_waits:
        yield f"{_number(effect.vain_waits, 'wait')} for nothing, {quantity(effect.vain_millis, 'millis')} long in all"
    if effect.idle_filters:
        yield f"{_number(effect.idle_filters, 'filter')} let every row pass"
    if effect.rule_millis:
        first, in_all = quantities(effect.first_rule_millis, effect.rule_millis, "millis")
        loading = f", {first} of it in first queries of applications, which load classes"
        is_loading = effect.first_rule_millis >= max(_LONG_LOADING_MILLIS, effect.rule_millis / 2)
        yield f"{in_all} in the plugin's rules{loading if is_loading else ''}"
    if effect.missing:
        yield f"{_number(effect.missing, 'planned filter')} not found when scans ran"
    if effect.errors:
        yield _number(effect.errors, "fault") + " of the plugin"
    if effect.failed:
        yield f"{_number(effect.failed, 'query')} failed"


def _noted(join: NotedJoin, savings: Savings, logs: str | None) -> str:
    of = visible(join.application) if savings.applications > 1 else ""
    is_observed = join.mode != "apply"
    passes = ""
    if join.passed is not None and join.expected is not None:
        expected, removed = quantities(1 - join.expected, 1 - join.passed, "ratio")
        rows = quantity(join.rows, "rows")
        passes = f"its filter removed {removed} of {rows}, {expected} was expected"
        if join.unread:
            passes = f"{removed} of {rows} were removed by its filter or not read, {expected} was expected"
    change = "" if join.option is None else describe_in_place_of(join.option, join.spark_strategy)
    millis = quantity(abs(join.saved_millis), "millis")
    what = {
        "saving": f"largest saving, {change}: {'would save' if is_observed else 'saved'} {millis}, predicted",
        "loss": f"largest loss, {change}: {'would cost' if is_observed else 'cost'} {millis} more, predicted; {passes}",
        "wait": f"longest wait for nothing: its probe side waited {quantity(join.waited_millis, 'millis')} for a build "
        "side that it did not use",
        "estimate": f"furthest from its estimate: {passes}",
    }[join.why].removesuffix("; ")
    keys = shortened(visible(", ".join(join.keys)), _LONGEST_KEYS)
    where = f"query {join.execution_id}{f' of {of}' if of else ''}, {keys}"
    if logs is None:
        return f"{what}\n{where}"
    one = f" --application {shlex.quote(of)}" if of else ""
    command = f"{_COMMAND} {shlex.quote(visible(logs))}{one} --query {join.execution_id} --why"
    return f"{what}\n{where}\n{command}"


def _number(number: int, what: str) -> str:
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def _wrapped(text: str, width: int) -> list[str]:
    # A command that is broken cannot be pasted.
    if text.startswith(_COMMAND):
        return [text]
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]
