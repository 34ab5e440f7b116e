"""The plugin's decisions, their reasons and their outcomes, as values read from its events.

Names are those of the Scala side in snake case; ``event_schema.json``, which the Scala side generates, describes every
field. Nothing here decides. A number that was not measured is ``None``, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["off", "observe", "apply"]
"""Whether the plugin does nothing, decides without changing plans, or changes plans."""

Strategy = Literal["broadcast", "shuffled_hash", "filtered_sort_merge", "plain_sort_merge", "leave_to_spark"]
"""How a join runs."""

JoinKind = Literal[
    "inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti", "null_aware_anti", "existence"
]
"""How a join combines its two sides."""

Side = Literal["left", "right"]
"""One of the two inputs of a join."""

WaitEnd = Literal["used", "unused", "released"]
"""How a wait for a build side ended."""

TrialArm = Literal["canary", "control", "own"]
"""The arm of a trial: with all tried values, with none of them, or with some values of the user's own."""

LimitOperator = Literal["collect", "inner", "top"]
"""The operator that takes the first rows of a query."""

LimitChoice = Literal["fewest_files", "waves", "top_files", "leave_to_spark"]
"""What the scan below a limit reads."""

InferredBy = Literal["EQUAL_COLUMN", "OR_OVER_SIDES", "INEQUALITY"]
"""How a predicate of one side of a join follows from the query's conditions."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was, or was not, done.

    Attributes:
        code: stable name; ``reason_codes.json`` has its meaning.
        measured: the measured value, compared with ``limit``.
        unit: unit of both (``bytes``, ``rows``, ``millis``, ``ratio``, …), empty without a number.
        conf_key: the conf key of the limit, empty when there is none.
        subject: the name of what the reason is about, such as the class of an operator.
    """

    code: str
    measured: float | None
    limit: float | None
    unit: str
    conf_key: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class KeyBucket:
    """One bucket of an equi-height histogram: keys in ``[low, high]`` stand for ``rows`` rows."""

    low: int
    high: int
    rows: int


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The join keys of one side; old logs lack the last five.

    Attributes:
        origin_distinct: distinct keys of the table that the keys come from.
        kept: whether the driver has every distinct key.
        as_range: whether a filter holds only the least and the greatest value.
        by_row: whether hash joins look the only column up as a row, because it is not an integer.
        hashed: whether filters hash the only column, because their codes are not its values.
        computed: number of keys that a scan computes from a column.
    """

    columns: int
    supported: bool
    distinct: int | None
    nulls: int | None
    min: int | None
    max: int | None
    histogram: tuple[KeyBucket, ...]
    origin_distinct: int | None
    kept: bool | None
    as_range: bool | None
    by_row: bool | None
    hashed: bool | None
    computed: int | None


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """The finished build side; negative ``rows`` are not known; old logs lack the last three.

    Attributes:
        origin_rows_source: what ``origin_rows`` was taken from.
        exchanges: shuffles that the build side still goes through unless it is broadcast.
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
    unmeasured_columns: int | None = None
    origin_rows_source: str | None = None
    exchanges: int | None = None

    @property
    def memory_bytes(self) -> int:
        """Bytes of the rows in memory, without a hash table."""
        return max(0, self.rows) * self.memory_bytes_per_row


@dataclass(frozen=True, slots=True)
class PathStep:
    """Work for the rows of the probe side before they reach the join; only some kinds have each size.

    Attributes:
        work: ``shuffle``, ``sort``, ``merge``, ``lookup``, ``broadcast`` or ``group``; or ``shared``, the join's own
            shuffle, which Spark runs once for several uses; or ``filter_source``, the build side of a join below that
            filters other scans.
        rows: estimated rows that go into it.
        row_bytes: of a shuffle, a broadcast and a filter source, bytes of one row in memory.
        partitions: of a sort, the partitions that are sorted each by itself.
        table_rows: of a lookup, estimated rows of one hash table.
        table_row_bytes: of a lookup, bytes of one row of the table in memory.
        by_row: of a lookup, its key is a row and no number, or a condition is checked for every match.
        probe_rows: of a broadcast, estimated rows that are looked up at random in its table; of a filter source,
            estimated rows of the scans that it filters.
        keys: of a filter source, the number of keys that these scans have.
        scan_bytes: of what is shared, estimated bytes that the scans read.
        share: of what is shared, the part that is spared if the join does without; 0 if another use needs it anyway.
    """

    work: str
    rows: int
    row_bytes: int | None = None
    partitions: int | None = None
    table_rows: int | None = None
    table_row_bytes: int | None = None
    by_row: bool | None = None
    probe_rows: int | None = None
    keys: int | None = None
    scan_bytes: int | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class SampledKeys:
    """Sampled rows of the probe side's only scan.

    Attributes:
        matches: those of them whose key is one of the build side's.
        independent_rows: so many rows, drawn one by one, would say as much; fewer where rows side by side have similar
            keys.
    """

    rows: int
    matches: int
    independent_rows: float


@dataclass(frozen=True, slots=True)
class KeylessFiles:
    """Files of the probe side's only scan that hold no build key, estimated by the bounds of some files.

    Attributes:
        bytes: what the scan reads of them; ``share`` is their part of all that it reads.
        files: their number; absent in old logs, and where the number of all is not known.
    """

    bytes: int
    share: float
    files: int | None = None


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    """The probe side, estimated before it runs; negative ``scan_rows`` are not known; old logs lack the last ten.

    Attributes:
        rows_source: the least sure of what ``rows`` was taken from.
        scan_rows_source: the same of ``scan_rows``.
        prunable_bytes: bytes of files that a filter can leave out, because a key is a partition column.
        prunable_files: their number, where it is known.
        other_uses_pass_rate: share of the rows that must pass for other uses of a shared scan.
        path: the operators between the scans and the join, without its own shuffle and sort.
        scan_rows_before: ``scan_rows`` without the filters of other joins, if these are counted in.
        before_exchange: the keys reach no scan that could be filtered, but inputs of exchanges.
        sample: of a large scan, if it is the only one and each build key is known.
        keyless: of the only scan, likewise, if bounds of its files tell of any.
        changed: whether a command changes the table.
    """

    rows: int
    scan_rows: int
    row_bytes: int
    exchanges: int
    started: bool
    targets: int
    keys: KeyFacts | None
    rows_source: str | None = None
    scan_rows_source: str | None = None
    prunable_bytes: int | None = None
    prunable_files: int | None = None
    other_uses_pass_rate: float | None = None
    path: tuple[PathStep, ...] | None = None
    scan_rows_before: int | None = None
    before_exchange: bool | None = None
    sample: SampledKeys | None = None
    keyless: KeylessFiles | None = None
    changed: bool | None = None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The cluster that the query ran on: number of concurrent tasks, and of executors that receive a broadcast."""

    slots: int
    executors: int


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """The memory for filters and for broadcasts that Spark would not make: its limit, and what queries held.

    ``task_bytes``: what a task was sure to get of its executor's execution memory, less ``hashed_bytes``, which the
    query's other shuffled hash joins held of it. ``page_bytes``: the page that Spark takes at a time for a hash table
    of rows. Absent in old logs.
    """

    limit_bytes: int
    held_bytes: int
    task_bytes: int | None = None
    hashed_bytes: int | None = None
    page_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class WaitDecision:
    """Whether the probe side waited for the build side, with the estimated times, and how the wait ended.

    Old logs lack the estimated duration of the build side and the outcome.
    """

    waits: bool
    reason: Reason
    saving_millis: float
    idle_millis: float
    build_millis: float | None = None
    outcome: WaitEnd | None = None
    waited_millis: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the probe side waits or has waited, if its query is in mode apply."""
        return self.waits or self.outcome is not None


@dataclass(frozen=True, slots=True)
class LookFacts:
    """What a plan reads whose joins were not looked at; in ``joined_``, rows count once for every join they pass.

    ``files`` are those beyond the first of each table; ``lookups`` are made in small tables that Spark broadcasts.
    """

    joins: int
    rows: int
    bytes: int
    joined_rows: int
    joined_bytes: int
    slots: int
    files: int | None = None
    lookups: int | None = None


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """Everything that a decision depends on, apart from the thresholds."""

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
    memory: MemoryFacts | None = None
    order_used: bool | None = None
    written: bool | None = None
    small_by_filters: bool | None = None
    engine: str | None = None
    look: LookFacts | None = None


@dataclass(frozen=True, slots=True)
class CostTerm:
    """One part of a predicted cost."""

    name: str
    nanos: float


@dataclass(frozen=True, slots=True)
class WeighedOption:
    """One option; without a cost it was ruled out before its cost was predicted; old logs lack the cost's ``terms``."""

    strategy: Strategy
    with_filter: bool
    cost_millis: float | None
    reason: Reason
    terms: tuple[CostTerm, ...] | None = None


@dataclass(frozen=True, slots=True)
class Unforced:
    """What the model decides of a forced join by the same facts; a probe side that was forced to start counts as
    waiting."""

    choice: Strategy
    reason: Reason
    build_filter: bool
    filter_reason: Reason


@dataclass(frozen=True, slots=True)
class JoinDecision:
    """The decision for one join.

    Attributes:
        build_filter: whether the keys of the build side become a filter in the scans of the probe side.
        pass_rate: estimated share of probe rows that pass the filter.
        pass_rate_source: what that share was estimated from; ``None`` in events of older jars.
        options: every option with its predicted cost and reason, the chosen one included.
        unforced: of a join that is forced, what would have been decided otherwise; absent in old logs.
    """

    facts: JoinFacts
    choice: Strategy
    reason: Reason
    build_filter: bool
    filter_reason: Reason
    pass_rate: float
    pass_rate_source: str | None
    options: tuple[WeighedOption, ...]
    unforced: Unforced | None = None

    @property
    def join_id(self) -> str:
        """The join's id, by which ``spark.aqePlugin.force`` names it."""
        return self.facts.join_id


@dataclass(frozen=True, slots=True)
class FilterPlanned:
    """One filter in one place, as planned; ``reason`` says why it is, or is not, in the plan."""

    filter_id: str
    join_id: str
    table: str
    scan_columns: tuple[str, ...]
    applied: bool
    reason: Reason


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """The outcome of one filter in one place, summed over all tasks of the query.

    Attributes:
        kind: ``empty``, ``exact``, ``range_bitmap``, ``split_block_bloom``, ``range``; ``pass_all`` when none could
            be built, ``missing`` when the scan did not find it, which is a fault.
        reason: why all rows passed, ``None`` when the filter worked.
        rows_unchecked: rows that passed unchecked: while the filter was paused because it removed too little, or
            because their key could not be computed.
        wait_millis: time from the start of the query until the scan had its filters, including time that the scan
            would have waited anyway.
        keys: build rows with a key.
        any_of: the first filter of the union that the filter is part of, which has the union's rows; ``None`` if it
            stands alone.
        files_left_out: data files that the scan did not read because they hold none of the keys; ``None`` if not known.
        bytes_left_out: of these files.
        files_kept: why the scan read all files although its keys are known.
        files_listed: data files that the scan would have read without leaving out any; absent in old logs.
    """

    filter_id: str
    join_id: str
    table: str
    scan_columns: tuple[str, ...]
    kind: str
    reason: Reason | None
    rows_in: int
    rows_out: int
    rows_unchecked: int
    filter_bytes: int
    build_millis: int
    wait_millis: int
    keys: int
    any_of: str | None = None
    files_left_out: int | None = None
    bytes_left_out: int | None = None
    files_kept: Reason | None = None
    files_listed: int | None = None

    @property
    def rows_removed(self) -> int:
        """Rows that the filter removed."""
        return self.rows_in - self.rows_out


@dataclass(frozen=True, slots=True)
class FlipPoint:
    """The value of a fact or a threshold from which on a join's decision is another one, if nothing else changes.

    Attributes:
        fact: ``build_rows``, ``build_row_bytes``, ``probe_rows`` or ``build_table_rows``, or the conf key of a
            threshold that refused an option.
        actual: the value in the decision.
        value: the nearest value with another decision, at most 1 % off.
        choice: the decision there.
    """

    join_id: str
    fact: str
    unit: str
    actual: float
    value: float
    choice: Strategy
    with_filter: bool


@dataclass(frozen=True, slots=True)
class JoinSaving:
    """What a join saved that ran, or in mode observe would have run, otherwise than Spark runs it by itself.

    Predicted by the prices of its decision, at the share of rows that its filters left.

    Attributes:
        applied: whether it ran so; in mode observe it would have.
        elapsed_millis: negative when the join became dearer, ``None`` when the rows of the build side are unknown.
        processor_millis: of all cores, likewise.
        shuffle_bytes: not written.
        unread_bytes: of partitions and files that were left out, estimated; joins over one scan may count the same.
        spares_shuffle: the probe side waited for a broadcast of Spark's own, before which Spark would have shuffled it.
    """

    join_id: str
    applied: bool
    elapsed_millis: float | None
    processor_millis: float | None
    shuffle_bytes: float
    unread_bytes: float
    spares_shuffle: bool | None = None


@dataclass(frozen=True, slots=True)
class PluginEvent:
    """What every event of the plugin begins with: the version of its members, its query, and when it was written."""

    schema_version: int
    execution_id: int
    time_millis: int


@dataclass(frozen=True, slots=True)
class JoinDecided(PluginEvent):
    """Event: one join of one query was decided; written once, however often Spark re-plans."""

    mode: Mode
    decision: JoinDecision
    filters: tuple[FilterPlanned, ...]
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class QueryEnded(PluginEvent):
    """Event: a query with decisions ended.

    Attributes:
        duration_millis: elapsed time of the query.
        rule_millis: time spent in the plugin's own rules, all re-plans together.
        planned: filters in the plan that ran.
        applied: planned filters that their scan found when it ran; fewer than planned is a fault.
        errors: errors in the plugin that left Spark's own plan in force.
        arm: the query's arm, ``None`` without a canary.
        bad_conf: what is wrong with the query's conf, ``None`` unless the plugin left the query alone for it.
        flips: where the decisions of the query's joins change; ``None`` in events of older jars.
        savings: of the joins that changed; ``None`` in events of older jars.
    """

    duration_millis: int
    rule_millis: int
    planned: int
    applied: int
    errors: int
    outcomes: tuple[FilterOutcome, ...]
    arm: TrialArm | None = None
    bad_conf: str | None = None
    flips: tuple[FlipPoint, ...] | None = None
    savings: tuple[JoinSaving, ...] | None = None


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """What was known of a limit; ``rows_wanted`` includes the rows that an offset skips."""

    operator: LimitOperator
    table: str
    rows_wanted: int
    files: int
    bytes: int
    footers: int
    footer_millis: int


@dataclass(frozen=True, slots=True)
class LimitDecision:
    """The decision for one limit.

    ``rows_proven`` rows of the chosen files pass the query's filters for certain; it is 0 for a sorted limit.
    """

    facts: LimitFacts
    choice: LimitChoice
    reason: Reason
    files_chosen: int
    rows_proven: int


@dataclass(frozen=True, slots=True)
class LimitOutcome:
    """What the scan of a limit read; ``splits`` is ``None`` when Spark started them."""

    files_listed: int
    rows_read: int
    splits: int | None


@dataclass(frozen=True, slots=True)
class LimitDecided(PluginEvent):
    """Event: one limit of one query; written when the query has ended.

    Attributes:
        mode: the lesser of the plugin's mode and that of limits.
        applied: whether the plan reads what was chosen.
        outcome: ``None`` when the limit is not directly over a scan of files.
    """

    mode: Mode
    applied: bool
    decision: LimitDecision
    outcome: LimitOutcome | None
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class PredicateInferred(PluginEvent):
    """Event: one predicate was inferred across a join for the scan of ``table``; ``applied`` if it is in the plan."""

    mode: Mode
    table: str
    predicate: str
    inferred_by: InferredBy
    applied: bool
    arm: TrialArm | None = None


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """Spark's own event: a query began; ``description`` is what Spark's UI shows for it.

    Attributes:
        plan_parts: what its plan computes; empty when the log does not say.
        force: what the session, other than its application, sets ``spark.aqePlugin.force`` to; ``None`` without that.
        root_execution_id: the outermost query that this one belongs to, maybe itself; old Sparks do not say it.
    """

    execution_id: int
    description: str
    time: int
    plan_parts: tuple[str, ...] = ()
    force: str | None = None
    root_execution_id: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """Spark's own event: a query ended; ``error_message`` is empty or absent when it succeeded."""

    execution_id: int
    time: int
    error_message: str | None
