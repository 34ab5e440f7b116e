package io.aqeplugin.decide

import io.aqeplugin.conf.{Named, Names}

/** How a join combines its two sides. The names are written to the decision log. */
sealed abstract class JoinKind(val name: String, val leftPreserved: Boolean, val rightPreserved: Boolean) extends Named {

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

object JoinKind extends Names[JoinKind] {
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
}

/** One of the two inputs of a join. */
sealed abstract class Side(val name: String) extends Named {
  def other: Side

  /** What belongs to this side, of one thing for each. */
  def of[A](left: => A, right: => A): A = this match {
    case Side.Left  => left
    case Side.Right => right
  }
}

object Side extends Names[Side] {
  case object Left extends Side("left") { def other: Side = Right }
  case object Right extends Side("right") { def other: Side = Left }

  val All: Seq[Side] = Seq(Left, Right)
}

/** A physical join strategy, as an option and as a decision. */
sealed abstract class Strategy(val name: String) extends Named

object Strategy extends Names[Strategy] {
  case object Broadcast extends Strategy("broadcast")
  case object ShuffledHash extends Strategy("shuffled_hash")
  case object FilteredSortMerge extends Strategy("filtered_sort_merge")
  case object PlainSortMerge extends Strategy("plain_sort_merge")
  case object LeaveToSpark extends Strategy("leave_to_spark")

  val All: Seq[Strategy] = Seq(Broadcast, ShuffledHash, FilteredSortMerge, PlainSortMerge, LeaveToSpark)
}

/** The build side: as its finished stage measured it, or as it is estimated before that. */
@Told(doc = "a finished build side")
final case class BuildFacts(
    @Told(doc = "rows that the stage wrote; negative when unknown", unit = "rows") rows: Long,
    @Told(doc = "bytes that the build side's stage wrote, compressed for a shuffle", unit = "bytes") stageBytes: Long,
    @Told(doc = "in-memory bytes of one row with the columns that the join reads", unit = "bytes") memoryBytesPerRow: Long,
    @Told(doc = "number of reduce partitions", unit = "partitions") partitions: Int,
    @Told(doc = "bytes of the largest reduce partition", unit = "bytes") maxPartitionBytes: Long,
    @Told(doc = "bytes of the median reduce partition", unit = "bytes") medianPartitionBytes: Long,
    @Told(
      doc = "rows of the table that the keys come from, before the build side's filters and joins",
      unit = "rows"
    ) originRows: Option[Long],
    @Told(doc = "whether the build side is a finished broadcast relation") alreadyBroadcast: Boolean,
    @Told(doc = "the join keys of this side") keys: KeyFacts,
    @Told(
      doc = "number of variable-width columns whose bytes were not measured, such as strings computed above the stage",
      unit = "columns",
      optional = true
    ) unmeasuredColumns: Int = 0,
    @Told(doc = "what `originRows` was taken from") originRowsSource: Option[EstimateSource] = None,
    @Told(
      doc = "shuffles that the build side still goes through unless it is broadcast",
      unit = "shuffles",
      optional = true
    ) exchanges: Int = 0
) {

  /** In-memory bytes of the rows, without a hash table. */
  def memoryBytes: Long = {
    val bytes = math.max(0L, rows).toDouble * math.max(0L, memoryBytesPerRow)
    if (bytes >= Long.MaxValue) Long.MaxValue else math.max(0L, rows) * math.max(0L, memoryBytesPerRow)
  }
}

object BuildFacts {

  /** A build side that has not run. */
  def expected(rows: Long, memoryBytesPerRow: Long, keys: KeyFacts): BuildFacts = BuildFacts(
    rows,
    stageBytes = 0L,
    memoryBytesPerRow,
    partitions = 0,
    maxPartitionBytes = 0L,
    medianPartitionBytes = 0L,
    originRows = None,
    alreadyBroadcast = false,
    keys
  )
}

/** The probe side, as estimated before it runs. */
@Told(doc = "a probe side, as estimated before it runs")
final case class ProbeFacts(
    @Told(doc = "estimated rows that reach the join", unit = "rows") rows: Long,
    @Told(doc = "estimated rows of the scans that the keys reach; negative when unknown", unit = "rows") scanRows: Long,
    @Told(doc = "bytes of one row in memory", unit = "bytes") rowBytes: Long,
    @Told(doc = "number of shuffles between the scans and the join, the join's own included", unit = "shuffles") exchanges: Int,
    @Told(doc = "whether the probe side has started; in mode observe, whether it would have in mode apply") started: Boolean,
    @Told(doc = "number of scans that the keys reach", unit = "scans") targets: Int,
    @Told(doc = "the join keys of this side") keys: Option[KeyFacts] = None,
    @Told(doc = "the least sure of what `rows` was taken from") rowsSource: Option[EstimateSource] = None,
    @Told(doc = "the least sure of what `scanRows` was taken from") scanRowsSource: Option[EstimateSource] = None,
    @Told(
      doc =
        "estimated bytes that these scans read of tables of which the only key is a partition column, so that a filter leaves out files",
      unit = "bytes",
      optional = true
    ) prunableBytes: Long = 0,
    @Told(doc = "files that these scans open; 0 where their number is not known", unit = "files", optional = true) prunableFiles: Long = 0,
    @Told(
      doc = "share of the scans' rows that must pass for other uses of a shared scan; 0 unless the filter is part of a union",
      unit = "ratio",
      optional = true
    ) otherUsesPassRate: Double = 0,
    @Told(
      doc = "the operators between the scans and the join, without its own shuffle and sort; missing in old logs",
      optional = true
    ) path: Seq[PathStep] = Nil,
    @Told(
      doc = "`scanRows` without the filters of other joins; null where none is counted in",
      unit = "rows"
    ) scanRowsBefore: Option[Long] = None,
    @Told(
      doc = "the keys reach no scan that could be filtered, but inputs of exchanges, of which `scanRows` are the rows",
      optional = true
    ) beforeExchange: Boolean = false,
    @Told(doc = "a sample of the only scan, if the build keys are known one by one") sample: Option[SampledKeys] = None,
    @Told(
      doc = "files of the only scan that hold no build key, if the keys are known one by one; null where no bounds tell of any",
      optional = true
    ) keyless: Option[KeylessFiles] = None,
    @Told(doc = "whether the scans are of the table that a command changes, which is taken to have a key in each row", optional = true)
    changed: Boolean = false
) {

  /** Whether the only exchange that a filter spares is that of the join itself, which a broadcast makes unnecessary. */
  def isBeforeOwnExchange: Boolean = beforeExchange && !path.exists {
    case _: PathStep.Shuffle | _: PathStep.Broadcast => true
    case _                                           => false
  }

  /** Rows of the scans without the filters of other joins. */
  def unfilteredScanRows: Long = scanRowsBefore.getOrElse(scanRows)

  /** The share of the scan in files without a key, as far as it is known. */
  def keylessShare: Double = keyless.fold(0.0)(_.share.max(0.0).min(1.0))

  /** Whether Spark runs the shuffle of the join for other uses too. */
  def sharesShuffle: Boolean = path.exists(_.isInstanceOf[PathStep.Shared])

  /** The same with what is known now of other uses of the scans and of the join's shuffle; what is not known stays. */
  def withOtherUses(passRate: Option[Double], shuffleShare: Option[Double]): ProbeFacts = {
    val charged = shuffleShare.fold(path)(share => path.map { case step: PathStep.Shared => step.copy(share = share); case step => step })
    copy(otherUsesPassRate = passRate.getOrElse(otherUsesPassRate), path = charged)
  }

  /** How many keys the scans have by statistics; a table that a command changes, as many as rows, if the key's range has room for them. */
  def distinctKeys: Option[Long] = {
    val known = keys.filter(_.columns == 1)
    known.flatMap(_.distinct).orElse(Option.when(changed)(
      known.flatMap(_.mostDistinct).fold(unfilteredScanRows)(_.min(unfilteredScanRows))
    ))
  }

  /** The same without its key range: an estimated share of the build side says nothing of how its keys lie in there. */
  def withoutKeyRange: ProbeFacts =
    copy(keys = distinctKeys.map(distinct => KeyFacts(1, keys.forall(_.supported), Some(distinct))))

  /** The same with so many times the rows, in the scans, on the path and at the join. Unknown counts stay so, and as many files are opened. */
  def scaled(by: Double): ProbeFacts =
    if (by == 1.0) this
    else
      copy(
        rows = ProbeFacts.times(rows, by),
        scanRows = ProbeFacts.times(scanRows, by),
        prunableBytes = ProbeFacts.times(prunableBytes, by),
        keyless = keyless.map(files => files.copy(bytes = ProbeFacts.times(files.bytes, by))),
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

/** What a scan reads of files that hold no key of the build side, by the bounds of the key's column in some of the files. */
@Told(doc = "files of the probe side's scan that hold no build key, as estimated by the bounds of some files")
final case class KeylessFiles(
    @Told(doc = "bytes that the scan reads of them", unit = "bytes") bytes: Long,
    @Told(doc = "their share of all bytes that the scan reads", unit = "ratio") share: Double,
    @Told(doc = "their number, if that of the scan's files is known", unit = "files", optional = true) files: Long = 0
)

/** The size of the cluster that the query runs on. */
@Told(doc = "the size of the cluster that a query runs on")
final case class ClusterFacts(
    @Told(doc = "number of tasks that can run at once", unit = "tasks") slots: Int,
    @Told(doc = "number of executors that receive a broadcast", unit = "executors") executors: Int
)

/** The memory that an application has for what the plugin adds to its queries, see [[MemoryBudget]]. */
@Told(doc = "the memory of the driver and of each executor for broadcasts that Spark would not make, and for filters")
final case class MemoryFacts(
    @Told(doc = "what all running queries of the application may hold", unit = "bytes") limitBytes: Long,
    @Told(doc = "what they held when the join was decided", unit = "bytes") heldBytes: Long,
    @Told(
      doc = "what a task is sure to get of its executor's execution memory, less what the query's shuffled hash joins hold of it",
      unit = "bytes"
    ) taskBytes: Option[Long] = None,
    @Told(
      doc = "what the query's other shuffled hash joins held of a task's execution memory",
      unit = "bytes",
      optional = true
    ) hashedBytes: Long = 0,
    @Told(doc = "the smallest page of a broadcast hash table of rows", unit = "bytes", optional = true) pageBytes: Long = 0
)

/** The input of `DecideJoin` apart from the thresholds. The estimate of a join has the same form, with an unmeasured build side. */
@Told(doc = "the facts of a join when it was decided")
final case class JoinFacts(
    @Told(doc =
      "identifies the join in its query, in every run that Spark plans alike: type and key columns, and a number if the query has several such joins"
    ) joinId: String,
    @Told(doc = "how the join combines its sides") kind: JoinKind,
    @Told(doc = "the join keys") keys: Seq[String],
    @Told(doc = "the side that finishes first") buildSide: Side,
    @Told(doc = "the finished build side") build: BuildFacts,
    @Told(doc = "the probe side, as estimated before it runs") probe: ProbeFacts,
    @Told(doc = "the size of the cluster; of a join that was not looked at, one executor with the slots of `look`") cluster: ClusterFacts,
    @Told(doc = "the join's hint: the user's, or `no_broadcast_and_replication` of a command such as MERGE") hint: Option[String],
    @Told(doc = "what Spark would do by itself") sparkStrategy: Strategy,
    @Told(doc = "whether the join type and the session allow a broadcast of the build side") canBroadcast: Boolean,
    @Told(doc = "why the plan allows no filter: a reason code") filterObstacle: Option[ReasonCode] = None,
    @Told(doc = "whether the probe side was to wait; null when the build side had finished by then") waiting: Option[WaitDecision] = None,
    @Told(doc = "the memory for broadcasts, filters and hashed partitions; null where nothing was measured") memory: Option[MemoryFacts] =
      None,
    @Told(
      doc = "whether an operator above relies on the order and the partitioning in which a sort-merge join leaves its rows",
      optional = true
    ) orderUsed: Boolean = false,
    @Told(
      doc = "whether the query writes the rows of the join and no other shuffle lies between, so that the tasks of the join write",
      optional = true
    ) written: Boolean = false,
    @Told(
      doc = "whether Spark broadcasts the build side only because filters of other joins removed rows of it",
      optional = true
    ) smallByFilters: Boolean = false,
    @Told(
      doc = "the engine that carries the plan out, and so gets filters as conditions; null if Spark does",
      optional = true
    ) engine: Option[String] = None,
    @Told(
      doc = "what the join's plan reads, by which its joins are not looked at; null if they are",
      optional = true
    ) look: Option[LookFacts] = None
) {

  /** The method of Spark's own plan. */
  def sparkMethod: Method =
    if (sparkStrategy == Strategy.Broadcast || build.alreadyBroadcast) Method.Broadcast
    else if (sparkStrategy == Strategy.ShuffledHash) Method.ShuffledHash
    else Method.SortMerge

  /** The method of Spark's plan of a query without filters. */
  def methodWithoutFilters: Method = if (smallByFilters) Method.SortMerge else sparkMethod

  /** Whether the probe side waited for a build side that Spark broadcasts once it has seen its size. By itself Spark does not wait, so the
    * probe side would have been shuffled by then.
    */
  def sparesShuffle: Boolean =
    methodWithoutFilters == Method.Broadcast && !build.alreadyBroadcast && !probe.started && !orderUsed && waiting.exists(_.waits)

  /** Whether the probe side's scan cannot start before the build side has finished, whatever is decided, as below a broadcast join. */
  def probeWaitsAnyway: Boolean = sparkStrategy == Strategy.Broadcast && probe.exchanges == 0

  /** Why nothing can be saved on a probe side that has started: the reason why it did not wait, if there is one. */
  def whyStarted: Reason = waiting.filterNot(_.waits).fold(Reason(ReasonCode.ProbeStarted))(_.reason)

  /** Why a probe side that waited no longer does, whereupon its scans have started and no filter reaches them. */
  def whyReleased: Option[Reason] = waiting.map(_.reason).filter(_.code == ReasonCode.WaitReleased)
}
