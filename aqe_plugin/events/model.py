"""What the plugin decided, why, and what came of it: plain values, read from its events.

Names are those of the Scala side (``decide/JoinFacts.scala``, ``JoinDecision.scala``, ``Reason.scala``) in snake case.
The decision is made there alone; nothing here decides. A number that nobody measured is ``None``, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "BuildFacts",
    "ClusterFacts",
    "ExecutionEnded",
    "ExecutionStarted",
    "FilterOutcome",
    "FilterPlanned",
    "JoinDecided",
    "JoinDecision",
    "JoinFacts",
    "JoinKind",
    "KeyBucket",
    "KeyFacts",
    "PluginMode",
    "ProbeFacts",
    "QueryEnded",
    "Reason",
    "Side",
    "Strategy",
    "WaitDecision",
    "WeighedOption",
]


class JoinKind(str, Enum):
    """How a join combines its two sides."""

    INNER = "inner"
    LEFT_OUTER = "left_outer"
    RIGHT_OUTER = "right_outer"
    FULL_OUTER = "full_outer"
    LEFT_SEMI = "left_semi"
    LEFT_ANTI = "left_anti"
    NULL_AWARE_ANTI = "null_aware_anti"
    EXISTENCE = "existence"


class Side(str, Enum):
    """One of the two inputs of a join."""

    LEFT = "left"
    RIGHT = "right"


class Strategy(str, Enum):
    """How a join runs."""

    BROADCAST = "broadcast"
    FILTERED_SORT_MERGE = "filtered_sort_merge"
    PLAIN_SORT_MERGE = "plain_sort_merge"
    LEAVE_TO_SPARK = "leave_to_spark"


class PluginMode(str, Enum):
    """How far the plugin went: not at all, deciding without changing a plan, or all the way."""

    OFF = "off"
    OBSERVE = "observe"
    APPLY = "apply"


class TrialArm(str, Enum):
    """Which side of a trial a query was on: with every value that is tried, with none, or with some of its user's."""

    CANARY = "canary"
    CONTROL = "control"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was, or was not, done.

    Attributes:
        code: stable name; ``reason_codes.json`` has its meaning.
        measured: the value that was looked at.
        limit: what it was held against.
        unit: unit of both (``bytes``, ``rows``, ``millis``, ``ratio``, …), empty without a number.
        conf_key: the conf key that moves the limit, empty when none does.
    """

    code: str
    measured: float | None
    limit: float | None
    unit: str
    conf_key: str


@dataclass(frozen=True, slots=True)
class KeyBucket:
    """One bucket of an equi-height histogram: keys in ``[low, high]`` stand for ``rows`` rows."""

    low: int
    high: int
    rows: int


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known of one side's join keys; ``origin_distinct`` counts those of the table that the keys come from."""

    columns: int
    supported: bool
    distinct: int | None
    nulls: int | None
    min: int | None
    max: int | None
    histogram: tuple[KeyBucket, ...]
    origin_distinct: int | None


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """The finished build side.

    Attributes:
        rows: rows the stage wrote, negative when not known.
        stage_bytes: bytes it wrote, compressed for a shuffle.
        memory_bytes_per_row: bytes of one row in memory, uncompressed.
        origin_rows: rows of the table that the keys come from, before filters and joins removed any.
        already_broadcast: the build side is a finished broadcast relation, not a shuffle.
    """

    rows: int
    stage_bytes: int
    memory_bytes_per_row: int
    partitions: int
    max_partition_bytes: int
    median_partition_bytes: int
    origin_rows: int | None
    already_broadcast: bool
    keys: KeyFacts

    @property
    def memory_bytes(self) -> int:
        """What the rows take in memory, before any hash table around them."""
        return max(0, self.rows) * self.memory_bytes_per_row


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    """The side that is probed, as estimated before it runs.

    Attributes:
        rows: estimated rows that reach the join.
        scan_rows: estimated rows of the scans that a filter can reach, negative when not known.
        row_bytes: bytes of one row in memory.
        exchanges: shuffles between the scans and the join, the join's own included.
        started: the probe side ran already, so nothing could be saved on it.
        targets: scans that the keys reach.
    """

    rows: int
    scan_rows: int
    row_bytes: int
    exchanges: int
    started: bool
    targets: int
    keys: KeyFacts | None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The machines the query ran on: tasks at once, and executors a broadcast goes to."""

    slots: int
    executors: int


@dataclass(frozen=True, slots=True)
class WaitDecision:
    """Whether a probe side was held back until its build side was done.

    Attributes:
        saving_millis: elapsed time that the finished build side was expected to save.
        idle_millis: elapsed time that slots were expected to stand idle for it.
    """

    waits: bool
    reason: Reason
    saving_millis: float
    idle_millis: float


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """Everything a decision looked at, apart from the thresholds.

    Attributes:
        join_id: the same for one join through all re-plans of one query.
        hint: the user's own join hint.
        spark_strategy: what Spark would do by itself.
        filter_obstacle: code of what the plan has against a filter, ``None`` when nothing.
        waiting: whether the probe side was to be held back, ``None`` when the build side was done by then.
    """

    join_id: str
    kind: JoinKind
    keys: tuple[str, ...]
    build_side: Side
    build: BuildFacts
    probe: ProbeFacts
    cluster: ClusterFacts
    hint: str | None
    spark_strategy: Strategy
    can_broadcast: bool
    filter_obstacle: str | None
    waiting: WaitDecision | None


@dataclass(frozen=True, slots=True)
class WeighedOption:
    """One option that was weighed; without a cost it was ruled out before it was priced."""

    strategy: Strategy
    with_filter: bool
    cost_millis: float | None
    reason: Reason


@dataclass(frozen=True, slots=True)
class JoinDecision:
    """What was decided for one join.

    Attributes:
        choice: the strategy.
        reason: why that one.
        build_filter: whether the build side's keys become a filter in the probe side's scans.
        filter_reason: why they do, or do not.
        pass_rate: estimated share of probe rows that a filter would let through.
        options: every option with its price and reason, the chosen one included.
    """

    facts: JoinFacts
    choice: Strategy
    reason: Reason
    build_filter: bool
    filter_reason: Reason
    pass_rate: float
    options: tuple[WeighedOption, ...]


@dataclass(frozen=True, slots=True)
class FilterPlanned:
    """One filter on one scan, as planned with a decision; ``reason`` says why it is, or is not, in the plan."""

    filter_id: str
    join_id: str
    table: str
    scan_columns: tuple[str, ...]
    applied: bool
    reason: Reason


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What one filter on one scan did, summed over all tasks of the query.

    Attributes:
        kind: ``empty``, ``exact``, ``range_bitmap``, ``split_block_bloom``; ``pass_all`` when none could be built,
            ``missing`` when the scan did not find it, which is a fault.
        reason: why it passed everything, ``None`` when it worked.
        rows_in: rows the filter checked.
        rows_out: rows it let through.
        batches_skipped: batches that passed unchecked while it rested, having removed too little.
        wait_millis: time from the query's start to the moment the scan had its filters, the same for all of one scan;
            what the scan would have waited for anyway is in it.
        keys: build rows with a key.
    """

    filter_id: str
    join_id: str
    table: str
    scan_columns: tuple[str, ...]
    kind: str
    reason: Reason | None
    rows_in: int
    rows_out: int
    batches_skipped: int
    filter_bytes: int
    build_millis: int
    wait_millis: int
    keys: int

    @property
    def rows_removed(self) -> int:
        """Rows that went no further than the scan."""
        return self.rows_in - self.rows_out


@dataclass(frozen=True, slots=True)
class JoinDecided:
    """Event: one join of one query was decided; written once, whatever number of times Spark re-plans."""

    schema_version: int
    execution_id: int
    time_millis: int
    mode: PluginMode
    decision: JoinDecision
    filters: tuple[FilterPlanned, ...]
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class QueryEnded:
    """Event: a query with decisions ended.

    Attributes:
        duration_millis: wall time of the query.
        rule_millis: time spent in the plugin's own rules, all re-plans together.
        planned: filters in the plan that ran.
        applied: those that their scan found when it ran; fewer than planned is a fault.
        errors: errors in the plugin that left Spark's own plan in force.
        arm: the side of a trial that it was on, ``None`` when nothing was tried.
    """

    schema_version: int
    execution_id: int
    time_millis: int
    duration_millis: int
    rule_millis: int
    planned: int
    applied: int
    errors: int
    outcomes: tuple[FilterOutcome, ...]
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """Spark's own event: a query began; ``description`` is what Spark's UI shows for it."""

    execution_id: int
    description: str
    time: int


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """Spark's own event: a query ended; ``error_message`` is empty or absent when it succeeded."""

    execution_id: int
    time: int
    error_message: str | None
