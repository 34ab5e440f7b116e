package io.aqeplugin.decide

/** How a join combines its two sides. The names are written to the decision log. */
sealed abstract class JoinKind(val name: String, val leftPreserved: Boolean, val rightPreserved: Boolean) {

  /** Whether dropping the rows of `side` that have no partner leaves the join's answer unchanged. */
  def mayFilter(side: Side): Boolean = side match {
    case Side.Left  => !leftPreserved
    case Side.Right => !rightPreserved
  }

  /** Whether a hash join can look the rows of the other side up in a table of `side`: broadcast, or a partition at a time. */
  def mayHash(side: Side): Boolean = this match {
    case JoinKind.Inner                                                                  => true
    case JoinKind.LeftOuter | JoinKind.LeftSemi | JoinKind.LeftAnti | JoinKind.Existence => side == Side.Right
    case JoinKind.RightOuter                                                             => side == Side.Left
    case JoinKind.FullOuter | JoinKind.NullAwareAnti                                     => false
  }
}

object JoinKind {
  case object Inner extends JoinKind("inner", false, false)
  case object LeftOuter extends JoinKind("left_outer", true, false)
  case object RightOuter extends JoinKind("right_outer", false, true)
  case object FullOuter extends JoinKind("full_outer", true, true)
  case object LeftSemi extends JoinKind("left_semi", false, false)
  case object LeftAnti extends JoinKind("left_anti", true, false)

  /** `NOT IN`: one null on the right empties the answer, so neither side may lose a row. */
  case object NullAwareAnti extends JoinKind("null_aware_anti", true, true)
  case object Existence extends JoinKind("existence", true, false)

  val All: Seq[JoinKind] = Seq(Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, LeftAnti, NullAwareAnti, Existence)

  def fromName(name: String): Option[JoinKind] = All.find(_.name == name)
}

/** One of the two inputs of a join. */
sealed abstract class Side(val name: String) {
  def other: Side

  /** What belongs to this side, of one thing for each. */
  def of[A](left: => A, right: => A): A = this match {
    case Side.Left  => left
    case Side.Right => right
  }
}

object Side {
  case object Left extends Side("left") { def other: Side = Right }
  case object Right extends Side("right") { def other: Side = Left }

  def fromName(name: String): Option[Side] = Seq(Left, Right).find(_.name == name)
}

/** A physical join strategy, as an option and as a decision. */
sealed abstract class Strategy(val name: String)

object Strategy {
  case object Broadcast extends Strategy("broadcast")
  case object ShuffledHash extends Strategy("shuffled_hash")
  case object FilteredSortMerge extends Strategy("filtered_sort_merge")
  case object PlainSortMerge extends Strategy("plain_sort_merge")
  case object LeaveToSpark extends Strategy("leave_to_spark")

  val All: Seq[Strategy] = Seq(Broadcast, ShuffledHash, FilteredSortMerge, PlainSortMerge, LeaveToSpark)

  def fromName(name: String): Option[Strategy] = All.find(_.name == name)
}

/** The build side: as its finished stage measured it, or as it is estimated before that.
  *
  * @param rows
  *   rows that the stage wrote; negative when unknown
  * @param stageBytes
  *   bytes that the stage wrote: compressed for a shuffle, the size of the relation for a broadcast
  * @param memoryBytesPerRow
  *   in-memory, uncompressed bytes of one row with the columns that the join reads
  * @param partitions
  *   number of reduce partitions
  * @param maxPartitionBytes
  *   bytes of the largest reduce partition
  * @param medianPartitionBytes
  *   bytes of the median reduce partition
  * @param originRows
  *   rows of the table that the keys come from, before the build side's filters and joins; `rows` divided by this is the build side's
  *   selectivity
  * @param alreadyBroadcast
  *   the build side is a finished broadcast relation and not a shuffle
  * @param unmeasuredColumns
  *   number of variable-width columns that are computed above the stage, or whose stage measured no bytes; `memoryBytesPerRow` counts them
  *   with the default width of their types
  * @param originRowsSource
  *   what `originRows` was taken from; none when it is unknown, and in facts of older plugins
  * @param exchanges
  *   number of shuffles that the build side still goes through, unless it is broadcast: 1 if its stage is not partitioned by the join's keys, as
  *   that of an aggregate by more columns
  */
final case class BuildFacts(
    rows: Long,
    stageBytes: Long,
    memoryBytesPerRow: Long,
    partitions: Int,
    maxPartitionBytes: Long,
    medianPartitionBytes: Long,
    originRows: Option[Long],
    alreadyBroadcast: Boolean,
    keys: KeyFacts,
    unmeasuredColumns: Int = 0,
    originRowsSource: Option[EstimateSource] = None,
    exchanges: Int = 0
) {

  /** In-memory bytes of the rows, without a hash table. */
  def memoryBytes: Long = {
    val bytes = math.max(0L, rows).toDouble * math.max(0L, memoryBytesPerRow)
    if (bytes >= Long.MaxValue) Long.MaxValue else math.max(0L, rows) * math.max(0L, memoryBytesPerRow)
  }
}

/** The probe side, as estimated before it runs.
  *
  * @param rows
  *   estimated rows that reach the join
  * @param scanRows
  *   estimated rows of the scans that the keys reach, which are the rows that a filter would check; negative when unknown
  * @param rowBytes
  *   bytes of one row in memory
  * @param exchanges
  *   number of shuffles between the scans and the join, the join's own included
  * @param started
  *   the probe side's stage exists already, so nothing can be saved on it
  * @param targets
  *   number of scans that the keys reach
  * @param keys
  *   what is known of the probe side's join keys
  * @param rowsSource
  *   the least sure of what `rows` was taken from; none in facts of older plugins
  * @param scanRowsSource
  *   the same of `scanRows`
  * @param prunableBytes
  *   estimated bytes that these scans read of tables of which the only key is a partition column, so that a filter leaves out files
  * @param otherUsesPassRate
  *   share of the scans' rows that must pass for other uses of a shared scan, whose filters are in a union with this join's
  * @param path
  *   the operators between these scans and the join, without its own shuffle and sort; empty in facts of older plugins
  * @param scanRowsBefore
  *   `scanRows` without the filters of other joins, if these are counted in; a filter that is independent of them passes the same share
  * @param beforeExchange
  *   the keys reach no scan that could be filtered, but inputs of exchanges: what is said of the scans is said of these
  * @param sample
  *   what a sample of the only scan says of the build side's keys, if these are known one by one
  */
final case class ProbeFacts(
    rows: Long,
    scanRows: Long,
    rowBytes: Long,
    exchanges: Int,
    started: Boolean,
    targets: Int,
    keys: Option[KeyFacts] = None,
    rowsSource: Option[EstimateSource] = None,
    scanRowsSource: Option[EstimateSource] = None,
    prunableBytes: Long = 0,
    otherUsesPassRate: Double = 0,
    path: Seq[PathStep] = Nil,
    scanRowsBefore: Option[Long] = None,
    beforeExchange: Boolean = false,
    sample: Option[SampledKeys] = None
) {

  /** Whether the only exchange that a filter spares is that of the join itself, which a broadcast makes unnecessary. */
  def isBeforeOwnExchange: Boolean = beforeExchange && !path.exists {
    case _: PathStep.Shuffle | _: PathStep.Broadcast => true
    case _                                           => false
  }

  /** Rows of the scans without the filters of other joins. */
  def unfilteredScanRows: Long = scanRowsBefore.getOrElse(scanRows)

  /** Whether Spark runs the shuffle of the join for other uses too. */
  def sharesShuffle: Boolean = path.exists(_.isInstanceOf[PathStep.Shared])

  /** The same with what is known now of other uses of the scans and of the join's shuffle; what is not known stays. */
  def withOtherUses(passRate: Option[Double], shuffleShare: Option[Double]): ProbeFacts = {
    val charged = shuffleShare.fold(path)(share => path.map { case step: PathStep.Shared => step.copy(share = share); case step => step })
    copy(otherUsesPassRate = passRate.getOrElse(otherUsesPassRate), path = charged)
  }

  /** The same without its key range: an estimated share of the build side says nothing of how its keys lie in there. */
  def withoutKeys: ProbeFacts = copy(keys = None)

  /** The same with so many times the rows, in the scans, on the path and at the join. Unknown counts stay so. */
  def scaled(by: Double): ProbeFacts =
    if (by == 1.0) this
    else
      copy(
        rows = ProbeFacts.times(rows, by),
        scanRows = ProbeFacts.times(scanRows, by),
        prunableBytes = ProbeFacts.times(prunableBytes, by),
        scanRowsBefore = scanRowsBefore.map(ProbeFacts.times(_, by)),
        path = path.map(step => step.withRows(ProbeFacts.times(step.rows, by)))
      )

  /** What a filter of another join leaves that passes this share of the rows. */
  def filtered(passRate: Double): ProbeFacts =
    if (passRate == 1.0) this else scaled(passRate).copy(scanRowsBefore = Some(unfilteredScanRows))
}

object ProbeFacts {

  /** So many times a count; an unknown one stays so. */
  private[decide] def times(count: Long, by: Double): Long = if (count < 0) count else math.min(count * by, Long.MaxValue / 2.0).toLong
}

/** The size of the cluster that the query runs on.
  *
  * @param slots
  *   number of tasks that can run at once
  * @param executors
  *   number of executors that receive a broadcast (1 in local mode)
  */
final case class ClusterFacts(slots: Int, executors: Int)

/** The memory that an application has for what the plugin adds to its queries, see [[MemoryBudget]].
  *
  * @param limitBytes
  *   `memory.maxShare` of the smallest heap
  * @param heldBytes
  *   what the application's running queries hold by their decisions so far
  * @param taskBytes
  *   what a task is sure to get of its executor's execution memory, less what the query's shuffled hash joins hold of it; none in facts of
  *   older plugins
  * @param hashedBytes
  *   what these joins hold of it
  * @param pageBytes
  *   the smallest page of a hash table of rows; 0 in facts of older plugins
  */
final case class MemoryFacts(
    limitBytes: Long,
    heldBytes: Long,
    taskBytes: Option[Long] = None,
    hashedBytes: Long = 0,
    pageBytes: Long = 0
)

/** The input of `DecideJoin` apart from the thresholds. The estimate of a join has the same form, with an unmeasured build side.
  *
  * @param joinId
  *   identifies a join of a query: across its re-plans, and in every run that Spark plans alike
  * @param hint
  *   the user's own join hint, if any
  * @param sparkStrategy
  *   what Spark would do by itself; `LeaveToSpark` means a join that is not priced or that no hint can change: a shuffled hash join that hashes the
  *   other side, a cached build side, a join by a range
  * @param canBroadcast
  *   whether the join type and the session allow a broadcast of the build side
  * @param filterObstacle
  *   why the plan allows no filter, if it does not: a code of topic `filter`, such as `REUSED_EXCHANGE`
  * @param waiting
  *   whether the probe side was to wait, judged before anything ran; none when the build side had finished by then
  * @param memory
  *   the memory for broadcasts, filters and hashed partitions when the join is decided; none before that
  * @param orderUsed
  *   an operator above relies on the order and the partitioning in which a sort-merge join leaves its rows
  * @param written
  *   the query writes the rows of the join, and no other shuffle lies between: the tasks of the join are those that write
  */
final case class JoinFacts(
    joinId: String,
    kind: JoinKind,
    keys: Seq[String],
    buildSide: Side,
    build: BuildFacts,
    probe: ProbeFacts,
    cluster: ClusterFacts,
    hint: Option[String],
    sparkStrategy: Strategy,
    canBroadcast: Boolean,
    filterObstacle: Option[ReasonCode] = None,
    waiting: Option[WaitDecision] = None,
    memory: Option[MemoryFacts] = None,
    orderUsed: Boolean = false,
    written: Boolean = false
) {

  /** The method of Spark's own plan. */
  def sparkMethod: Method =
    if (sparkStrategy == Strategy.Broadcast || build.alreadyBroadcast) Method.Broadcast
    else if (sparkStrategy == Strategy.ShuffledHash) Method.ShuffledHash
    else Method.SortMerge

  /** Whether the probe side's scan cannot start before the build side has finished, whatever is decided, as below a broadcast join. */
  def probeWaitsAnyway: Boolean = sparkStrategy == Strategy.Broadcast && probe.exchanges == 0

  /** Why nothing can be saved on a probe side that has started: the reason why it did not wait, if there is one. */
  def whyStarted: Reason = waiting.filterNot(_.waits).fold(Reason(ReasonCode.ProbeStarted))(_.reason)
}
