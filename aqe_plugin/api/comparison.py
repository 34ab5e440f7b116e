"""One query under Spark alone and with the plugin, in turn: its rows, its seconds, and what was done otherwise."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from aqe_plugin.api.same_rows import SIDES, Answers, RowsCompared, Side, compare_rows
from aqe_plugin.api.statement import first_line
from aqe_plugin.api.tables import Shown, Table
from aqe_plugin.errors import StatementError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.quantities import quantity
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.render.query_text import plain, query_summary
from aqe_plugin.render.short_lines import ROW_COLUMNS, rows_of

# Of Student's distribution, for a 95 % interval; by degrees of freedom from 1 on. The last holds for all further ones.
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)

_WORDS = {
    "equal": "Rows equal",
    "differ": "ROWS DIFFER",
    "unsettled": "Rows not comparable",
    "failed": "FAILED with the plugin",
}


class ComparedQuery(Answers, Protocol):
    """A query that can be run on either side."""

    def seconds(self, side: Side) -> float:
        """How long a run takes."""

    def processor_seconds(self) -> float | None:
        """What the tasks of the latest run took of all cores; ``None`` where the session does not tell."""

    def decided(self) -> tuple[QueryStory, ...]:
        """What was decided in the latest run with the plugin."""

    def applied(self) -> tuple[str, ...]:
        """In words, the limits and inferred predicates that were applied."""

    def plan(self, side: Side) -> str:
        """The plans of the query."""


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times as fast the query is with the plugin.

    Attributes:
        times: the geometric mean over pairs of runs.
        interval: the 95 % interval of ``times``; ``None`` for a single pair.
    """

    times: float
    interval: tuple[float, float] | None

    @property
    def is_noise(self) -> bool:
        """Whether the two may as well take equally long."""
        return self.interval is None or self.interval[0] <= 1 <= self.interval[1]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """A query under Spark alone and with the plugin.

    Attributes:
        rows: whether they are equal, and how that is known.
        off_seconds: of each run with the mode ``off``; empty where the rows differ, as is ``apply_seconds``.
        apply_seconds: of each run with the mode ``apply``, in the same pairs.
        off_processor_seconds: of the tasks of each run, on all cores; empty where the session does not tell them or an
            engine works beside them, as is ``apply_processor_seconds``.
        queries: what was decided in the last of these.
        applied: in words, the limits and inferred predicates that were applied.
        remarks: what is to be known of the comparison, in sentences.
        report: where rows differ, examples, the plans of both sides, and decisions; else empty.
    """

    rows: RowsCompared
    off_seconds: tuple[float, ...] = ()
    apply_seconds: tuple[float, ...] = ()
    off_processor_seconds: tuple[float, ...] = ()
    apply_processor_seconds: tuple[float, ...] = ()
    queries: tuple[QueryStory, ...] = ()
    applied: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    report: str = ""

    @property
    def gain(self) -> Gain | None:
        """``None`` without timed runs."""
        return gain_of(self.off_seconds, self.apply_seconds) if self.off_seconds else None

    @property
    def changed(self) -> tuple[JoinStory, ...]:
        """The joins that ran otherwise, or with another filter, than Spark alone would have run them."""
        return tuple(join for query in self.queries for join in query.joins if join.saving is not None)

    def _tables(self) -> tuple[Table, ...]:
        rows = Table(f"{_WORDS[self.rows.verdict]}: {self.rows.found}", notes=self.rows.examples)
        if self.gain is None:
            return (replace(rows, notes=(*rows.notes, *self.remarks)),)
        seconds = Table(
            _in_words(self.gain, len(self.off_seconds)),
            ("mode", "mean", "fastest", "slowest", "runs", *(("processor",) if self.off_processor_seconds else ())),
            (
                _times("off", self.off_seconds, self.off_processor_seconds),
                _times("apply", self.apply_seconds, self.apply_processor_seconds),
            ),
            self.remarks,
        )
        return rows, seconds, self._changes()

    @property
    def suspects(self) -> tuple[JoinStory, ...]:
        """The joins to leave to Spark first if the plugin is too slow: those that changed; else those whose probe side
        waited for nothing; else all."""
        joins = tuple(join for query in self.queries for join in query.joins)
        return self.changed or tuple(join for join in joins if join.vain_millis is not None) or joins

    def _difference(self) -> str:
        """What the difference comes from where no join changed."""
        waited = math.fsum(join.vain_millis or 0.0 for join in self.suspects)
        if waited:
            return f", but probe sides waited {quantity(waited, 'millis')} for build sides that they did not use"
        if self.applied or self.gain is None or self.gain.is_noise:
            return ""
        rules = "" if self.gain.times > 1 else ", or of the plugin's rules (their time is below)"
        return f", so the difference is probably the machine's{rules}"

    def _changes(self) -> Table:
        joins = sum(len(query.joins) for query in self.queries)
        heading = f"{len(self.changed)} of {joins} joins changed" if joins else "No join was decided"
        if joins and not self.changed:
            heading = f"No join of {joins} changed{self._difference()}"
        changed = (replace(one, joins=self.changed, limits=(), predicates=()) for one in self.queries[:1])
        rows = tuple((chosen, what, why) for query in changed for chosen, _, what, why in rows_of(query))
        # In a column of its own an id would be broken, which is there to be pasted.
        ids = tuple(f"id {join.decision.join_id}" for join in self.suspects)
        notes = (*ids, *self.applied, *(plain(query_summary(query)) for query in self.queries))
        return Table(heading, ROW_COLUMNS, rows, notes)


_CACHE = ("It reads a cache, which neither side computes.",)


def compare(query: ComparedQuery, runs: int, progress: Callable[[str], object]) -> Comparison:
    """Runs ``query`` once on each side for its rows, which warms up, then ``runs`` times in turn for its seconds.

    Each pair begins with the side that ended the pair before. Where rows differ, nothing is timed.

    Raises:
        StatementError: the query fails under Spark alone, or is a command that has run.
    """
    if query.shape.is_command:
        raise StatementError("The frame is the answer of a command, which has run: nothing of it can run again.")
    progress("Its rows with the mode off ...")
    try:
        off = query.digest("off")
    except Exception as error:
        raise StatementError(f"The query fails without the plugin: {first_line(error)}") from error
    progress("Its rows with the mode apply ...")
    try:
        apply = query.digest("apply")
    except Exception as error:  # noqa: BLE001 - whatever Spark throws is the finding
        rows = RowsCompared("failed", f"and not without it: {first_line(error)}", off.rows)
    else:
        rows = compare_rows(query, off, apply)
    remarks: tuple[str, ...] = _CACHE if query.shape.reads_cache else ()
    report = "" if rows.verdict == "equal" else _report(query, rows)
    if rows.verdict in ("differ", "failed"):
        return Comparison(rows, remarks=remarks, report=report)
    seconds: dict[Side, list[float]] = {side: [] for side in SIDES}
    processor: dict[Side, list[float]] = {side: [] for side in SIDES}
    for number in range(runs):
        progress(f"Pair {number + 1} of {runs} ...")
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            seconds[side].append(query.seconds(side))
            taken = query.processor_seconds()
            processor[side] += [] if taken is None else [taken]
    off_seconds, apply_seconds = (tuple(seconds[side]) for side in SIDES)
    decided = query.decided()
    engines = {join.decision.facts.engine for story in decided for join in story.joins if join.decision.facts.engine}
    if engines:
        processor = {side: [] for side in SIDES}
        remarks += tuple(
            f"{engine} works outside of Spark's tasks, so there are no processor times." for engine in sorted(engines)
        )
    off_processor, apply_processor = (tuple(processor[side]) for side in SIDES)
    return Comparison(
        rows,
        off_seconds,
        apply_seconds,
        off_processor,
        apply_processor,
        decided,
        query.applied(),
        remarks,
        report,
    )


def gain_of(off: Sequence[float], apply: Sequence[float]) -> Gain:
    """The gain of pairs of runs; its interval takes the logarithms of their ratios as normal."""
    ratios = [math.log(slow / fast) for slow, fast in zip(off, apply, strict=True)]
    middle, freedom = statistics.fmean(ratios), len(ratios) - 1
    if freedom == 0:
        return Gain(math.exp(middle), None)
    reach = _STUDENT[min(freedom, len(_STUDENT)) - 1] * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return Gain(math.exp(middle), (math.exp(middle - reach), math.exp(middle + reach)))


def _in_words(gain: Gain, pairs: int) -> str:
    times = f"{gain.times:.2f} times as fast with the plugin"
    if gain.interval is None:
        return f"No difference shown: {times}, and a single pair of runs tells nothing from noise; more runs: --runs."
    low, high = gain.interval
    if gain.is_noise:
        between = f"the 95 % interval of {pairs} pairs of runs, {low:.2f} to {high:.2f}, holds 1"
        return f"No difference shown: {times}, and {between}; more runs: --runs."
    return f"{times} (95 % interval of {pairs} pairs of runs: {low:.2f} to {high:.2f}), more than noise"


def _times(side: Side, seconds: Sequence[float], processor: Sequence[float]) -> tuple[str, ...]:
    """The means are geometric, so that the gain is their ratio."""
    found = (statistics.geometric_mean(seconds), min(seconds), max(seconds))
    taken = (f"{statistics.fmean(processor):.2f} s",) if processor else ()
    return (side, *(f"{one:.2f} s" for one in found), str(len(seconds)), *taken)


def _report(query: ComparedQuery, rows: RowsCompared) -> str:
    plans = (f"\n==== mode {side} ====\n{query.plan(side)}" for side in SIDES)
    decisions = (json.dumps(encode(one)) for one in query.decided())
    lines = (f"{_WORDS[rows.verdict]}: {rows.found}", *rows.examples, *plans, "\n==== decisions ====", *decisions)
    return "".join(f"{line}\n" for line in lines)
