package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.{FileSourceScanExec, LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation, V1WriteCommand, WriteFiles}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.decide.{LookFacts, RowPrices, Side, WorthLooking}

/** What a plan with joins reads, by what is known for nothing: statistics that Spark's own planning has computed, listed files and finished
  * stages. No file, log or catalog is read.
  */
object QuickLook {

  // Bytes of a file for a row of which nothing is known: a few numbers, compressed, or a byte for each column. Rows of many columns are often empty.
  private val LeastRowBytes = 8
  private val MostRowBytes = 32

  /** Bytes of files that in memory fill a cache: lookups in a larger table wait for memory. */
  private val SmallTableBytes = (RowPrices.SharedCacheBytes / WorthLooking.MemoryPerFileByte).toLong

  /** None if rows may cost anything, or an operator makes more of them; or if a source does not know its size. Joins whose keys repeat on both sides make more
    * rows too: that, only a finished stage shows.
    *
    * @param planned
    *   what Spark has planned: its broadcast joins stay so
    * @param slots
    *   tasks that can run at once
    * @param sizeOf
    *   the size of a leaf, see [[QuickLook.sizeOf]]
    */
  def of(
      plan: LogicalPlan,
      planned: SparkPlan,
      slots: => Int,
      sizeOf: LogicalPlan => Option[Size] = sizeOf
  ): Option[LookFacts] =
    if (mayCostAnything(plan)) None
    else {
      val inputs = new QuickLook(Planned.of(planned), sizeOf).inputsOf(plan, Above.Nothing)
      if (inputs.exists(_.isEmpty)) None
      else {
        val known = inputs.flatten
        def sum(of: Input => Long): Long = known.foldLeft(0L)((all, input) => plus(all, of(input)))
        Some(
          LookFacts(
            known.map(_.joins).sum,
            sum(_.rows),
            sum(_.bytes),
            sum(input => times(input.rows, input.above.moved)),
            sum(input => times(input.bytes, input.above.moved)),
            tasksAtOnce(
              known.map(input => plus(input.bytes, times(SQLConf.get.filesOpenCostInBytes, input.files))).maxOption.getOrElse(0L),
              slots
            ),
            sum(input => math.max(0L, input.files - 1)),
            sum(input => times(input.rows, input.above.lookups))
          )
        )
      }
    }

  /** Whether an expression runs code of a user's, of which nothing is known. */
  private def mayCostAnything(plan: LogicalPlan): Boolean =
    plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression])))

  /** Spark reads no less than the cost of opening a file by one task.
    *
    * @param mostBytes
    *   of the table that takes longest to read, with the cost of opening its files as Spark adds it
    */
  private def tasksAtOnce(mostBytes: Long, slots: => Int): Int = {
    val tasks = 1 + mostBytes / math.max(1L, SQLConf.get.filesOpenCostInBytes)
    // Executors are asked for their slots.
    if (tasks == 1) 1 else math.min(slots.toLong, tasks).toInt
  }

  /** What a leaf of a plan gives.
    *
    * @param files
    *   that it reads; 0 where that is not known
    */
  final case class Size(rows: Long, bytes: Long, files: Long = 0)

  /** What is above a table: joins and others that may move its rows, and lookups of each in small broadcasts. */
  final private[observe] case class Above(moved: Int, lookups: Int) {
    def isNothing: Boolean = moved + lookups == 0
    def times(by: Int): Above = Above(moved * by, lookups * by)
    def moving: Above = copy(moved = moved + 1)
    def lookingUp(probes: Int): Above = copy(lookups = lookups + probes)
  }

  private[observe] object Above {
    val Nothing: Above = Above(moved = 0, lookups = 0)
  }

  final private[observe] case class Input(rows: Long, bytes: Long, above: Above, joins: Int = 0, files: Long = 0)

  /** What of Spark's plan makes a query cheaper than its logical plan says.
    *
    * @param broadcast
    *   for the joins that Spark broadcasts a side of, the side, and how many lookups of an integer one of their lookups takes as long as. AQE does not
    *   take a planned broadcast back
    * @param readShares
    *   of files that are kept by columns, the share that the columns take which are read, by their types; all, if one is of any width
    */
  final private class Planned(
      val broadcast: collection.Map[LogicalPlan, (Side, Int)],
      val readShares: collection.Map[HadoopFsRelation, Double]
  )

  private object Planned {
    def of(plan: SparkPlan): Planned = new Planned(
      ByIdentity.of(for {
        join <- plan.collect { case join: BroadcastHashJoinExec => join }
        logical <- join.logicalLink
      } yield logical -> (JoinFinder.sideOf(join.buildSide) -> (if (KeyTypes.areLookedUpByRow(join)) RowPrices.ProbesPerRowKey else 1))),
      ByIdentity.grouped(plan.collect { case scan: FileSourceScanExec => scan.relation -> readShare(scan) })
        .map { case (relation, shares) => relation -> shares.max }
    )
  }

  private def readShare(scan: FileSourceScanExec): Double = scan.relation.fileFormat match {
    case _: ParquetFileFormat | _: OrcFileFormat if scan.requiredSchema.forall(column => RowWidth.isFixed(column.dataType)) =>
      math.min(1.0, scan.requiredSchema.defaultSize.toDouble / math.max(1, scan.relation.dataSchema.defaultSize))
    case _ => 1.0
  }

  /** Whether an operator gives no more rows than it gets. */
  private def isPlain(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Aggregate | _: Sort | _: Window | _: Union | _: LocalLimit | _: GlobalLimit | _: SubqueryAlias |
        _: Distinct | _: RepartitionOperation | _: WithCTE | _: ResolvedHint | _: ReturnAnswer | _: Offset | _: WindowGroupLimit => true
    case _: V1WriteCommand | _: WriteFiles => true
    case _                                 => false
  }

  /** Whether an operator shuffles or sorts its rows, as a join does. */
  private def moves(plan: LogicalPlan): Boolean = plan match {
    case _: Aggregate | _: Sort | _: Window | _: Distinct | _: RepartitionOperation => true
    case _                                                                          => false
  }

  /** The size of a table or of a finished stage; none if it is not known. */
  def sizeOf(leaf: LogicalPlan): Option[Size] = if (isOnlyPromised(leaf)) None else measured(leaf)

  /** Whether nobody has seen how large a table is: only the catalog says so, which may be old, or an estimate. */
  private def isOnlyPromised(leaf: LogicalPlan): Boolean = leaf match {
    case relation: LogicalRelation => relation.relation match {
        case files: HadoopFsRelation => files.location.isInstanceOf[CatalogFileIndex]
        case _                       => false
      }
    // What was checkpointed has the estimate of what it was made by, where operators that make more rows count as those that do not.
    case _: LogicalRDD => true
    case other         => other.isInstanceOf[HiveTableRelation]
  }

  private def measured(leaf: LogicalPlan): Option[Size] = {
    val statistics = leaf.stats
    val bytes = leaf match {
      // What the catalog says may be old.
      case relation: LogicalRelation if relation.catalogTable.exists(_.stats.isDefined) =>
        statistics.sizeInBytes.max(relation.relation.sizeInBytes)
      // A broadcast relation has a page of a megabyte for a single row; the bytes of a shuffle are those of its rows.
      case stage: LogicalQueryStage if stage.physicalPlan.exists(_.isInstanceOf[BroadcastQueryStageExec]) =>
        statistics.rowCount.fold(statistics.sizeInBytes)(_ * EstimationUtils.getSizePerRow(stage.output) min statistics.sizeInBytes)
      case _ => statistics.sizeInBytes
    }
    // A source of unknown size reports this, Long.MaxValue unless it is set, or a product of it.
    if (bytes >= Unbelievable || bytes == SQLConf.get.defaultSizeInBytes) None
    else {
      val counted = statistics.rowCount.filter(_ => bytes <= statistics.sizeInBytes)
      val rows = counted.fold(
        (bytes / leaf.output.size.max(LeastRowBytes).min(MostRowBytes)).max(statistics.rowCount.getOrElse(BigInt(0)))
      )(_.max(0))
      Some(Size(if (rows >= Unbelievable) Unbelievable else rows.toLong, bytes.toLong))
    }
  }

  private val Unbelievable = Long.MaxValue / 1024

  private def plus(one: Long, other: Long): Long = math.min(Long.MaxValue / 2, one + other)
  private def times(count: Long, by: Long): Long = if (count > Long.MaxValue / 2 / math.max(1, by)) Long.MaxValue / 2 else count * by
}

/** The walk over one plan.
  *
  * @param sizeOf
  *   the size of a leaf with all its columns
  */
private final class QuickLook(planned: QuickLook.Planned, sizeOf: LogicalPlan => Option[QuickLook.Size]) {
  import QuickLook._

  /** None for what may give any number of rows. */
  private[observe] def inputsOf(plan: LogicalPlan, above: Above): Seq[Option[Input]] = plan match {
    // Rows of a product are as many as it likes.
    case join: Join if ExtractEquiJoinKeys.unapply(join).isEmpty => Seq(None)
    case join: Join                                              => Some(Input(0, 0, above, joins = 1)) +: ofSides(join, above)
    // Spark knows no size of a stage that runs but that of what it was planned from, where a join counts as a product.
    case stage: LogicalQueryStage if !stage.isMaterialized && !above.isNothing =>
      inputsOf(stage.logicalPlan, above).map(_.map(_.copy(joins = 0)))
    // Rows above all joins are the same with a filter.
    case leaf if leaf.children.isEmpty =>
      Seq(if (above.isNothing) Some(Input(0, 0, above))
      else sizeOf(leaf).map(size => Input(size.rows, bytesRead(leaf, size), above, files = size.files)))
    case expand: Expand          => inputsOf(expand.child, above.times(math.max(1, expand.projections.size)))
    case other if isPlain(other) =>
      other.children.flatMap(inputsOf(_, if (!above.isNothing && moves(other)) above.moving else above))
    case _ => Seq(None)
  }

  private def ofSides(join: Join, above: Above): Seq[Option[Input]] = planned.broadcast.get(join) match {
    case None                 => join.children.flatMap(inputsOf(_, above.moving))
    case Some((side, probes)) =>
      val build = inputsOf(side.of(join.left, join.right), above.moving)
      val isSmall = build.forall(_.isDefined) && build.flatten.map(_.bytes).sum <= SmallTableBytes
      build ++ inputsOf(side.other.of(join.left, join.right), if (isSmall) above.lookingUp(probes) else above.moving)
  }

  private def bytesRead(leaf: LogicalPlan, size: Size): Long = leaf match {
    case relation: LogicalRelation => relation.relation match {
        case files: HadoopFsRelation => (size.bytes * planned.readShares.getOrElse(files, 1.0)).toLong
        case _                       => size.bytes
      }
    case _ => size.bytes
  }
}
