package io.aqeplugin.observe

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.types.StructType

import io.aqeplugin.decide.KeyFacts

/** A rough estimate of an operator's output.
  *
  * @param rows
  *   number of rows
  * @param kept
  *   share of the base table's rows that remain after all filters and joins below, in (0, 1]
  */
final case class SizeEstimate(rows: Double, kept: Double)

/** Estimates the operators of a physical plan from the bottom up, from file sizes, predicates that look selective, and finished stages.
  *
  * Used only where nothing is measured yet: to choose which side to wait for, and to price the probe side. It assumes that an inner
  * equi-join keeps the same share of its larger side as the smaller side kept of its own table (a foreign key to a filtered table).
  *
  * @param keptPerPredicate
  *   share of the rows that a filter operator with selective predicates, or a scan with partition filters, is assumed to keep, however many
  *   there are
  * @param tables
  *   the facts that the files of a table provide
  */
final class SizeEstimator(keptPerPredicate: Double, tables: TableStatistics) {
  private val known = new IdentityHashMap[SparkPlan, SizeEstimate]().asScala
  private val bytesByIndex = new IdentityHashMap[FileIndex, Double]().asScala
  private val filtered = new IdentityHashMap[SparkPlan, Double]().asScala

  /** Includes a filter of another join, which keeps this share of a scan's rows, in later estimates. */
  def filter(scan: SparkPlan, kept: Double): Unit = {
    filtered.update(scan, filtered.getOrElse(scan, 1.0) * kept)
    known.clear()
  }

  def apply(plan: SparkPlan): SizeEstimate = known.getOrElseUpdate(plan, withFilters(plan, compute(plan)))

  private def compute(plan: SparkPlan): SizeEstimate = plan match {
    case stage: QueryStageExec => ofStage(stage)

    case scan: FileSourceScanExec =>
      val selected = if (scan.partitionFilters.isEmpty) 1.0 else keptPerPredicate
      SizeEstimate(selected * tableRows(scan), selected)

    case FilterExec(condition, child) =>
      val below = apply(child)
      val kept = if (isSelective(condition)) keptPerPredicate else 1.0
      SizeEstimate(below.rows * kept, below.kept * kept)

    case join: BaseJoinExec => ofJoin(join)

    case aggregate: BaseAggregateExec =>
      val below = apply(aggregate.child)
      if (aggregate.groupingExpressions.isEmpty) SizeEstimate(1.0, below.kept)
      else below.copy(rows = below.rows * SizeEstimator.AggregateKeeps)

    case union: UnionExec =>
      val parts = union.children.map(apply)
      SizeEstimate(parts.map(_.rows).sum, parts.map(_.kept).max)

    case reused: ReusedExchangeExec => apply(reused.child)

    case leaf if leaf.children.isEmpty =>
      // A source of unknown size reports Long.MaxValue, or a product of it.
      val bytes =
        leaf.logicalLink.map(_.stats.sizeInBytes.toDouble).filter(_ < SizeEstimator.Unbelievable).getOrElse(SizeEstimator.UnknownBytes)
      SizeEstimate(math.max(1.0, bytes / RowWidth.ofRow(leaf.output)), 1.0)

    case other => other.children.map(apply).maxBy(_.rows)
  }

  private def withFilters(plan: SparkPlan, estimate: SizeEstimate): SizeEstimate =
    filtered.get(plan).fold(estimate)(kept => SizeEstimate(math.max(1.0, estimate.rows * kept), estimate.kept * kept))

  private def ofStage(stage: QueryStageExec): SizeEstimate =
    StageReader.rows(stage) match {
      case Some(rows) =>
        val origin = StageReader.largestTableRows(stage, tables)
        val kept = origin.filter(_ > 0).map(o => math.min(1.0, rows.toDouble / o)).getOrElse(1.0)
        SizeEstimate(math.max(1.0, rows.toDouble), kept)
      case None => apply(stage.plan)
    }

  private def ofJoin(join: BaseJoinExec): SizeEstimate = {
    val left = apply(join.left)
    val right = apply(join.right)
    join.joinType match {
      case _: InnerLike | LeftSemi if join.leftKeys.nonEmpty =>
        val (large, small) = if (left.rows >= right.rows) (left, right) else (right, left)
        val base = if (join.joinType == LeftSemi) left else large
        val by = if (join.joinType == LeftSemi) right else small
        SizeEstimate(math.max(1.0, base.rows * by.kept), base.kept * by.kept)
      case LeftAnti => left
      case _        => SizeEstimate(math.max(left.rows, right.rows), math.max(left.kept, right.kept))
    }
  }

  /** Predicates that Spark adds for joins (IS NOT NULL, pushed pruning) say nothing about how many rows remain. */
  private def isSelective(condition: Expression): Boolean = conjuncts(condition).exists {
    case _: IsNotNull | _: DynamicPruning | _: BloomFilterMightContain => false
    case Not(EqualTo(_, _: Literal))                                   => false
    case other                                                         => other.references.nonEmpty
  }

  private def conjuncts(condition: Expression): Seq[Expression] = condition match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other            => Seq(other)
  }

  private def tableRows(scan: FileSourceScanExec): Double =
    tables.of(scan).fold(fileRows(tableBytes(scan), scan.relation.dataSchema))(facts => math.max(1.0, facts.rows.toDouble))

  /** Bytes of the needed columns in the files that the scans below `plan` read. */
  def scanBytes(plan: SparkPlan): Double = plan.collectLeaves().map {
    case scan: FileSourceScanExec =>
      val width = math.max(1, scan.relation.dataSchema.map(_.dataType.defaultSize).sum)
      tableBytes(scan) * math.min(1.0, scan.requiredSchema.map(_.dataType.defaultSize).sum.toDouble / width)
    case _ => 0.0
  }.sum

  // A file index sums up its files on every call.
  private def tableBytes(scan: FileSourceScanExec): Double =
    bytesByIndex.getOrElseUpdate(scan.relation.location, scan.relation.sizeInBytes.toDouble)

  /** What is known of a scan's key columns before it runs: for a single integer or date column, its range and perhaps its
    * distinct values.
    */
  def keysOf(scan: SparkPlan, keys: Seq[Attribute]): Option[KeyFacts] = (scan, keys) match {
    case (file: FileSourceScanExec, Seq(key)) =>
      tables.of(file).flatMap { facts =>
        facts.ranges.get(key.name).map { case (min, max) =>
          KeyFacts(1, supported = true, distinct = facts.distinct.get(key.name), min = Some(min), max = Some(max))
        }
      }
    case _ => None
  }

  private def fileRows(bytes: Double, schema: StructType): Double =
    math.max(1.0, bytes / (math.max(1, schema.map(_.dataType.defaultSize).sum) * SizeEstimator.FileBytesPerMemoryByte))
}

object SizeEstimator {

  /** Groups per input row of an aggregate. */
  val AggregateKeeps = 0.5

  /** Bytes in a columnar, compressed file per byte of the schema's default row width; measured on TPC-DS fact tables in snappy Parquet. */
  val FileBytesPerMemoryByte = 0.33

  /** Used for an unknown size: too large to look like a build side, too small for anything to pay. */
  val UnknownBytes: Double = 64.0 * 1024 * 1024

  private val Unbelievable = 1e15
}
