package io.aqeplugin.decide

import io.aqeplugin.conf.{Named, Names}

/** What a [[ReasonCode]] explains. */
sealed abstract class ReasonTopic(val name: String)

object ReasonTopic {
  case object Strategy extends ReasonTopic("strategy")
  case object Filter extends ReasonTopic("filter")
  case object Wait extends ReasonTopic("wait")
  case object Limit extends ReasonTopic("limit")
  case object Any extends ReasonTopic("any")
}

/** Stable codes. `name` is logged, and its meaning never changes once it is released.
  *
  * @param meaning
  *   one line for users
  */
sealed abstract class ReasonCode(val name: String, val topic: ReasonTopic, val meaning: String) extends Named

object ReasonCode extends Names[ReasonCode] {
  import ReasonTopic._

  // Why a strategy was taken or not.
  case object Cheapest extends ReasonCode(
        "CHEAPEST",
        Strategy,
        "the cheapest option that fits into memory; the second price is of Spark's own method, else of the next cheapest"
      )
  case object Costlier extends ReasonCode("COSTLIER", Strategy, "another option is cheaper")
  case object Tie extends ReasonCode("TIE", Any, "the two prices are too close to tell which is lower, so the plan stays as it is")
  case object Hint extends ReasonCode("HINT", Strategy, "the user's own join hint fixes the strategy")
  case object BroadcastMemory extends ReasonCode("BROADCAST_MEMORY", Strategy, "the build side takes too much memory to be broadcast")
  case object BroadcastRows extends ReasonCode("BROADCAST_ROWS", Strategy, "the build side has too many rows to be broadcast")
  case object BroadcastWidth
      extends ReasonCode(
        "BROADCAST_WIDTH",
        Strategy,
        "the build side has columns of unmeasured width, and Spark would not broadcast it by itself"
      )
  case object BroadcastJoinType extends ReasonCode(
        "BROADCAST_JOIN_TYPE",
        Strategy,
        "this side may not be broadcast: the join type forbids it, or autoBroadcastJoinThreshold is switched off"
      )
  case object MoreWriteTasks extends ReasonCode(
        "MORE_WRITE_TASKS",
        Strategy,
        "the tasks of the join write its rows, and without the probe side's shuffle they may be more, and so may the files"
      )
  case object ShuffledHashMemory
      extends ReasonCode(
        "SHUFFLED_HASH_MEMORY",
        Strategy,
        "the build side may take more memory than a task is sure to get, or its size in memory is unknown"
      )
  case object ShuffledHashJoinType
      extends ReasonCode("SHUFFLED_HASH_JOIN_TYPE", Strategy, "the plugin does not hash this side of a join of this type")
  case object AlreadyBroadcast
      extends ReasonCode("ALREADY_BROADCAST", Strategy, "the build side is broadcast already, so the join stays a broadcast join")
  case object OtherStrategy
      extends ReasonCode("OTHER_STRATEGY", Strategy, "Spark keeps a strategy that the plugin does not change")
  case object ProbeStarted extends ReasonCode("PROBE_STARTED", Any, "the probe side has started, so nothing can be saved on it")
  case object FactsMissing extends ReasonCode("FACTS_MISSING", Any, "the row counts that the price depends on are unknown")

  // Why the build side's keys became a filter or not.
  case object FilterPays extends ReasonCode("FILTER_PAYS", Filter, "the rows a filter removes cost more than building and checking it")
  case object FilterCostsMore
      extends ReasonCode("FILTER_COSTS_MORE", Filter, "building and checking a filter costs more than the rows it removes")
  case object PassRateTooHigh extends ReasonCode("PASS_RATE_TOO_HIGH", Filter, "too many probe rows would pass the filter")
  case object TooFewRows extends ReasonCode("TOO_FEW_ROWS", Filter, "the scans produce too few rows for a filter to pay")
  case object FilterTooBig extends ReasonCode("FILTER_TOO_BIG", Filter, "the filter would be larger than the limit")
  case object JoinType extends ReasonCode("JOIN_TYPE", Filter, "the join keeps probe rows that have no partner")
  case object UnsupportedKeyType extends ReasonCode("UNSUPPORTED_KEY_TYPE", Filter, "a key column has a type that filters do not support")
  case object KeyNotPlain
      extends ReasonCode("KEY_NOT_PLAIN", Filter, "a key is neither a column nor a deterministic expression of Spark's of one column")
  case object NonDeterministic
      extends ReasonCode("NON_DETERMINISTIC", Filter, "the build side may give different rows when it runs again")
  case object NoTargetScan
      extends ReasonCode("NO_TARGET_SCAN", Filter, "the keys reach neither a scan nor an exchange below the probe side")
  case object NoBuildExchange
      extends ReasonCode("NO_BUILD_EXCHANGE", Filter, "the build side is not the output of a shuffle or broadcast that could be read twice")
  case object ReusedExchange
      extends ReasonCode("REUSED_EXCHANGE", Filter, "another part of the plan uses the scan's output and needs other rows too")
  case object UnionOfUses
      extends ReasonCode(
        "UNION_OF_USES",
        Filter,
        "Spark runs the scan once for several uses, and a row stays if it passes the filter of one of them"
      )
  case object ReuseOff extends ReasonCode("REUSE_OFF", Filter, "exchange reuse is switched off, so the build side would run twice")
  case object CacheNotLoaded
      extends ReasonCode(
        "CACHE_NOT_LOADED",
        Filter,
        "the build side reads a cached table that is not loaded yet, and would load it once per filter"
      )
  case object AlreadyFilteredBySpark
      extends ReasonCode("ALREADY_FILTERED_BY_SPARK", Filter, "Spark already put its own runtime filter for these keys there")
  case object MaxFiltersPerScan
      extends ReasonCode(
        "MAX_FILTERS_PER_SCAN",
        Filter,
        "the scan already has the maximum number of filters, all with a lower pass rate"
      )
  case object MaxFiltersPerPlan
      extends ReasonCode(
        "MAX_FILTERS_PER_PLAN",
        Filter,
        "the plan already has the maximum number of filters, or of operators in copies of their build sides, all with a lower pass rate"
      )
  case object ForeignNode
      extends ReasonCode(
        "FOREIGN_NODE",
        Any,
        "the join is, or lies above, an operator that is neither Spark's nor the plugin's, so it is left alone"
      )
  case object RepeatedRequest
      extends ReasonCode("REPEATED_REQUEST", Filter, "this query already requested the same filter and did not get it")
  case object FilterReady
      extends ReasonCode(
        "FILTER_READY",
        Any,
        "the build side and its filter existed already, made for another part of the plan, and were used"
      )
  case object BuildTimeout extends ReasonCode("BUILD_TIMEOUT", Filter, "the filter was not ready in time, so every row passes")
  case object BuildFailed extends ReasonCode("BUILD_FAILED", Filter, "the filter could not be built, so every row passes")
  case object GatesOpen extends ReasonCode("GATES_OPEN", Any, "a test switched the price checks off: everything legal is done")
  case object Forced extends ReasonCode("FORCED", Any, "the user forces this join to one option, whether or not it pays")
  case object MemoryBudget
      extends ReasonCode(
        "MEMORY_BUDGET",
        Any,
        "the broadcasts and filters of the application's running queries leave too little memory for it"
      )

  // Why the probe side waited or not.
  case object WaitPays
      extends ReasonCode("WAIT_PAYS", Wait, "the expected saving exceeds the price of idle slots")
  case object NotWorthWaiting extends ReasonCode("NOT_WORTH_WAITING", Wait, "the idle slots would cost more than the expected saving")
  case object WaitTooLong extends ReasonCode("WAIT_TOO_LONG", Wait, "the wait would leave the slots idle for too long")
  case object WaitReleased
      extends ReasonCode(
        "WAIT_RELEASED",
        Wait,
        "the slots would be idle for longer than the saving is worth, or the wait reached its limit, so the probe side started"
      )
  case object NothingToGain
      extends ReasonCode("NOTHING_TO_GAIN", Wait, "neither a filter nor a new broadcast would save anything, so a wait gains nothing")

  // What a limit reads, and why.
  case object EnoughRows extends ReasonCode("ENOUGH_ROWS", Limit, "footers prove that the chosen files hold all rows that the limit takes")
  case object RowsNotProven
      extends ReasonCode("ROWS_NOT_PROVEN", Limit, "the footers that were read prove too few matching rows for the limit")
  case object AllFilesNeeded extends ReasonCode("ALL_FILES_NEEDED", Limit, "the limit needs every file of the scan")
  case object TopRows extends ReasonCode("TOP_ROWS", Limit, "the other files' values of the sort key come after the first rows")
  case object RangesOverlap
      extends ReasonCode("RANGES_OVERLAP", Limit, "the files' known values of the sort key overlap, so each may hold one of the first rows")
  case object SortKeyType
      extends ReasonCode("SORT_KEY_TYPE", Limit, "the first sort key is no plain column of a type that footers order as Spark does")
  case object LimitOperatorBelow
      extends ReasonCode("LIMIT_OPERATOR_BELOW", Limit, "an operator between the limit and the scan needs more rows than the limit takes")
  case object LimitNonDeterministic
      extends ReasonCode(
        "LIMIT_NON_DETERMINISTIC",
        Limit,
        "a filter or column below the limit may have another value when it runs again"
      )
  case object LimitMayFail
      extends ReasonCode(
        "LIMIT_MAY_FAIL",
        Limit,
        "a filter or column below the limit may fail on a row that Spark would not have read"
      )
  case object LimitSource
      extends ReasonCode(
        "LIMIT_SOURCE",
        Limit,
        "the limit reads no Parquet or ORC files of Spark's own reader that can be chosen one by one"
      )
  case object FilesMayBeSkipped
      extends ReasonCode("FILES_MAY_BE_SKIPPED", Limit, "the session skips missing or corrupt files, so row counts prove nothing")

  // Why a decision was not carried out.
  case object ObserveMode extends ReasonCode("OBSERVE_MODE", Any, "the plugin only observes: the decision was recorded but not carried out")

  /** Every code, in the order of the documentation. */
  val All: Seq[ReasonCode] = Seq(
    Cheapest,
    Costlier,
    Tie,
    Hint,
    BroadcastMemory,
    BroadcastRows,
    BroadcastWidth,
    BroadcastJoinType,
    MoreWriteTasks,
    ShuffledHashMemory,
    ShuffledHashJoinType,
    AlreadyBroadcast,
    OtherStrategy,
    ProbeStarted,
    FactsMissing,
    FilterPays,
    FilterCostsMore,
    PassRateTooHigh,
    TooFewRows,
    FilterTooBig,
    JoinType,
    UnsupportedKeyType,
    KeyNotPlain,
    NonDeterministic,
    NoTargetScan,
    NoBuildExchange,
    ReusedExchange,
    UnionOfUses,
    ReuseOff,
    CacheNotLoaded,
    AlreadyFilteredBySpark,
    MaxFiltersPerScan,
    MaxFiltersPerPlan,
    ForeignNode,
    RepeatedRequest,
    FilterReady,
    BuildTimeout,
    BuildFailed,
    GatesOpen,
    Forced,
    MemoryBudget,
    WaitPays,
    NotWorthWaiting,
    WaitTooLong,
    WaitReleased,
    NothingToGain,
    EnoughRows,
    RowsNotProven,
    AllFilesNeeded,
    TopRows,
    RangesOverlap,
    SortKeyType,
    LimitOperatorBelow,
    LimitNonDeterministic,
    LimitMayFail,
    LimitSource,
    FilesMayBeSkipped,
    ObserveMode
  )
}
