package io.aqeplugin.decide

/** What a [[ReasonCode]] is said about. */
sealed abstract class ReasonTopic(val name: String)

object ReasonTopic {
  case object Strategy extends ReasonTopic("strategy")
  case object Filter extends ReasonTopic("filter")
  case object Wait extends ReasonTopic("wait")
  case object Any extends ReasonTopic("any")
}

/** Stable codes; `name` is what is logged, and never changes its meaning once released.
  *
  * @param meaning
  *   one line, for a user
  */
sealed abstract class ReasonCode(val name: String, val topic: ReasonTopic, val meaning: String)

object ReasonCode {
  import ReasonTopic._

  // Why a strategy was taken, or not.
  case object Cheapest extends ReasonCode("CHEAPEST", Strategy, "the cheapest option whose memory fits")
  case object Costlier extends ReasonCode("COSTLIER", Strategy, "another option is cheaper")
  case object Tie extends ReasonCode("TIE", Any, "too close in price to what Spark does by itself, which is kept")
  case object Hint extends ReasonCode("HINT", Strategy, "the user's own join hint decides")
  case object BroadcastMemory extends ReasonCode("BROADCAST_MEMORY", Strategy, "the build side takes too much memory to be broadcast")
  case object BroadcastRows extends ReasonCode("BROADCAST_ROWS", Strategy, "the build side has too many rows to be broadcast")
  case object BroadcastWidth
      extends ReasonCode(
        "BROADCAST_WIDTH",
        Strategy,
        "the build side has columns whose width nobody measured, and is larger than what Spark broadcasts by itself"
      )
  case object BroadcastJoinType extends ReasonCode(
        "BROADCAST_JOIN_TYPE",
        Strategy,
        "the join type, or a switched-off autoBroadcastJoinThreshold, does not let this side be broadcast"
      )
  case object AlreadyBroadcast
      extends ReasonCode("ALREADY_BROADCAST", Strategy, "the build side is broadcast already, so the join stays a broadcast join")
  case object OtherStrategy extends ReasonCode("OTHER_STRATEGY", Strategy, "Spark chose a strategy that is not weighed here, and keeps it")
  case object ProbeStarted extends ReasonCode("PROBE_STARTED", Any, "the probe side runs already: nothing can be saved on it")
  case object FactsMissing extends ReasonCode("FACTS_MISSING", Any, "the row counts that the price depends on are not known")

  // Why the build side's keys became a filter, or not.
  case object FilterPays extends ReasonCode("FILTER_PAYS", Filter, "the rows a filter removes cost more than building and checking it")
  case object FilterCostsMore
      extends ReasonCode("FILTER_COSTS_MORE", Filter, "building and checking a filter costs more than the rows it removes")
  case object PassRateTooHigh extends ReasonCode("PASS_RATE_TOO_HIGH", Filter, "too many probe rows would pass the filter")
  case object TooFewRows extends ReasonCode("TOO_FEW_ROWS", Filter, "the scans produce too few rows to be worth checking")
  case object FilterTooBig extends ReasonCode("FILTER_TOO_BIG", Filter, "the filter would be larger than a filter may be")
  case object JoinType extends ReasonCode("JOIN_TYPE", Filter, "the join type keeps probe rows that have no partner")
  case object UnsupportedKeyType extends ReasonCode("UNSUPPORTED_KEY_TYPE", Filter, "a key column has a type that no filter holds")
  case object CollatedKey
      extends ReasonCode("COLLATED_KEY", Filter, "a key column is a string whose collation is not binary: equal keys may differ in bytes")
  case object KeyNotPlain extends ReasonCode("KEY_NOT_PLAIN", Filter, "a key is an expression that cannot be computed safely at the scan")
  case object NonDeterministic
      extends ReasonCode("NON_DETERMINISTIC", Filter, "the build side may give other rows when it is run again")
  case object NoTargetScan extends ReasonCode("NO_TARGET_SCAN", Filter, "no scan below the probe side can be reached by the keys")
  case object NoBuildExchange
      extends ReasonCode("NO_BUILD_EXCHANGE", Filter, "the build side is not the output of a shuffle or broadcast that could be read again")
  case object ReusedExchange
      extends ReasonCode("REUSED_EXCHANGE", Filter, "the scan's output is used a second time, by something that needs all its rows")
  case object ReuseOff extends ReasonCode("REUSE_OFF", Filter, "exchange reuse is switched off, so the build side would run twice")
  case object CacheNotLoaded
      extends ReasonCode(
        "CACHE_NOT_LOADED",
        Filter,
        "the build side reads a cached table not loaded yet, and would load it once for every filter"
      )
  case object AlreadyFilteredBySpark
      extends ReasonCode("ALREADY_FILTERED_BY_SPARK", Filter, "Spark put a runtime filter for these keys there itself")
  case object MaxFiltersPerScan
      extends ReasonCode(
        "MAX_FILTERS_PER_SCAN",
        Filter,
        "the scan carries as many filters as one scan may, all expected to let fewer rows pass"
      )
  case object MaxFiltersPerPlan
      extends ReasonCode(
        "MAX_FILTERS_PER_PLAN",
        Filter,
        "the plan carries as many filters as one plan may, all expected to let fewer rows pass"
      )
  case object RepeatedRequest
      extends ReasonCode("REPEATED_REQUEST", Filter, "this filter was asked for before in this query and did not come")
  case object FilterReady
      extends ReasonCode("FILTER_READY", Any, "build side and filter were there already, made for another place of the plan, and were used")
  case object BuildTimeout extends ReasonCode("BUILD_TIMEOUT", Filter, "the filter was not ready in time, so every row passes")
  case object BuildFailed extends ReasonCode("BUILD_FAILED", Filter, "the filter could not be built, so every row passes")
  case object GatesOpen extends ReasonCode("GATES_OPEN", Any, "a test opened every gate: whatever is legal is done")

  // Why the probe side was held back, or not.
  case object WaitPays
      extends ReasonCode("WAIT_PAYS", Wait, "the saving that the finished build side promises exceeds the price of idle slots")
  case object NotWorthWaiting extends ReasonCode("NOT_WORTH_WAITING", Wait, "the idle slots of a wait cost more than it promises to save")
  case object WaitTooLong extends ReasonCode("WAIT_TOO_LONG", Wait, "the wait is expected to leave the slots idle for too long")
  case object NothingToGain
      extends ReasonCode("NOTHING_TO_GAIN", Wait, "neither a filter nor a broadcast is possible, so there is nothing to wait for")

  // Why a decision changed nothing.
  case object ObserveMode extends ReasonCode("OBSERVE_MODE", Any, "the plugin only observes: the decision was recorded and not carried out")

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
    CollatedKey,
    KeyNotPlain,
    NonDeterministic,
    NoTargetScan,
    NoBuildExchange,
    ReusedExchange,
    ReuseOff,
    CacheNotLoaded,
    AlreadyFilteredBySpark,
    MaxFiltersPerScan,
    MaxFiltersPerPlan,
    RepeatedRequest,
    FilterReady,
    BuildTimeout,
    BuildFailed,
    GatesOpen,
    WaitPays,
    NotWorthWaiting,
    WaitTooLong,
    NothingToGain,
    ObserveMode
  )

  def fromName(name: String): Option[ReasonCode] = All.find(_.name == name)
}
