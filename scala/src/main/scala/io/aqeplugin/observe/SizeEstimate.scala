package io.aqeplugin.observe

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.types.StructType

import io.aqeplugin.decide.{EstimateSource, KeyFacts}

/** A rough estimate of an operator's output.
  *
  * @param rows
  *   number of rows
  * @param kept
  *   share of the base table's rows that remain after all filters and joins below, in (0, 1]
  * @param tableSource
  *   what the base table's rows were taken from
  * @param source
  *   the least sure of what `rows` was taken from
  * @param keptByFilters
  *   the share of rows that each filter inside keeps, by the join whose keys it holds
  */
final case class SizeEstimate(
    rows: Double,
    kept: Double,
    tableSource: EstimateSource,
    source: EstimateSource,
    keptByFilters: Map[String, Double] = Map.empty
) {

  /** The same operator with a share of its rows, though one row at least: statistics may be out of date. */
  def keeping(share: ShareEstimate): SizeEstimate = {
    val by = math.max(share.value, math.min(1.0, 1.0 / rows))
    copy(rows = rows * by, kept = kept * by, source = EstimateSource.leastSure(source, share.source))
  }
}

/** Estimates the operators of a physical plan from the bottom up: from the rows of tables, the files that scans select, what predicates
  * keep, and finished stages.
  *
  * Used only where nothing is measured yet: to choose which side to wait for, and to price the probe side. It assumes that an inner
  * equi-join keeps the same share of its larger side as the smaller side kept of its own table (a foreign key to a filtered table).
  *
  * @param keptPerPredicate
  *   share of the rows that the predicates of a filter operator, or the partition filters of a scan, are assumed to keep if nothing is
  *   known of them, however many these are
  * @param tables
  *   what is known of tables, and of the files that scans select
  * @param decided
  *   the joins whose filters are inside running stages
  * @param like
  *   an estimator of the same plan and tables, with which it shares what no filter changes
  */
final class SizeEstimator private (
    keptPerPredicate: Double,
    tables: TableStatistics,
    decided: DecidedFilters,
    like: Option[SizeEstimator]
) {
  def this(keptPerPredicate: Double, tables: TableStatistics, decided: DecidedFilters = new DecidedFilters {}) =
    this(keptPerPredicate, tables, decided, None)

  /** An estimator of the same plan without the filters that this one includes or will. */
  def withoutFilters: SizeEstimator = new SizeEstimator(keptPerPredicate, tables, decided, Some(this))

  private val known = ByIdentity.empty[SparkPlan, SizeEstimate]
  private val inside = new FiltersInside(decided)

  /** The operators that were estimated from the estimate of one. */
  private val estimatedFrom = ByIdentity.empty[SparkPlan, List[SparkPlan]]

  /** What the conditions of filter operators keep. */
  private val shares: mutable.Map[SparkPlan, Seq[ShareEstimate]] = like.fold(ByIdentity.empty[SparkPlan, Seq[ShareEstimate]])(_.shares)

  private val assumed = ShareEstimate(keptPerPredicate, EstimateSource.Assumed)
  private val filtered = ByIdentity.empty[SparkPlan, Double]

  /** Includes a filter of another join, which keeps this share of a scan's rows, in later estimates. */
  def filter(scan: SparkPlan, kept: Double): Unit = if (kept != 1.0) {
    filtered.update(scan, filtered.getOrElse(scan, 1.0) * kept)
    forget(scan)
  }

  /** Forgets the estimate of an operator, and all that were made from it. */
  private def forget(plan: SparkPlan): Unit = {
    known.remove(plan)
    estimatedFrom.remove(plan).foreach(_.foreach(forget))
  }

  /** Whether a filter is included. */
  def isFiltered: Boolean = filtered.nonEmpty

  def apply(plan: SparkPlan): SizeEstimate = known.getOrElseUpdate(plan, withFilters(plan, compute(plan)))

  private def below(plan: SparkPlan, child: SparkPlan): SizeEstimate = {
    estimatedFrom.update(child, plan :: estimatedFrom.getOrElse(child, Nil))
    apply(child)
  }

  private def compute(plan: SparkPlan): SizeEstimate = plan match {
    case stage: QueryStageExec => ofStage(stage)

    case scan: FileSourceScanExec => ofScan(scan)

    case StartedFilters(filters, scan) => ofFilters(below(plan, scan), filters)

    case FilterExec(condition, child) =>
      shares.getOrElseUpdate(plan, sharesOf(Conjuncts.of(condition).filter(isSelective), child)).foldLeft(below(plan, child))(_.keeping(_))

    case join: BaseJoinExec => ofJoin(join)

    case aggregate: BaseAggregateExec =>
      val input = below(plan, aggregate.child)
      if (aggregate.groupingExpressions.isEmpty) input.copy(rows = 1.0)
      else input.copy(rows = input.rows * SizeEstimator.AggregateKeeps, source = EstimateSource.Assumed)

    case union: UnionExec =>
      val parts = union.children.map(below(plan, _))
      SizeEstimate(
        parts.map(_.rows).sum,
        parts.map(_.kept).max,
        leastSure(parts.map(_.tableSource)),
        leastSure(parts.map(_.source)),
        FiltersInside.ofUnion(parts)
      )

    case reused: ReusedExchangeExec => below(plan, reused.child)

    case leaf if leaf.children.isEmpty => ofLeaf(leaf)

    case other => other.children.map(below(plan, _)).maxBy(_.rows)
  }

  private def withFilters(plan: SparkPlan, estimate: SizeEstimate): SizeEstimate =
    filtered.get(plan).fold(estimate)(kept => estimate.keeping(ShareEstimate(kept, estimate.source)))

  private def ofFilters(scan: SizeEstimate, filters: StartedFilters): SizeEstimate =
    scan.keeping(ShareEstimate(inside.kept(filters), scan.source)).copy(keptByFilters = scan.keptByFilters ++ inside.byJoin(filters))

  private def leastSure(sources: Seq[EstimateSource]): EstimateSource = EstimateSource.leastSure(sources.head, sources.tail: _*)

  private def ofScan(scan: FileSourceScanExec): SizeEstimate = {
    val facts = tables.of(scan).getOrElse(TableFacts.Unknown)
    val read = scans.ofFiles(scan)
    val (later, selecting) = scan.partitionFilters.partition(Conjuncts.isKnownLater)
    val selected = (facts.bytes.filter(_ > 0), read) match {
      case (Some(bytes), Some(some)) => Some(ShareEstimate(math.min(1.0, math.max(1.0, some) / bytes), EstimateSource.SelectedFiles))
      case _                         => None
    }
    val share = selected.filter(_.value < 1).orElse(if (selected.isEmpty && selecting.nonEmpty) Some(assumed) else None)
    val all = facts.rows match {
      case Some(table) => SizeEstimate(math.max(1.0, table.rows.toDouble), 1.0, table.source, table.source)
      case None        =>
        val bytes = facts.bytes.map(_.toDouble).orElse(read.map(_ / share.fold(1.0)(_.value))).getOrElse(SizeEstimator.UnknownBytes)
        SizeEstimate(fileRows(bytes, scan.relation.dataSchema), 1.0, EstimateSource.FileBytes, EstimateSource.FileBytes)
    }
    (share ++ Option.when(later.nonEmpty)(assumed)).foldLeft(all)(_.keeping(_))
  }

  private def ofLeaf(leaf: SparkPlan): SizeEstimate = {
    val known = LeafStatistics.of(leaf).flatMap(_.rows).getOrElse(SizeEstimator.UnknownBytes / RowWidth.ofRow(leaf.output))
    val rows = math.max(1.0, known)
    tables.of(leaf).flatMap(_.rows).filter(_.rows > 0) match {
      case Some(table) =>
        val read = math.min(rows, table.rows.toDouble)
        SizeEstimate(read, read / table.rows, table.source, EstimateSource.leastSure(table.source, EstimateSource.SparkPlan))
      case None => SizeEstimate(rows, 1.0, EstimateSource.SparkPlan, EstimateSource.SparkPlan)
    }
  }

  private def ofStage(stage: QueryStageExec): SizeEstimate =
    StageReader.rows(stage) match {
      case Some(rows) =>
        val origin = StageReader.largestTableRows(stage, tables).filter(_.rows > 0)
        val kept = origin.fold(1.0)(table => math.min(1.0, math.max(1.0, rows.toDouble) / table.rows))
        SizeEstimate(
          math.max(1.0, rows.toDouble),
          kept,
          origin.fold[EstimateSource](EstimateSource.Measured)(_.source),
          EstimateSource.Measured,
          inside.of(StagePlan.of(stage))
        )
      case None => below(stage, StagePlan.of(stage))
    }

  private def ofJoin(join: BaseJoinExec): SizeEstimate = {
    val left = below(join, join.left)
    val right = below(join, join.right)
    join.joinType match {
      case _: InnerLike | LeftSemi if join.leftKeys.nonEmpty =>
        val own = inside.ofJoin(join, left, right)
        // Of filtered rows, the number says nothing about which side has the foreign keys.
        def size(side: SizeEstimate) = if (own.isDefined) side.rows / side.kept else side.rows
        val (base, by) = if (join.joinType == LeftSemi || size(left) >= size(right)) (left, right) else (right, left)
        val share = FiltersInside.keptByJoin(own, base, by)
        base.copy(
          rows = math.max(1.0, base.rows * share),
          kept = base.kept * share,
          source = EstimateSource.leastSure(base.source, by.source),
          keptByFilters = base.keptByFilters ++ by.keptByFilters
        )
      case LeftAnti => left
      case _        =>
        val large = if (left.rows >= right.rows) left else right
        large.copy(kept = math.max(left.kept, right.kept), source = EstimateSource.leastSure(left.source, right.source))
    }
  }

  /** Predicates that Spark adds for joins (IS NOT NULL, pushed pruning) say nothing about how many rows remain. */
  private def isSelective(conjunct: Expression): Boolean = conjunct match {
    case _: IsNotNull | _: DynamicPruning | _: BloomFilterMightContain => false
    case Not(EqualTo(_, _: Literal))                                   => false
    case other                                                         => other.references.nonEmpty
  }

  /** What conditions keep of the rows below them: the known shares, and one share for all conditions of which nothing is known. */
  private def sharesOf(conditions: Seq[Expression], below: SparkPlan): Seq[ShareEstimate] = {
    val scans = below.collectLeaves().collect { case scan: FileSourceScanExec => scan }
    val ofScans = conditions.groupBy(condition => scans.find(scan => condition.references.subsetOf(scan.outputSet)))
    val (shares, unknown) = ofScans.toSeq.map {
      case (Some(scan), some) => Selectivity.of(some, scan.output, tables.of(scan).getOrElse(TableFacts.Unknown))
      case (None, some)       => (None, some)
    }.unzip
    shares.flatten ++ Option.when(unknown.exists(_.nonEmpty))(assumed)
  }

  private val widths: ColumnWidths = like.fold(new ColumnWidths(tables))(_.widths)

  /** Bytes of an average row of an operator in memory. */
  def rowBytes(plan: SparkPlan): Long = widths.rowBytes(plan)

  private val scans: ScanBytes = like.fold(new ScanBytes(tables))(_.scans)

  /** Bytes of the needed columns in the files that the scans below `plan` read. */
  def scanBytes(plan: SparkPlan): Double = scans.needed(plan)

  /** Bytes of the files of the widest scan below `plan`, also of columns that it does not need: by these Spark splits it into tasks. */
  def widestScanBytes(plan: SparkPlan): Double = scans.widest(plan)

  /** What is known of the key columns of a scan before it runs: for a single integer or date column, its range and perhaps its
    * distinct values and histogram. Of another operator, the range of the scan that has the column.
    */
  def keysOf(plan: SparkPlan, keys: Seq[Expression]): Option[KeyFacts] = (plan, keys) match {
    case (scan @ (_: FileSourceScanExec | _: BatchScanExec), Seq(key: Attribute)) =>
      tables.of(scan).flatMap { facts =>
        facts.ranges.get(key.name).map { case (min, max) =>
          val histogram = if (readsAll(scan, key)) facts.histograms.getOrElse(key.name, Nil) else Nil
          KeyFacts(1, supported = true, distinct = facts.distinct.get(key.name), min = Some(min), max = Some(max), histogram = histogram)
        }
      }
    case (other, Seq(key: Attribute)) =>
      scanOf(other, key).flatMap { case (scan, column) => keysOf(scan, Seq(column)) }.map(_.copy(histogram = Nil))
    case _ => None
  }

  /** The scan that has a column of a plan, and its own name of it. */
  private def scanOf(plan: SparkPlan, column: Attribute): Option[(SparkPlan, Attribute)] = plan match {
    case stage: QueryStageExec             => scanOf(StagePlan.of(stage), column)
    case reused: ReusedExchangeExec        => scanOf(reused.child, column)
    case adaptive: AdaptiveSparkPlanExec   => scanOf(adaptive.executedPlan, column)
    case InMemoryTableScanExec(_, _, kept) =>
      kept.output.zip(kept.cachedPlan.output).collectFirst { case (own, below) if own.exprId == column.exprId => below }
        .flatMap(scanOf(kept.cachedPlan, _))
    case scan @ (_: FileSourceScanExec | _: BatchScanExec) => Some(scan -> column).filter(_ => scan.outputSet.contains(column))
    // It gives its column the name of that of its first input.
    case _: UnionExec            => None
    case StartedFilters(_, scan) => scanOf(scan, column)
    case other                   => other.children.iterator.flatMap(scanOf(_, column)).nextOption()
  }

  /** Whether no condition is on the key, which may remove just the heavy ones. */
  private def readsAll(scan: SparkPlan, key: Attribute): Boolean = scan match {
    case file: FileSourceScanExec => !(file.dataFilters ++ file.partitionFilters).exists(limits(_, key))
    case _                        => false
  }

  private def limits(condition: Expression, key: Attribute): Boolean = condition match {
    case _: IsNotNull | _: DynamicPruning => false
    case other                            => other.references.contains(key)
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
}
