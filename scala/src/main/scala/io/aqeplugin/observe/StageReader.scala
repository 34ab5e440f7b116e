package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanExecBase, FileScan}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.metric.SQLMetric

import io.aqeplugin.decide.{BuildFacts, EstimateSource, KeyFacts, RowEstimate}

/** Reads the measurements of a finished stage. Never starts a job. */
object StageReader {

  /** Facts of a finished build stage; `None` while it runs.
    *
    * @param keys
    *   the join keys, over the columns of the stage
    * @param output
    *   the columns of the build side, and the stage's column that each copies
    */
  def read(stage: QueryStageExec, keys: Seq[Expression], sources: FactSources, output: Seq[Attribute])(
      origin: Attribute => Option[Attribute]
  ): Option[BuildFacts] =
    if (!stage.isMaterialized) {
      None
    } else {
      for (written <- rows(stage)) yield {
        // Of a task that ran again because its executor was lost, Spark counts the rows twice.
        val rows = sources.sketches.rows(stage).getOrElse(written)
        val partitionBytes = stage match {
          case s: ShuffleQueryStageExec => s.mapStats.map(_.bytesByPartitionId.toSeq).getOrElse(Nil)
          case _                        => Nil
        }
        val sorted = partitionBytes.sorted
        val width = RowWidth.above(stage, written, output)(origin)
        val table = originRows(stage, keys, sources.tables)
        BuildFacts(
          rows = rows,
          stageBytes =
            if (partitionBytes.nonEmpty) partitionBytes.sum else stage.getRuntimeStatistics.sizeInBytes.min(Long.MaxValue).toLong,
          memoryBytesPerRow = width.bytes,
          partitions = partitionBytes.size,
          maxPartitionBytes = sorted.lastOption.getOrElse(0L),
          medianPartitionBytes = if (sorted.isEmpty) 0L else sorted(sorted.size / 2),
          originRows = table.map(_.rows),
          alreadyBroadcast = stage.isInstanceOf[BroadcastQueryStageExec],
          keys = keyFacts(stage, keys, sources),
          unmeasuredColumns = width.unmeasuredColumns,
          originRowsSource = table.map(_.source)
        )
      }
    }

  private def keyFacts(stage: QueryStageExec, keys: Seq[Expression], sources: FactSources): KeyFacts = {
    val known = sources.sketches.of(stage, keys).getOrElse(KeyFacts(keys.size, keys.forall(k => KeyKind.of(k.dataType).isRight)))
    KeyTypes.noted(known, keys.map(_.dataType)).copy(originDistinct = originDistinct(stage, keys, sources.tables))
  }

  /** Rows of a finished stage. */
  def rows(stage: QueryStageExec): Option[Long] =
    if (!stage.isMaterialized) None
    else stage.getRuntimeStatistics.rowCount.map(_.min(Long.MaxValue).toLong).filter(_ >= 0)

  /** Rows of the table that `keys` come from; of the largest table below, if they are columns of none. */
  def originRows(stage: QueryStageExec, keys: Seq[Expression], tables: TableStatistics): Option[RowEstimate] =
    originOf(stage, keys).fold(largestTableRows(stage, tables))(tableRows(_, tables))

  /** Distinct values of a single key in the table that it comes from. */
  private def originDistinct(stage: QueryStageExec, keys: Seq[Expression], tables: TableStatistics): Option[Long] =
    (originOf(stage, keys), keys) match {
      case (Some(scan), Seq(key: Attribute)) =>
        scan.output.find(_.exprId == key.exprId).flatMap(column => tables.of(scan).flatMap(_.distinct.get(column.name)))
      case _ => None
    }

  private def originOf(stage: QueryStageExec, keys: Seq[Expression]): Option[SparkPlan] = {
    val ids = keys.map(JoinKey.columnOf(_).exprId).toSet
    scans(stage).find(scan => ids.subsetOf(scan.output.map(_.exprId).toSet))
  }

  /** Rows of the largest table below a stage, through the earlier stages that it reads. */
  def largestTableRows(stage: QueryStageExec, tables: TableStatistics): Option[RowEstimate] =
    scans(stage).flatMap(tableRows(_, tables)).maxByOption(_.rows)

  /** The scans below a stage, through the earlier stages that it reads. */
  private def scans(stage: QueryStageExec): Seq[SparkPlan] = scansBelow(StagePlan.of(stage))

  private def scansBelow(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case scan @ (_: FileSourceScanExec | _: DataSourceV2ScanExecBase | _: RowDataSourceScanExec | _: LocalTableScanExec | _: RangeExec) =>
      Seq(scan)
    case earlier: QueryStageExec    => scansBelow(StagePlan.of(earlier))
    case reused: ReusedExchangeExec => scansBelow(reused.child)
    case other                      => other.children.flatMap(scansBelow)
  }

  /** Rows before the scan left out partitions or files. What came out of the scan counts only as a part of the table that is known. */
  private def tableRows(scan: SparkPlan, tables: TableStatistics): Option[RowEstimate] = {
    val facts = tables.of(scan).getOrElse(TableFacts.Unknown)
    facts.rows.filter(_.rows > 0).orElse(scan match {
      case file: FileSourceScanExec  => ofOutput(file, facts.bytes)
      case other if leavesOut(other) => None
      case other                     => scannedRows(other).map(RowEstimate(_, EstimateSource.ScanOutput))
    })
  }

  /** Whether a source that is not known as a table gives back only some of its rows. */
  private def leavesOut(scan: SparkPlan): Boolean = scan match {
    case rows: RowDataSourceScanExec => rows.handledFilters.nonEmpty
    case batch: BatchScanExec        => batch.runtimeFilters.nonEmpty || (batch.scan match {
        case files: FileScan => files.partitionFilters.nonEmpty
        case _               => false
      })
    case _ => false
  }

  private def ofOutput(scan: FileSourceScanExec, tableBytes: Option[Long]): Option[RowEstimate] =
    for {
      rows <- scannedRows(scan)
      all <- tableBytes.filter(_ > 0)
      read <- scan.metrics.get("filesSize").map(_.value).filter(_ > 0)
    } yield
      if (read >= all) RowEstimate(rows, EstimateSource.ScanOutput)
      else RowEstimate((rows.toDouble / read * all).toLong, EstimateSource.ScaledOutput)

  private def scannedRows(scan: SparkPlan): Option[Long] = scan.metrics.get("numOutputRows").map((m: SQLMetric) => m.value).filter(_ > 0)
}

/** Where the facts of a finished stage come from that the stage itself does not have. */
final case class FactSources(sketches: KeySketches, tables: TableStatistics)

/** A source of facts about a build side's keys: distinct keys, range, histogram. The map statistics of a shuffle have none of these. */
trait KeySketches {

  /** Rows of a finished stage whose keys were sketched, each partition once. */
  def rows(stage: QueryStageExec): Option[Long]

  def of(stage: QueryStageExec, keys: Seq[Expression]): Option[KeyFacts]

  /** The keys themselves; none if not each of them is known. */
  def everyKey(stage: QueryStageExec, keys: Seq[Expression]): Option[BuildKeys]
}
