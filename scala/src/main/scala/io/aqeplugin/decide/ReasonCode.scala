package io.aqeplugin.decide

import io.aqeplugin.conf.{DefinedNames, Named}

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
final class ReasonCode private (val name: String, val topic: ReasonTopic, val meaning: String) extends Named with Serializable {
  private def readResolve(): AnyRef = ReasonCode.fromName(name).getOrElse(this)
  override def toString: String = name
}

object ReasonCode extends DefinedNames[ReasonCode] {
  import ReasonTopic._

  // Why a strategy was taken or not.
  val Cheapest = code("CHEAPEST", Strategy)(
    "the cheapest option that fits into memory; the second price is of Spark's own method, else of the next cheapest"
  )
  val Costlier = code("COSTLIER", Strategy)("another option is cheaper")
  val Tie = code("TIE", Any)("the two prices are too close to tell which is lower, so the plan stays as it is")
  val Hint = code("HINT", Strategy)("the user's own join hint fixes the strategy")
  val CommandHint = code(
    "COMMAND_HINT",
    Strategy
  )("the command's own plan, as that of a MERGE, forbids a broadcast of one side, so the method is left to Spark")
  val BroadcastMemory = code("BROADCAST_MEMORY", Strategy)("the build side takes too much memory to be broadcast")
  val BroadcastRows = code("BROADCAST_ROWS", Strategy)("the build side has too many rows to be broadcast")
  val BroadcastWidth = code("BROADCAST_WIDTH", Strategy)(
    "the build side has columns of unmeasured width, and Spark would not broadcast it by itself"
  )
  val BroadcastJoinType = code("BROADCAST_JOIN_TYPE", Strategy)(
    "this side may not be broadcast: the join type forbids it, or autoBroadcastJoinThreshold is switched off"
  )
  val MoreWriteTasks = code("MORE_WRITE_TASKS", Strategy)(
    "the tasks of the join write its rows, and without the probe side's shuffle they may be more, and so may the files"
  )
  val ShuffledHashMemory = code("SHUFFLED_HASH_MEMORY", Strategy)(
    "the build side may take more memory than a task is sure to get, or its size in memory is unknown"
  )
  val ShuffledHashJoinType = code("SHUFFLED_HASH_JOIN_TYPE", Strategy)("the plugin does not hash this side of a join of this type")
  val AlreadyBroadcast = code("ALREADY_BROADCAST", Strategy)("the build side is broadcast already, so the join stays a broadcast join")
  val OtherStrategy = code("OTHER_STRATEGY", Strategy)("Spark keeps a strategy that the plugin does not change")
  val ProbeStarted = code("PROBE_STARTED", Any)("the probe side has started, so nothing can be saved on it")
  val NotWorthLooking = code("NOT_WORTH_LOOKING", Any)(
    "not looked at: the joins can save less than a look costs; by the rows and bytes that their plan reads, all joins together"
  )
  val FactsMissing = code("FACTS_MISSING", Any)("the row counts that the price depends on are unknown")

  // Why the build side's keys became a filter or not.
  val FilterPays =
    code("FILTER_PAYS", Filter)("the rows and the reading of files that a filter spares cost more than building and checking it")
  val FilterCostsMore =
    code("FILTER_COSTS_MORE", Filter)("building and checking a filter costs more than the rows and the reading of files that it spares")
  val PassRateTooHigh = code("PASS_RATE_TOO_HIGH", Filter)("too many probe rows would pass the filter")
  val TooFewRows = code("TOO_FEW_ROWS", Filter)("the scans produce too few rows for a filter to pay")
  val FilterTooBig = code("FILTER_TOO_BIG", Filter)("the filter would be larger than the limit")
  val JoinType = code("JOIN_TYPE", Filter)(
    "the join keeps probe rows that have no partner, as an outer join does, or a MERGE with WHEN NOT MATCHED BY SOURCE"
  )
  val UnsupportedKeyType = code("UNSUPPORTED_KEY_TYPE", Filter)("a key column has a type that filters do not support")
  val EngineKey = code("ENGINE_KEY", Filter)(
    "an engine carries the plan out, and a key is no column of integers, dates, timestamps or strings, by which it filters"
  )
  val KeyNotPlain = code("KEY_NOT_PLAIN", Filter)("a key is neither a column nor a deterministic expression of Spark's of one column")
  val NonDeterministic = code("NON_DETERMINISTIC", Filter)("the build side may give different rows when it runs again")
  val NoTargetScan = code("NO_TARGET_SCAN", Filter)("the keys reach neither a scan nor an exchange below the probe side")
  val NoBuildExchange = code("NO_BUILD_EXCHANGE", Filter)(
    "the build side is not the output of a shuffle or broadcast that could be read twice"
  )
  val ReusedExchange = code("REUSED_EXCHANGE", Filter)("another part of the plan uses the scan's output and needs other rows too")
  val UnionOfUses = code("UNION_OF_USES", Filter)(
    "Spark runs the scan once for several uses, and a row stays if it passes the filter of one of them"
  )
  val ReuseOff = code("REUSE_OFF", Filter)("exchange reuse is switched off, so the build side would run twice")
  val CacheNotLoaded = code("CACHE_NOT_LOADED", Filter)(
    "the build side reads a cached table that is not loaded yet, and would load it once per filter"
  )
  val AlreadyFilteredBySpark = code("ALREADY_FILTERED_BY_SPARK", Filter)("Spark already put its own runtime filter for these keys there")
  val MaxFiltersPerScan = code("MAX_FILTERS_PER_SCAN", Filter)(
    "the scan already has the maximum number of filters, all with a lower pass rate"
  )
  val MaxFiltersPerPlan = code("MAX_FILTERS_PER_PLAN", Filter)(
    "the plan already has the maximum number of filters, or of operators in copies of their build sides, all with a lower pass rate"
  )
  val ForeignNode = code("FOREIGN_NODE", Any)(
    "the join is, or lies above, an operator of another engine, that the plugin does not work with, so it is left alone"
  )
  val RepeatedRequest = code("REPEATED_REQUEST", Filter)("this query already requested the same filter and did not get it")
  val FilterReady = code("FILTER_READY", Any)(
    "the build side and its filter existed already, made for another part of the plan, and were used"
  )
  val KeepsPartitions = code("KEEPS_PARTITIONS", Filter)(
    "a join without a shuffle relies on the partitions of the scan, so it reads the files that it was planned with"
  )
  val RewritesFiles = code("REWRITES_FILES", Filter)(
    "a command writes all rows of the scan's files again, so it reads the files that it was planned with"
  )
  val TextOrder = code("TEXT_ORDER", Filter)(
    "the statistics of the files may have texts beyond ASCII in another order than Spark, so they leave out nothing"
  )
  val BuildTimeout = code("BUILD_TIMEOUT", Filter)("the filter was not ready in time, so every row passes")
  val BuildFailed = code("BUILD_FAILED", Filter)("the filter could not be built, so every row passes")
  val GatesOpen = code("GATES_OPEN", Any)("a test switched the price checks off: everything legal is done")
  val Forced = code("FORCED", Any)("the user forces this join to one option, whether or not it pays")
  val MemoryBudget = code("MEMORY_BUDGET", Any)(
    "the broadcasts and filters of the application's running queries leave too little memory for it"
  )

  // Why the probe side waited or not.
  val WaitPays = code("WAIT_PAYS", Wait)("the expected saving exceeds the price of idle slots")
  val NotWorthWaiting = code("NOT_WORTH_WAITING", Wait)("the idle slots would cost more than the expected saving")
  val WaitTooLong = code("WAIT_TOO_LONG", Wait)("the wait would leave the slots idle for too long")
  val WaitReleased = code("WAIT_RELEASED", Wait)(
    "the slots would be idle for longer than the saving is worth, or the wait reached its limit, so the probe side started"
  )
  val NothingToGain = code("NOTHING_TO_GAIN", Wait)("neither a filter nor a new broadcast would save anything, so a wait gains nothing")

  // What a limit reads, and why.
  val EnoughRows = code("ENOUGH_ROWS", Limit)("footers prove that the chosen files hold all rows that the limit takes")
  val RowsNotProven = code("ROWS_NOT_PROVEN", Limit)("the footers that were read prove too few matching rows for the limit")
  val AllFilesNeeded = code("ALL_FILES_NEEDED", Limit)("the limit needs every file of the scan")
  val TopRows = code("TOP_ROWS", Limit)("the other files' values of the sort key come after the first rows")
  val RangesOverlap = code("RANGES_OVERLAP", Limit)(
    "the files' known values of the sort key overlap, so each may hold one of the first rows"
  )
  val SortKeyType = code("SORT_KEY_TYPE", Limit)("the first sort key is no plain column of a type that footers order as Spark does")
  val LimitOperatorBelow = code("LIMIT_OPERATOR_BELOW", Limit)(
    "an operator between the limit and the scan needs more rows than the limit takes"
  )
  val LimitNonDeterministic = code("LIMIT_NON_DETERMINISTIC", Limit)(
    "a filter or column below the limit may have another value when it runs again"
  )
  val LimitMayFail = code("LIMIT_MAY_FAIL", Limit)("a filter or column below the limit may fail on a row that Spark would not have read")
  val LimitSource = code("LIMIT_SOURCE", Limit)(
    "the limit reads no Parquet or ORC files of Spark's own reader that can be chosen one by one"
  )
  val FilesMayBeSkipped = code("FILES_MAY_BE_SKIPPED", Limit)("the session skips missing or corrupt files, so row counts prove nothing")

  // Why a decision was not carried out.
  val ObserveMode = code("OBSERVE_MODE", Any)("the plugin only observes: the decision was recorded but not carried out")

  /** Every code, in the order of the documentation. */
  private def code(name: String, topic: ReasonTopic)(meaning: String): ReasonCode = define(new ReasonCode(name, topic, meaning))
}
