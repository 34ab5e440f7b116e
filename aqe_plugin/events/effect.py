"""What one query's decisions did or, in mode observe, would have done, as far as its events know; the rest is not
claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from operator import add, attrgetter

from aqe_plugin.events.join_option import JoinOption
from aqe_plugin.events.model import BuildFacts, JoinDecision, LimitDecided, Mode
from aqe_plugin.events.queries import JoinStory, QueryStory
from aqe_plugin.events.saved_price import is_changed, option_of, predicted_saving

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
        unread_bytes: estimated, of partitions that filters left out.
        unread_files: left out by limits, of ``limit_files``.
        saved_millis: predicted, of the joins that became cheaper; ``lost_millis`` of the ``dearer`` ones.
        unpriced: joins that changed by an unknown price.
        idle_filters: filters that let every row pass, and left out no files.
        vain_waits: probe sides that waited ``vain_millis`` for a build side and did not use it.
        rule_millis: in the plugin's own rules.
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
    unread_files: int = 0
    limit_files: int = 0
    saved_millis: float = 0
    lost_millis: float = 0
    dearer: int = 0
    unpriced: int = 0
    idle_filters: int = 0
    vain_waits: int = 0
    vain_millis: float = 0
    rule_millis: int = 0

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
        changed=sum(is_changed(join, story.mode) for join in story.joins),
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
        effect += _of_join(join, story.mode)
    return effect


def _of_join(join: JoinStory, mode: Mode) -> Effect:
    decision, facts, wait = join.decision, join.decision.facts, join.decision.facts.waiting
    saved = predicted_saving(join, mode)
    checked, removed, share, left_out = _filtered(join, mode)
    in_vain = wait is not None and wait.outcome in ("unused", "released")
    idle = sum(
        one.reason is not None or (one.rows_in > 0 and one.rows_removed <= 0 and left_out < _LEAST_LEFT_OUT)
        for one in join.outcomes
        if one.kind != "missing"
    )
    return Effect(
        rows_checked=checked,
        rows_removed=removed,
        shuffle_bytes=_not_shuffled(decision, option_of(join, mode), share),
        unread_bytes=left_out * max(0, facts.probe.prunable_bytes or 0),
        saved_millis=max(0.0, saved or 0.0),
        lost_millis=max(0.0, -(saved or 0.0)),
        dearer=int((saved or 0.0) < 0),
        unpriced=int(saved is None and is_changed(join, mode)),
        idle_filters=idle,
        vain_waits=int(in_vain),
        vain_millis=_positive(wait.waited_millis) if wait is not None and in_vain else 0.0,
    )


def _filtered(join: JoinStory, mode: Mode) -> tuple[float, float, float, float]:
    """The rows that the join's filter checked and removed, and of the scan's rows the shares that it removed one by one
    and that did not pass, which files left out are a part of."""
    decision, rows = join.decision, join.measured
    if mode != "apply":
        share = min(1.0, max(0.0, 1 - decision.pass_rate)) if decision.build_filter else 0.0
        checked = max(0, decision.facts.probe.scan_rows) if decision.build_filter else 0
        return checked, share * checked, share, share
    checked = sum(max(0, one.rows_in) for one in join.worked)
    removed = sum(max(0, one.rows_removed) for one in join.worked)
    if rows is None:
        return checked, removed, 0.0, 0.0
    return checked, removed, min(1.0, removed / rows[0]), min(1.0, max(0.0, 1 - rows[1] / rows[0]))


def _not_shuffled(decision: JoinDecision, option: JoinOption | None, removed: float) -> float:
    """The bytes that shuffles between the scans and the join did not write, as the price counts shuffles.

    A filter takes the share ``removed`` from each, and a broadcast in place of Spark's shuffle the join's own.
    """
    facts, probe = decision.facts, decision.facts.probe
    compressed = _compressed_share(facts.build)
    if compressed is None or option is None:
        return 0.0
    path = probe.path or ()
    below = [_bytes(step.rows, step.row_bytes or 0) for step in path if step.work == "shuffle"]
    own = _bytes(probe.rows, probe.row_bytes)
    shuffles = max(0, probe.exchanges - len(below))
    is_new = option.strategy == "broadcast" and facts.spark_strategy != "broadcast" and not facts.order_used
    avoided = min(shuffles, int(is_new)) * own
    spared = next((step.share for step in path if step.work == "shared" and step.share is not None), 1.0)
    reduced = (shuffles * own - avoided + math.fsum(below)) * removed
    return compressed * (avoided * min(1.0, _positive(spared)) + reduced)


def _compressed_share(build: BuildFacts) -> float | None:
    """Bytes that the build side's stage wrote for a byte in memory, at most 1; ``None`` where no shuffle wrote it."""
    if build.already_broadcast or build.memory_bytes <= 0 or build.stage_bytes <= 0:
        return None
    return min(1.0, build.stage_bytes / build.memory_bytes)


def _bytes(rows: int, row_bytes: int) -> float:
    return float(max(0, rows)) * max(0, row_bytes)


def _positive(number: float | None) -> float:
    return max(0.0, number) if number is not None and math.isfinite(number) else 0.0


def _of_limit(limit: LimitDecided) -> Effect:
    chosen = limit.decision.choice != "leave_to_spark" and (limit.applied or limit.mode != "apply")
    files = max(0, limit.decision.facts.files)
    left_out = max(0, files - limit.decision.files_chosen)
    return Effect(unread_files=left_out, limit_files=files) if chosen else Effect()
