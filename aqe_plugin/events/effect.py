"""What one query's decisions did or, in mode observe, would have done, as far as its events know; the rest is not
claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from operator import add, attrgetter

from aqe_plugin.events.join_option import taken_by
from aqe_plugin.events.model import FilterOutcome, JoinSaving, LimitDecided, Mode
from aqe_plugin.events.queries import JoinStory, QueryStory

NO_SAVING = JoinSaving("", True, 0.0, 0.0, 0.0, 0.0)
"""Of a join that ran as Spark runs it by itself."""

# Fewer of a scan's rows than expected may not have been there at all; else they were left out with their files.
_LEAST_LEFT_OUT = 0.05


@dataclass(frozen=True, slots=True)
class Effect:
    """What the decisions of some queries did; effects can be added. Only of queries that succeeded, from ``millis`` on.

    Attributes:
        queries: all of them, with those that ``failed``, and those whose end is not known.
        changed: joins that ran otherwise than Spark by itself runs them.
        errors: faults of the plugin.
        missing: filters that were planned and that their scan did not find.
        millis: the time of the queries.
        rows_checked: by filters, with the ``rows_removed`` of them; in mode observe as estimated.
        shuffle_bytes: predicted not to have been written.
        unread_bytes: estimated, of partitions and files that filters left out, each join by itself; without the
            ``left_bytes`` of ``left_files`` that scans counted.
        unread_files: left out by limits, of ``limit_files``.
        saved_millis: predicted, of the joins that became cheaper; ``lost_millis`` of the ``dearer`` ones.
        processor_millis: what both come to in time of all cores.
        unpriced: joins that changed by an unknown price.
        idle_filters: filters that let every row pass, and left out no files.
        vain_waits: probe sides that waited ``vain_millis`` for a build side and did not use it.
        rule_millis: in the plugin's own rules; ``first_rule_millis`` of it in the first query of each application,
            which loads classes.
    """

    queries: int = 0
    failed: int = 0
    joins: int = 0
    changed: int = 0
    errors: int = 0
    missing: int = 0
    millis: int = 0
    rows_checked: float = 0
    rows_removed: float = 0
    shuffle_bytes: float = 0
    unread_bytes: float = 0
    left_files: int = 0
    left_bytes: int = 0
    unread_files: int = 0
    limit_files: int = 0
    saved_millis: float = 0
    lost_millis: float = 0
    processor_millis: float = 0
    dearer: int = 0
    unpriced: int = 0
    idle_filters: int = 0
    vain_waits: int = 0
    vain_millis: float = 0
    rule_millis: int = 0
    first_rule_millis: int = 0

    def __add__(self, other: Effect) -> Effect:
        return Effect(*map(add, _numbers(self), _numbers(other)))

    @property
    def net_millis(self) -> float:
        """What was saved less what was lost, by price."""
        return self.saved_millis - self.lost_millis


_numbers = attrgetter(*(one.name for one in fields(Effect)))


def effect_of(story: QueryStory) -> Effect:
    """The effect of one query's decisions: what they did or, in mode observe, would have done."""
    ended = story.ended
    effect = Effect(
        queries=1,
        failed=int(story.error is not None),
        joins=len(story.joins),
        errors=max(0, ended.errors) if ended is not None else 0,
        missing=max(0, ended.planned - ended.applied) if ended is not None else 0,
    )
    millis = story.succeeded_in_millis
    if millis is None or ended is None:
        return effect
    effect += Effect(millis=millis, rule_millis=max(0, ended.rule_millis))
    for limit in story.limits:
        effect += _of_limit(limit)
    for join in story.joins:
        effect += _of_join(join, story.mode, ended.savings is not None)
    return effect


def _of_join(join: JoinStory, mode: Mode, knows_savings: bool) -> Effect:
    decision, facts = join.decision, join.decision.facts
    saving = join.saving or NO_SAVING
    changed = join.saving is not None if knows_savings else _is_changed(join, mode)
    saved, files = _finite(saving.elapsed_millis), max(0, join.files_left_out[0])
    if mode == "apply":
        checked = sum(max(0, one.rows_in) for one in join.worked)
        removed: float = sum(max(0, one.rows_removed) for one in join.worked)
    else:
        checked = max(0, facts.probe.scan_rows) if decision.build_filter else 0
        removed = checked * min(1.0, max(0.0, 1 - decision.pass_rate))
    return Effect(
        changed=int(changed),
        rows_checked=checked,
        rows_removed=removed,
        shuffle_bytes=_positive(saving.shuffle_bytes),
        unread_bytes=0.0 if files else _positive(saving.unread_bytes),
        left_files=files,
        left_bytes=sum(max(0, one.bytes_left_out or 0) for one in join.worked),
        saved_millis=max(0.0, saved),
        lost_millis=max(0.0, -saved),
        processor_millis=_finite(saving.processor_millis),
        dearer=int(saved < 0),
        unpriced=int(changed and (join.saving is None or saving.elapsed_millis is None)),
        idle_filters=sum(_is_idle(one, join) for one in join.outcomes if one.kind != "missing"),
        vain_waits=int(join.vain_millis is not None),
        vain_millis=_positive(join.vain_millis),
    )


def _is_changed(join: JoinStory, mode: Mode) -> bool:
    """Whether the join ran or, in mode observe, would have run otherwise than by Spark itself."""
    option = join.ran_as(mode) if mode == "apply" else taken_by(join.decision)
    return option is not None and option != join.ran_as("observe")


def _is_idle(outcome: FilterOutcome, join: JoinStory) -> bool:
    """Whether the filter let every row pass, and left out no files."""
    if outcome.reason is not None:
        return True
    if outcome.files_left_out:
        return False
    rows = join.measured
    left_out = 0.0 if rows is None else 1 - rows[1] / rows[0]
    return outcome.rows_in > 0 and outcome.rows_removed <= 0 and left_out < _LEAST_LEFT_OUT


def _finite(number: float | None) -> float:
    return number if number is not None and math.isfinite(number) else 0.0


def _positive(number: float | None) -> float:
    return max(0.0, _finite(number))


def _of_limit(limit: LimitDecided) -> Effect:
    chosen = limit.decision.choice != "leave_to_spark" and (limit.applied or limit.mode != "apply")
    files = max(0, limit.decision.facts.files)
    left_out = max(0, files - limit.decision.files_chosen)
    return Effect(unread_files=left_out, limit_files=files) if chosen else Effect()
